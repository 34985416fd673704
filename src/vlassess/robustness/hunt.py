"""The search for a counterexample that knows nothing of certificates: corners, DIRECT, a local model.

Perturbations hurt most where they are strongest, so corners come first. DIRECT finds the region of a minimum sooner
than the curve does when there are two parameters or more, and a quadratic model of what was seen around the best value
then jumps to the minimum itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlassess.robustness.local_model import proposal
from vlassess.robustness.questions import Point
from vlassess.robustness.rectangles import Rectangles

TURN = {1: 15, 2: 120, 3: 180, 4: 240}
"""Queries of one turn, by number of parameters: the first before bounds are looked at, a second where these lead
nowhere."""
JUMPS = 3
"""How often in a row the local model is asked, as long as each time the best value falls."""
REST = 2
"""Rounds without a better value for which it is not asked after it was wrong."""


class Hunt:
    """Says where to look next, round by round, and remembers what was seen by whomever."""

    def __init__(self, dimension: int, corners: Sequence[Point] = ()) -> None:
        """Start.

        Args:
            dimension: Number of parameters N.
            corners: Places to look at right after the middle if the objective falls from there to all that was seen
                before, else when half of the turn is over.
        """
        self._dimension = dimension
        self._rectangles = Rectangles(dimension, locally_biased=False)
        self._points: list[Point] = []
        self._values: list[float] = []
        self._table = np.empty((0, dimension))
        self._round: list[Point] = []
        self._answers: list[float] = []
        self._corners, self._falls = list(corners), False
        self._jumps, self._rest = 0, 0
        self._best = np.inf
        self._made = 0
        self._turns = 1

    @property
    def due(self) -> bool:
        """Whether it is its turn."""
        return self._made < self._turns * TURN[self._dimension]

    def once_more(self) -> bool:
        """Give it a second turn; False if it has had that."""
        if self._turns == 2:
            return False
        self._turns = 2
        return True

    def see(self, point: Point, value: float) -> None:
        """Remember a value."""
        self._points.append(point)
        self._values.append(value)

    def _jump(self) -> Point | None:
        """Return where the local model would look."""
        new = np.array(self._points[len(self._table) :]).reshape(-1, self._dimension)
        self._table = np.concatenate([self._table, new])
        jump = proposal(self._table, np.array(self._values))
        return None if jump is None else tuple(jump.tolist())

    def choose(self, room: int) -> list[Point]:
        """Return up to ``room`` places to look at; none when there is nothing left to divide."""
        if not self._round and self._jumps:
            jump = self._jump()
            if jump is not None:
                return [jump]
            self._jumps = 0
        if not self._round and self._corners and (self._falls or self._made > TURN[self._dimension] // 2):
            return self._corners[:room]
        if not self._round:
            self._round = self._rectangles.choose()
            self._answers = []
        return self._round[len(self._answers) : len(self._answers) + room]

    def tell(self, values: Sequence[float]) -> None:
        """Take the values at the places chosen last."""
        if not self._made:  # the middle of the box
            self._falls = values[0] > max(self._values[:-1], default=np.inf)
        self._made += len(values)
        better = min(values) < self._best
        self._best = min(self._best, *values)
        if self._round:
            self._answer(values)
        elif self._jumps:
            self._jumps = self._jumps - 1 if better else 0
            self._rest = 0 if better else REST + 1
        else:
            self._corners = self._corners[len(values) :]
        if better:
            self._rest = 0

    def _answer(self, values: Sequence[float]) -> None:
        """Take values of a round of DIRECT; when it is whole, the local model has its turn."""
        self._answers += values
        if len(self._answers) == len(self._round):
            self._rectangles.tell(self._answers)
            self._rest = max(0, self._rest - 1)
            self._jumps = 0 if self._rest else JUMPS
            self._round = []
