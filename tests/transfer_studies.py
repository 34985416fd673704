"""Simulated transfer studies whose truth is known: fake policies whose trials are drawn from chosen rates.

Starts are hard or easy for every policy, cell and number of demonstrations alike, as matched starts are: trials on
one start are correlated, and each rate is still exactly the chosen one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from vlassess.schema.transfer import Trial
from vlassess.stats.curves import Curve

CONTROL = "control"
K = (0, 2, 5, 10, 20)


@dataclass(frozen=True)
class Truth:
    """What a simulated study is drawn from.

    Attributes:
        control: Policy -> rate in the control.
        gaps: Cell -> rate of a policy in it minus that in the control.
        curves: Method -> true curve of the target, the first cell's axis.
        seen: Rate on the seen suite before adaptation.
        loss: Method -> true loss on the seen suite, at every K above 0.
        n: Starts a cell.
        correlation: Between the latent outcomes of two trials on one start.
        stages: Stages of progress.
    """

    control: dict[str, float]
    gaps: dict[str, float]
    curves: dict[str, Curve] = field(default_factory=dict)
    seen: float = 0.85
    loss: dict[str, float] = field(default_factory=dict)
    n: int = 100
    correlation: float = 0.5
    k: tuple[int, ...] = K
    stages: int = 4


def simulated(truth: Truth, rng: np.random.Generator) -> list[Trial]:
    """Return the trials of one study."""
    starts = rng.normal(size=truth.n)
    trials: list[Trial] = []
    for policy, rate in truth.control.items():
        trials += _arm(truth, starts, rng, rate, Trial(policy, "control", "", None, cell=CONTROL))
        for cell, gap in truth.gaps.items():
            axis, level = cell.split("=")
            like = Trial(policy, "cell", "", None, cell=cell, axis=axis, level=level, control=CONTROL)
            trials += _arm(truth, starts, rng, min(1.0, max(0.0, rate + gap)), like)
    return trials + adapted(truth, starts, rng)


def adapted(truth: Truth, starts: NDArray[np.float64], rng: np.random.Generator) -> list[Trial]:
    """Return few-shot and seen-suite trials of the first policy."""
    if not truth.curves:
        return []
    policy = next(iter(truth.control))
    first = next(iter(truth.curves.values()))
    trials = _arm(truth, starts, rng, first.s0, Trial(policy, "few-shot", "", None, cell="target"))
    seen = rng.normal(size=truth.n)
    trials += _arm(truth, seen, rng, truth.seen, Trial(policy, "seen-before", "", None, suite="seen"))
    for method, curve in truth.curves.items():
        for k in truth.k[1:]:
            like = Trial(policy, "few-shot", "", None, cell="target", k=k, method=method)
            trials += _arm(truth, starts, rng, float(curve.at([k])[0]), like)
            after = truth.seen - truth.loss.get(method, 0.0)
            like = Trial(policy, "seen-after", "", None, suite="seen", k=k, method=method)
            trials += _arm(truth, seen, rng, after, like)
    return trials


def _arm(truth: Truth, starts: NDArray[np.float64], rng: np.random.Generator, rate: float, like: Trial) -> list[Trial]:
    own = rng.normal(size=truth.n)
    latent = norm.cdf(np.sqrt(truth.correlation) * starts + np.sqrt(1 - truth.correlation) * own)
    done = latent < rate
    partial = rng.integers(0, truth.stages, size=truth.n) / truth.stages
    return [
        replace(
            like,
            start_key=f"start-{index:04d}",
            success=bool(success),
            progress=1.0 if success else float(part),
        )
        for index, (success, part) in enumerate(zip(done, partial, strict=True))
    ]
