"""What a study costs, and what can be claimed at that price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vlassess.stats.budget import detectable, half_width, is_pilot

POWER = 0.8
"""Chance with which a difference is to be found, where the study makes no claim of its own."""
TEN_POINTS = 0.10
ALIKE = 0.5
"""A correlation within pairs that matched starts often have; shown beside none at all."""


@dataclass(frozen=True)
class Budget:
    """A study's price, and its resolution.

    Attributes:
        starts: Matched initial states of a cell.
        cells: Cells, whose verdicts are corrected for each other.
        simulated: Trials in simulation.
        by_hand: Trials on a robot.
        hours_simulated: Time of them, one after the other; None where the study does not say how long one takes.
        hours_by_hand: The same of trials by hand.
        half_width: Of the 95 % interval of one rate of 0.5.
        gap: Smallest gap to the control that is found with `power` if starts make the two no more alike; None: none is.
        gap_alike: The same with a correlation of 0.5 within pairs; None: none is, or nothing is paired.
        power: Chance.
        pilot: One rate's interval is wider than ten points on each side.
        starts_by_hand: Of a cell on a robot, where others are simulated; 0: there are none.
    """

    starts: int
    cells: int
    simulated: int
    by_hand: int
    hours_simulated: float | None
    hours_by_hand: float | None
    half_width: float
    gap: float | None
    gap_alike: float | None
    power: float
    pilot: bool
    starts_by_hand: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What may be claimed, and what may not, for people."""
        found = [
            f"One cell's rate is known to {100 * self.half_width:.0f} points up or down ({self.starts} starts, 95 %)."
        ]
        if self.gap is None:
            found.append("No gap to a control can be found with these starts, however large.")
        else:
            alike = ""
            if self.gap_alike is not None:
                alike = f" ({100 * self.gap_alike:.0f} if cell and control correlate by {ALIKE:g} within starts)"
            found.append(
                f"A gap to the control is found with {100 * self.power:.0f} % chance from {100 * self.gap:.0f} points "
                f"on{alike}, corrected for {self.cells} cells."
            )
        if self.pilot:
            found.append("This is a pilot: ten points cannot be told apart, and no ranking will be made of it.")
        if self.starts_by_hand:
            wide = 100 * half_width(self.starts_by_hand)
            found.append(f"By hand, a cell's rate is known to {wide:.0f} points ({self.starts_by_hand} starts).")
        return tuple(found)


def budget_of(
    trials: tuple[int, int], seconds: tuple[float | None, float], starts: int, cells: int, rules: Sequence[float]
) -> Budget:
    """Return what trials cost and show.

    Args:
        trials: Simulated, by hand.
        seconds: Of one of each.
        starts: Of a cell.
        cells: How many.
        rules: alpha and power.
    """
    alpha, power = rules
    strict = alpha / max(1, cells)
    simulated, by_hand = trials
    return Budget(
        starts=starts,
        cells=cells,
        simulated=simulated,
        by_hand=by_hand,
        hours_simulated=None if seconds[0] is None else simulated * seconds[0] / 3600,
        hours_by_hand=None if not by_hand else by_hand * seconds[1] / 3600,
        half_width=half_width(starts),
        gap=detectable(starts, power, alpha=strict, correlation=0.0),
        gap_alike=detectable(starts, power, alpha=strict, correlation=ALIKE),
        power=power,
        pilot=is_pilot(starts, TEN_POINTS),
    )
