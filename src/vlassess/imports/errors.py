"""What goes wrong with other people's files."""

from __future__ import annotations

from vlassess_link.errors import VlassessError


class ImportRefusedError(VlassessError):
    """A file cannot be read as results."""
