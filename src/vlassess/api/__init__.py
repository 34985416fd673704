"""vlassess from Python: `vlassess.run`, and what it returns."""

from vlassess.api.calls import run
from vlassess.api.result import Run

__all__ = ["Run", "run"]
