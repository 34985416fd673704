"""A trained policy, taught one level of one factor by a few demonstrations: an unseen category of objects, say.

Three ways, as the field compares them: all weights learn; the layers after the encoders alone; or all weights, with
half of each batch from the tasks that were trained before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from vlassess.training.batches import Batch, Lessons, draw
from vlassess.training.collect import Driving, collect
from vlassess.training.export import export, restore
from vlassess.training.fit import Learner
from vlassess.training.policy import stored_words
from vlassess.training.progress import Reporter
from vlassess.training.recipe import Schedule
from vlassess.training.store import Frames, write_part
from vlassess.training.world import World
from vlassess_link.errors import ContractError

METHODS = ("full", "head", "replay")
HEAD = ("mix", "think", "decide", "act", "place")
BATCH = 64
REPLAYED = 120
"""Episodes of the trained tasks that `replay` is given."""

_DEMONSTRATED = Driving(kept=0.5, noise=(0.0, 0.1), pushes=0.0)


@dataclass(frozen=True)
class FewShot:
    """What is taught, and how.

    Attributes:
        factor: Axis -> level that every demonstration is varied by ({"object_category": "card"}).
        shots: Demonstrations in all; they go round the tasks.
        method: One of `METHODS`.
        suites: Whose tasks are demonstrated.
        steps: How long is learned.
        seed: Other seeds are other demonstrations and batches.
    """

    factor: Mapping[str, str]
    shots: int
    method: str = "full"
    suites: tuple[str, ...] = ("pick",)
    steps: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ContractError(f"method is {self.method!r}; it must be one of {', '.join(METHODS)}")
        if self.shots < 1:
            raise ContractError(f"shots is {self.shots}; give at least 1 demonstration")


def teach(weights: Path, wanted: FewShot, out: Path, reporter: Reporter) -> Path:
    """Write the taught policy's ONNX file; what was demonstrated is kept in a folder beside it.

    Raises:
        ContractError: the weights are no file of this training, or there is no such axis or level.
    """
    try:
        network, stored = restore(weights)
    except (OSError, ValueError) as error:
        raise ContractError(f"weights is {str(weights)!r}, which cannot be read: {error}") from None
    words = stored_words(stored)
    folder = out.with_suffix(".demonstrations")
    sources = [_demonstrated(wanted, words, folder / "new")]
    if wanted.method == "replay":
        sources.append(_replayed(wanted, words, folder / "old"))
    learning = [getattr(network, name) for name in HEAD] if wanted.method == "head" else [network]
    schedule = Schedule(wanted.steps, BATCH, 3e-4, 30, wanted.seed, places=0.0)
    learner = Learner(network, schedule, [weight for part in learning for weight in part.parameters()])
    with reporter.work(f"{wanted.shots} demonstrations, {wanted.method}", wanted.steps) as advance:
        while learner.step < wanted.steps:
            losses = learner.learn(lambda rng: mixed(sources, rng))
            advance(1, f"moves {losses.moves:.3f} gripper {losses.gripper:.3f}")
    export(learner.mean, out, words)
    return out


class Taught(NamedTuple):
    """Frames with what is learned from them."""

    frames: Frames
    lessons: Lessons


def mixed(sources: Sequence[Taught], rng: np.random.Generator) -> Batch:
    """Return a batch that comes in equal parts from every source."""
    size = BATCH // len(sources)
    parts = [draw(source.frames, source.lessons, size, rng) for source in sources]
    return Batch(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _demonstrated(wanted: FewShot, words: Any, folder: Path) -> Taught:
    """Return demonstrations; they teach the task alone that they show, in the words that were said."""
    world = World(wanted.suites, wanted.factor)
    lessons = Lessons.as_shown(world.jobs, words)
    return Taught(_shown(world, folder, f"shots-{wanted.seed}", wanted.shots), lessons)


def _replayed(wanted: FewShot, words: Any, folder: Path) -> Taught:
    """Return episodes of the tasks that were trained before."""
    world = World(wanted.suites)
    jobs = world.jobs
    return Taught(_shown(world, folder, f"replay-{wanted.seed}", REPLAYED), Lessons.of(jobs, words))


def _shown(world: World, folder: Path, part: str, episodes: int) -> Frames:
    if not folder.exists():
        taken = collect(world, part, range(episodes), _DEMONSTRATED)
        write_part(folder, [frame for episode in taken for frame in episode])
    world.close()
    return Frames.open([folder])
