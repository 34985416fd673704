"""Tests of progress scores and other numbers, which need no form of their distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlassess.stats.checks import numbers

_EXACT_UP_TO = 16
_CHUNK = 4_000_000
_TIE = 1e-9


def sign_flip(differences: ArrayLike, rng: np.random.Generator, draws: int = 10_000) -> float | None:
    """Return the p-value of "A minus B is as likely above as below zero" from paired differences; None for none.

    Definition: the share of sign patterns whose sum is at least as far from 0 as the observed one. All patterns are
    counted for up to 16 differences that are not 0; beyond, the observed one and ``draws`` random ones.
    Source: Fisher, The Design of Experiments (1935), section 21; Phipson and Smyth, SAGMB 9 (2010), for counting the
    observed pattern, without which p could be 0.
    Valid, that is at most alpha false alarms, for any distribution, if the differences are independent and, under the
    claim, symmetric: differences of progress between two policies on one start, or of whole tasks.

    Args:
        differences: One number per pair, or per task for a claim about new tasks.
        rng: Draws the patterns.
        draws: At least 1.

    Raises:
        ValueError: a value is not finite.
    """
    values = numbers("differences", differences)
    if len(values) == 0:
        return None
    values = values[values != 0]
    if len(values) == 0:
        return 1.0
    extreme = abs(values.sum()) - _TIE * np.abs(values).sum()
    if len(values) <= _EXACT_UP_TO:
        patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float(np.mean(np.abs((1 - 2 * patterns) @ values) >= extreme))
    reached = 1
    for count in _chunks(draws, len(values)):
        reached += int(np.sum(np.abs(_signs(count, len(values), rng) @ values) >= extreme))
    return reached / (draws + 1)


def shuffle(a: ArrayLike, b: ArrayLike, rng: np.random.Generator, draws: int = 10_000) -> float | None:
    """Return the p-value of "A and B are drawn from one distribution" from unpaired numbers; None for an empty arm.

    Definition: the share of random divisions into arms of the same sizes, the observed one among them, whose means
    differ at least as much as observed.
    Source: Pitman, Supplement to the JRSS 4 (1937) 119-130; Phipson and Smyth, SAGMB 9 (2010).
    Valid, that is at most alpha false alarms, if all episodes are independent and, under the claim, alike in both
    arms. A difference in spread alone may be found too.

    Raises:
        ValueError: a value is not finite.
    """
    first, second = numbers("a", a), numbers("b", b)
    if len(first) == 0 or len(second) == 0:
        return None
    pooled = np.concatenate([first, second])
    pooled = pooled - pooled.mean()
    # The means differ most where the first arm's sum is farthest from 0, its expectation.
    extreme = abs(pooled[: len(first)].sum()) - _TIE * np.abs(pooled).sum()
    reached = 1
    for count in _chunks(draws, len(pooled)):
        mixed = rng.permuted(np.broadcast_to(pooled, (count, len(pooled))), axis=1)
        reached += int(np.sum(np.abs(mixed[:, : len(first)].sum(axis=1)) >= extreme))
    return reached / (draws + 1)


def _chunks(draws: int, width: int) -> list[int]:
    """Divide the draws so that a chunk's array stays small."""
    size = max(1, _CHUNK // width)
    return [min(size, draws - start) for start in range(0, draws, size)]


def _signs(count: int, width: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return random signs of shape (count, width), one random bit each."""
    bits = np.unpackbits(np.frombuffer(rng.bytes(count * ((width + 7) // 8)), np.uint8).reshape(count, -1), axis=1)
    return np.asarray(1.0 - 2.0 * bits[:, :width])
