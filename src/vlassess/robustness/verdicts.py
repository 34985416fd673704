"""What a solver can say of an instance, and what each of the three answers holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal["budget", "stalled", "bound violated"]


@dataclass(frozen=True)
class Robust:
    """The objective is positive everywhere in the region, if what it is conditional on holds.

    Attributes:
        queries: Number of queries that it rests on.
        lower_bound: What the objective lies above, everywhere; positive.
        smallest: The smallest value that was seen.
        constants: Per term the largest slope assumed on the curve (r times the largest observed), or what was supplied.
        cover: The widest interval (or largest box) between queries, as a share of the region's volume.
        epsilon: The width at which the search was allowed to end; None where there is no such rule.
        conditional_on: What has to hold, each in one sentence.
    """

    queries: int
    lower_bound: float
    smallest: float
    constants: tuple[float, ...]
    cover: float
    epsilon: float | None
    conditional_on: tuple[str, ...]
    kind: Literal["robust"] = "robust"


@dataclass(frozen=True)
class Adversarial:
    """A place was found where the objective is negative; anyone can ask there again.

    Attributes:
        queries: Number of queries that it took, the whole last batch included.
        witness: The place, in the unit box.
        query: Which query it was, from 0.
        value: The objective there, the smallest of ``values``.
        values: Each term there.
    """

    queries: int
    witness: tuple[float, ...]
    query: int
    value: float
    values: tuple[float, ...]
    kind: Literal["adversarial"] = "adversarial"


@dataclass(frozen=True)
class Unknown:
    """Neither was shown; nothing follows from it in either direction.

    Attributes:
        queries: Number of queries that were spent.
        reason: "budget": they ran out; "stalled": the objective comes so close to zero that the search ended without
            either; "bound violated": two queries contradict the supplied bound.
        smallest: The smallest value that was seen.
        lower_bound: What had been shown by then under the solver's assumptions; None for methods that show nothing.
        cover: The widest interval or largest box, as a share of the region's volume; None where there is none.
        contradiction: For "bound violated" the two queries, from 0.
    """

    queries: int
    reason: Reason
    smallest: float
    lower_bound: float | None = None
    cover: float | None = None
    contradiction: tuple[int, int] | None = None
    kind: Literal["unknown"] = "unknown"


Verdict = Robust | Adversarial | Unknown
"""What is said in the end."""
