"""``python -m vlassess``."""

from vlassess.cli import main

main()
