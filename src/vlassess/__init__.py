"""Measures Vision-Language-Action robot policies."""

import importlib

__version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: the link package imports numpy, and ``--help`` must be fast."""
    if name == "__version__":
        return str(importlib.import_module("vlassess_link").__version__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
