"""What goes wrong with data sets."""

from __future__ import annotations

from vlassess_link.errors import VlassessError


class DatasetError(VlassessError):
    """A data set cannot be written or read."""
