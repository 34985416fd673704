"""Measures Vision-Language-Action robot policies."""

from vlassess_link import __version__

__all__ = ["__version__"]
