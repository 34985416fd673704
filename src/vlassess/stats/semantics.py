"""What success can mean, from one recording of every step, as far as the episode was allowed to go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vlassess.stats.checks import outcomes
from vlassess_link.specs import Termination


class Success(NamedTuple):
    """One episode under each meaning; None where the termination rule hides it.

    Attributes:
        ever: Success at some step.
        at_end: Success at the last step of an episode that always runs to its limit.
        held: Success in ``hold`` steps in a row.
    """

    ever: bool
    at_end: bool | None
    held: bool | None


def success_semantics(steps: ArrayLike, termination: Termination, hold: int = 1) -> Success:
    """Return what one episode's success was under each meaning.

    Definition: an episode that ends at its first success cannot show whether it would have lasted, so only "ever" and
    a hold of one step are known. One that ends once success was held for k steps shows every hold up to k, but never
    the end of those that succeeded; leaving these out would leave the failures, so "at end" is unknown for all.

    Args:
        steps: Whether there was success, step by step; empty for an episode without a step.
        termination: When the benchmark ends an episode.
        hold: Steps in a row that count as held, at least 1.

    Raises:
        ValueError: a value is neither 0 nor 1, or ``hold`` is below 1.
    """
    if hold < 1:
        raise ValueError(f"hold is {hold}; it must be at least 1")
    seen = outcomes("steps", steps)
    ever = bool(seen.any())
    at_end = bool(len(seen) and seen[-1]) if termination.kind == "at_limit" else None
    observable = {"at_limit": hold, "hold": termination.hold_steps, "on_success": 1}[termination.kind]
    return Success(ever, at_end, longest_run(steps) >= hold if hold <= observable else None)


def longest_run(steps: ArrayLike) -> int:
    """Return how many steps in a row had success at most.

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    seen = outcomes("steps", steps)
    changes = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]]).astype(np.int8)))
    return int((changes[1::2] - changes[::2]).max(initial=0))
