"""How tests let a run decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from vlassess.robustness import Run, Settings, Verdict

Floats = npt.NDArray[np.float64]


def finished(run: Run, function: Callable[[Floats], Floats]) -> Run:
    while run.verdict is None:
        run.tell(function(run.ask()))
    return run


def decided(settings: Settings, dimension: int, function: Callable[[Floats], Floats], terms: int = 1) -> Run:
    return finished(Run(settings, dimension, terms), function)


def said(run: Run) -> Verdict:
    assert run.verdict is not None
    return run.verdict
