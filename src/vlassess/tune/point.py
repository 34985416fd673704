"""Where demand and supply meet: pure functions of two measured curves.

The method is that of the seed paper of parallel evaluation (arXiv 2603.13966, section II-C): K workers ask about
lambda(K) observations a second, a model answers mu(B) of them at batch size B, and K is right when
lambda(K) < 0.8 mu(B*), so that bursts do not pile up in a queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LOAD = 0.8
"""Share of the supply that demand may take."""
SATURATED = 0.95
"""Share of the best supply, or of the greatest demand, at which more costs more than it brings."""


@dataclass(frozen=True)
class OperatingPoint:
    """Where to run.

    Attributes:
        workers: K.
        max_batch: B*, the knee of the supply: the least batch size that reaches 95 % of the best.
        demand: lambda(K), observations a second.
        supply: mu(B*), observations a second.
        bound_by: "policy" where more workers would ask too much of it, "benchmark" where more workers would make no
            more observations, "range" where more workers were not tried.
    """

    workers: int
    max_batch: int
    demand: float
    supply: float
    bound_by: str

    @property
    def load(self) -> float:
        """Share of the supply that the demand takes."""
        return self.demand / self.supply


def knee(curve: Mapping[int, float]) -> int:
    """Return the least size at which a curve reaches `SATURATED` of its greatest value.

    Raises:
        ValueError: the curve has no point.
    """
    if not curve:
        raise ValueError("the curve has no point; measure at least one")
    most = max(curve.values())
    return min(size for size, value in curve.items() if value >= SATURATED * most)


def operating_point(demand: Mapping[int, float], supply: Mapping[int, float]) -> OperatingPoint:
    """Return the most workers whose demand stays below `LOAD` of the supply at its knee.

    Never more than the knee of the demand: beyond it further workers only take memory. Where even the fewest workers
    ask too much, these are taken, and the policy is the bottleneck.

    Args:
        demand: Workers -> observations a second.
        supply: Batch size -> observations a second.

    Raises:
        ValueError: a curve has no point.
    """
    batch, most = knee(supply), knee(demand)
    limit = LOAD * supply[batch]
    fitting = [workers for workers, value in demand.items() if value < limit and workers <= most]
    workers = max(fitting, default=min(demand))
    at_most = "range" if most == max(demand) else "benchmark"
    bound_by = "policy" if workers < most else at_most
    return OperatingPoint(workers, batch, demand[workers], supply[batch], bound_by)


def next_workers(demand: Mapping[int, float], limit: float, most: int) -> int | None:
    """Return the number of workers to measure next, None when the operating point is known.

    Doubles until demand stops growing or passes ``limit``, then takes the number between that should just fit, by
    interpolation.

    Args:
        demand: What was measured: workers -> observations a second.
        limit: What the policy can be asked, observations a second.
        most: Most workers.
    """
    counts = sorted(demand)
    top = counts[-1]
    grows = len(counts) < 2 or demand[top] > demand[counts[-2]] / SATURATED
    if demand[top] < limit and grows and top < most:
        return min(2 * top, most)
    above = [count for count in counts if demand[count] >= limit]
    below = [count for count in counts if demand[count] < limit]
    if not above or not below or above[0] - below[-1] < 2 or below[-1] > above[0]:
        return None
    low, high = below[-1], above[0]
    share = (limit - demand[low]) / (demand[high] - demand[low])
    return min(max(low + int(share * (high - low)), low + 1), high - 1)
