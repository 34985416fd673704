"""What is collected and how long is learned: everything that a training depends on, as values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """How long and how fast is learned.

    Attributes:
        steps: Of all rounds together; the learning rate falls along a cosine until then.
        batch: Frames of one step.
        rate: Highest learning rate.
        warmup: Steps until it is reached.
        seed: Of initial weights and batches.
        places: Weight of the loss of the second head, which says where things are.
    """

    steps: int
    batch: int = 128
    rate: float = 1e-3
    warmup: int = 300
    seed: int = 0
    places: float = 0.3

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        along = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, along))))


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
        length: Words of an instruction that are read.
        begins: Name of bundled weights that it starts from ("mini_vla"); empty: from nothing.
    """

    name: str
    suites: tuple[str, ...]
    rounds: tuple[Round, ...]
    batch: int = 128
    rate: float = 1e-3
    seed: int = 0
    measured: int = 200
    length: int = 32
    begins: str = ""

    @property
    def schedule(self) -> Schedule:
        """How long and how fast is learned, over all rounds."""
        steps = sum(each.steps for each in self.rounds)
        return Schedule(steps, self.batch, self.rate, warmup=min(300, max(1, steps // 10)), seed=self.seed)

    def steps_after(self, number: int) -> int:
        """Return how many steps are done when this round ends, counted from 0."""
        return sum(each.steps for each in self.rounds[: number + 1])

    def tenth(self, name: str) -> Recipe:
        """Return the same with a tenth of the episodes, and a third of the steps: more would learn them by heart."""
        rounds = tuple(Round(max(1, each.episodes // 10), each.steps // 3) for each in self.rounds)
        return dataclasses.replace(self, name=name, rounds=rounds)


_WHOLE = Recipe(
    "mini-vla",
    ("pick", "place", "stack"),
    (Round(600, 1200), Round(400, 900), Round(400, 900), Round(400, 1000)),
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _WHOLE,
        _WHOLE.tenth("mini-vla-weak"),
        Recipe(
            "mini-vla-rsb",
            ("rsb-math-4",),
            (Round(900, 3000),),
            rate=6e-4,
            measured=120,
            length=48,
            begins="mini_vla",
        ),
        Recipe("smoke", ("pick",), (Round(40, 60), Round(10, 40)), batch=64, measured=6),
    )
}
"""Name -> recipe."""
