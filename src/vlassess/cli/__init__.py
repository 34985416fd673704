"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from vlassess.cli.edge import main

__all__ = ["main"]
