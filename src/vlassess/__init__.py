"""Measures Vision-Language-Action robot policies."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlassess.api import Run, run

__version__: str

__all__ = ["Run", "__version__", "run"]

_WHERE = {"Run": "vlassess.api", "__version__": "vlassess_link", "run": "vlassess.api"}


def __getattr__(name: str) -> Any:
    """Look a name up when it is asked for: what is behind it takes a second to import, and ``--help`` must be fast."""
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
