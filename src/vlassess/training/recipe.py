"""What is collected and how long is learned: everything that a training depends on, as values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from vlassess.training.fit import Schedule


@dataclass(frozen=True)
class Round:
    """Episodes that are collected, and steps that are learned on all frames so far.

    In the first round a teacher drives, in later ones mostly the policy of the round before.
    """

    episodes: int
    steps: int


@dataclass(frozen=True)
class Recipe:
    """One training.

    Attributes:
        name: Of the policy that comes out.
        suites: Whose tasks are trained.
        rounds: In their order.
        batch: Frames of one step.
        rate: Highest learning rate.
        seed: Of weights and batches; starts have seeds of their own, see `world.training_seed`.
        measured: Episodes a suite that it is evaluated on, at least.
    """

    name: str
    suites: tuple[str, ...]
    rounds: tuple[Round, ...]
    batch: int = 128
    rate: float = 1e-3
    seed: int = 0
    measured: int = 200

    @property
    def schedule(self) -> Schedule:
        """How long and how fast is learned, over all rounds."""
        return Schedule(sum(each.steps for each in self.rounds), self.batch, self.rate, seed=self.seed)

    def steps_after(self, number: int) -> int:
        """Return how many steps are done when this round ends, counted from 0."""
        return sum(each.steps for each in self.rounds[: number + 1])

    def tenth(self, name: str) -> Recipe:
        """Return the same with a tenth of the episodes."""
        rounds = tuple(dataclasses.replace(each, episodes=max(1, each.episodes // 10)) for each in self.rounds)
        return dataclasses.replace(self, name=name, rounds=rounds)


_WHOLE = Recipe(
    "mini-vla",
    ("pick", "place"),
    (Round(600, 1500), Round(400, 1500), Round(400, 1500), Round(400, 1500)),
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _WHOLE,
        _WHOLE.tenth("mini-vla-weak"),
        Recipe("smoke", ("pick",), (Round(40, 60), Round(10, 40)), batch=64, measured=6),
    )
}
"""Name -> recipe."""
