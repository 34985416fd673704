"""What can be compared at all."""

from __future__ import annotations

from collections.abc import Sequence

from vlassess.schema.arms import Arm
from vlassess_link.errors import VlassessError


class ComparisonRefusedError(VlassessError):
    """What was given cannot be compared, and why."""


def check_arms(arms: Sequence[Arm]) -> None:
    """Refuse arms of which no comparison would mean anything.

    Raises:
        ComparisonRefusedError: an arm is of two policies, has no result, or is of another benchmark; or two arms have
            one label.
    """
    for arm in arms:
        if len(arm.identities) > 1:
            raise ComparisonRefusedError(
                f"{arm.label} of {arm.source} was run by {len(arm.identities)} different policies under one label "
                f"({', '.join(identity[:12] for identity in arm.identities)}); compare runs of one policy each"
            )
        if not any(trial.scored for trial in arm.trials):
            raise ComparisonRefusedError(f"{arm.label} of {arm.source} has no episode with a result; run it first")
    labels = [arm.label for arm in arms]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ComparisonRefusedError(f"two arms are called {twice!r}; give each source once")
    named = {benchmark_id(arm): arm for arm in arms if arm.benchmark is not None}
    if len(named) > 1:
        told = " and ".join(f"{arm.label} on {arm.benchmark}" for arm in named.values())
        raise ComparisonRefusedError(f"the arms are of different benchmarks ({told}); compare runs of one benchmark")


def benchmark_id(arm: Arm) -> str:
    """Return the arm's benchmark without its version."""
    return (arm.benchmark or "").rpartition("@")[0] or (arm.benchmark or "")
