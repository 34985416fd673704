"""What choices go with beside the question: a letter, a place, a colour, an arm, a distance, the order of options."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.stats import chi2

from vlassess.grounding.trials import Candidate, Trial
from vlassess.schema.grounded import Bias, Chosen
from vlassess.stats.many import holm

By = Literal["candidate", "place", "colour", "arm", "distance", "listed"]

PROPERTIES: Mapping[By, Callable[[Candidate], str]] = {
    "candidate": lambda one: one.name,
    "place": lambda one: str(one.place),
    "colour": lambda one: one.colour,
    "arm": lambda one: one.arm,
    "distance": lambda one: str(one.distance),
    "listed": lambda one: str(one.listed),
}
ALPHA = 0.01
"""Below it a bias is named."""
STRONG = 0.15
"""A bias is named where one kind takes so much more of the choices than blind ones would give it."""

_SENTENCES: Mapping[By, str] = {
    "candidate": "takes {value}",
    "place": "takes the candidate at place {value} from the left",
    "colour": "takes a {value} candidate",
    "arm": "takes a candidate on the {value} arm's side",
    "distance": "takes the candidate that is at rank {value} by distance from a hand",
    "listed": "takes the option listed at place {value}",
}
_FIRST: Mapping[By, str] = {
    "place": "takes the leftmost candidate",
    "distance": "takes the nearest candidate",
    "listed": "takes the option listed first",
}


def biases(trials: Sequence[Trial]) -> tuple[Bias, ...]:
    """Return the choices of episodes with a grasp by every property, beside what blind choices would be.

    Source of the test: for each episode, the chosen kind is one draw with probabilities equal to the shares of the
    kinds among its candidates; (observed - expected)^T V^+ (observed - expected), with V the sum of the draws'
    covariance matrices, is chi-square with rank(V) degrees of freedom (a multinomial score test).
    """
    grasped = [each for each in trials if each.chosen is not None and each.candidates]
    if not grasped:
        return ()
    found = [_bias(by, read, grasped) for by, read in PROPERTIES.items()]
    told = [bias for bias in found if bias.p_value is not None]
    adjusted = dict(
        zip(
            [bias.by for bias in told],
            holm([bias.p_value for bias in told if bias.p_value is not None]).tolist() if told else [],
            strict=True,
        )
    )
    return tuple(bias.model_copy(update={"adjusted_p": adjusted.get(bias.by)}) for bias in found)


def strongest(found: Sequence[Bias]) -> str | None:
    """Return the strongest bias in one line; None where none is both sure (`ALPHA`) and strong (`STRONG`)."""
    best: tuple[float, Bias, Chosen] | None = None
    for bias in found:
        total = sum(each.times for each in bias.chosen)
        if bias.adjusted_p is None or bias.adjusted_p >= ALPHA:
            continue
        for each in bias.chosen:
            lift = (each.times - each.expected) / total
            if lift >= STRONG and (best is None or lift > best[0] + 1e-9):
                best = (lift, bias, each)
    if best is None:
        return None
    _, bias, each = best
    total = sum(one.times for one in bias.chosen)
    words = _FIRST.get(bias.by) if each.value == "1" else None
    sentence = words or _SENTENCES[bias.by].format(value=each.value)
    blind = f"{each.expected / total:.0%}"
    return f"{sentence} in {each.times / total:.0%} of its grasps, where blind choices would in {blind}"


def _bias(by: By, read: Callable[[Candidate], str], trials: Sequence[Trial]) -> Bias:
    times: dict[str, int] = defaultdict(int)
    shares: list[dict[str, float]] = []
    for each in trials:
        share: dict[str, float] = defaultdict(float)
        for one in each.candidates:
            share[read(one)] += 1 / len(each.candidates)
            times[read(one)] += one.name == each.chosen
        shares.append(share)
    values = sorted(times, key=lambda value: (len(value), value) if value.isdigit() else (0, value))
    table = np.array([[share.get(value, 0.0) for value in values] for share in shares])
    observed = np.array([times[value] for value in values], dtype=float)
    chosen = tuple(
        Chosen(value=value, times=times[value], expected=float(expected))
        for value, expected in zip(values, table.sum(0), strict=True)
    )
    return Bias(by=by, chosen=chosen, p_value=_p_value(observed, table), adjusted_p=None)


def _p_value(observed: np.ndarray, table: np.ndarray) -> float | None:
    spread = np.diag(table.sum(0)) - table.T @ table
    rank = int(np.linalg.matrix_rank(spread, hermitian=True, tol=1e-8 * max(1.0, float(len(table)))))
    if rank == 0:
        return None
    off = observed - table.sum(0)
    return float(chi2.sf(off @ np.linalg.pinv(spread, rcond=1e-10, hermitian=True) @ off, rank))
