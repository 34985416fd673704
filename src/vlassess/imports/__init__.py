"""Results of other people's evaluations, as arms of a comparison. What a file does not say stays unknown."""

from vlassess.imports.reading import ImportRefusedError, is_importable, read_arms

__all__ = ["ImportRefusedError", "is_importable", "read_arms"]
