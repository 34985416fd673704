"""Tries out what a run needs of a machine; every check says what it found and how to mend it."""

from vlassess.diagnosis.checks import Check, examine

__all__ = ["Check", "examine"]
