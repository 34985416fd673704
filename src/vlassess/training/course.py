"""One training in one folder: every finished piece stays, so a training that is started again goes on."""

from __future__ import annotations

import dataclasses
import functools
import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from vlassess.training.answer_world import open_world
from vlassess.training.batches import Lessons, draw
from vlassess.training.collect import Driving, collect
from vlassess.training.export import export, reading
from vlassess.training.fit import Learner
from vlassess.training.network import Shape
from vlassess.training.places import WEIGHTS
from vlassess.training.policy import open_policy, vocabulary
from vlassess.training.progress import Reporter
from vlassess.training.recipe import Recipe
from vlassess.training.store import Frames, write_part
from vlassess.training.world import World
from vlassess_link.errors import ContractError

EPISODES_A_PART = 40
STEPS_A_CHECKPOINT = 200


class Course:
    """Collects and learns round by round; whatever was finished before is taken as it is.

    Args:
        recipe: What to do.
        folder: Where everything is kept.
        processes: How many collect at once, and threads that learn.
        reporter: Told how far it is.

    Raises:
        ContractError: the folder holds a training of another recipe.
    """

    def __init__(self, recipe: Recipe, folder: Path, processes: int, reporter: Reporter) -> None:
        self._recipe, self._folder = recipe, folder
        self._processes, self._reporter = processes, reporter
        folder.mkdir(parents=True, exist_ok=True)
        wanted = json.dumps(dataclasses.asdict(recipe), indent=1)
        stored = folder / "recipe.json"
        if stored.exists() and stored.read_text() != wanted:
            raise ContractError(f"{folder} holds a training of another recipe; name another folder, or delete it")
        stored.write_text(wanted)

    @property
    def weights(self) -> Path:
        """Where the finished policy's ONNX file is."""
        return self._folder / f"{self._recipe.name}.onnx"

    def run(self) -> Path:
        """Train to the end and return the weights' path."""
        torch.set_num_threads(self._processes)
        world = open_world(self._recipe.suites)
        words = vocabulary(world.texts(), self._recipe.length)
        lessons = Lessons.as_shown(world.jobs, words) if world.asks else Lessons.of(world.jobs, words)
        world.close()
        learner = self._learner(words)
        if self._checkpoint.exists():
            learner.restore(self._checkpoint)
            self._reporter.say(f"going on after step {learner.step} of {learner.schedule.steps}")
        last = len(self._recipe.rounds) - 1
        for number in range(last + 1):
            self._collect(number)
            self._learn(number, learner, lessons)
            path = self.weights if number == last else self._round_weights(number)
            if not path.exists():
                export(learner.mean, path, words)
        return self.weights

    def _learner(self, words: Any) -> Learner:
        schedule = self._recipe.schedule
        if not self._recipe.begins:
            return Learner.new(Shape(words.size, words.length), schedule)
        torch.manual_seed(schedule.seed)
        return Learner(reading(WEIGHTS.with_stem(self._recipe.begins), words), schedule)

    @property
    def _checkpoint(self) -> Path:
        return self._folder / "checkpoint.pt"

    def _round_weights(self, number: int) -> Path:
        return self._folder / f"round-{number:02d}.onnx"

    def _parts(self, number: int) -> list[tuple[Path, range]]:
        """Return folder and episodes of each part of a round."""
        episodes = self._recipe.rounds[number].episodes
        begins = range(0, episodes, EPISODES_A_PART)
        return [
            (self._folder / "parts" / f"{number:02d}-{begin:05d}", range(begin, min(begin + EPISODES_A_PART, episodes)))
            for begin in begins
        ]

    def _collect(self, number: int) -> None:
        missing = [(folder, episodes) for folder, episodes in self._parts(number) if not folder.exists()]
        if not missing:
            return
        policy = self._round_weights(number - 1) if number else None
        total = self._recipe.rounds[number].episodes
        done = total - sum(len(episodes) for _, episodes in missing)
        jobs = [(self._recipe.suites, f"round-{number}", episodes, policy, folder) for folder, episodes in missing]
        with self._reporter.work(f"round {number + 1}: collecting episodes", total, done) as advance:
            for count in _all(jobs, self._processes):
                advance(count, "")

    def _learn(self, number: int, learner: Learner, lessons: Lessons) -> None:
        until = self._recipe.steps_after(number)
        if learner.step >= until:
            return
        frames = Frames.open([folder for each in range(number + 1) for folder, _ in self._parts(each)])
        begin = until - self._recipe.rounds[number].steps
        name = f"round {number + 1}: learning from {len(frames)} frames"
        with self._reporter.work(name, until - begin, learner.step - begin) as advance:
            while learner.step < until:
                losses = learner.learn(lambda rng: draw(frames, lessons, self._recipe.batch, rng))
                note = f"moves {losses.moves:.3f} gripper {losses.gripper:.3f} places {losses.places:.3f}"
                advance(1, note)
                if learner.step % STEPS_A_CHECKPOINT == 0 or learner.step == until:
                    learner.save(self._checkpoint)


PartJob = tuple[tuple[str, ...], str, range, "Path | None", Path]


def _all(jobs: list[PartJob], processes: int) -> Iterator[int]:
    """Collect every part and yield how many episodes each had."""
    if processes == 1:
        yield from map(_collect_part, jobs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        for done in as_completed([pool.submit(_collect_part, job) for job in jobs]):
            yield done.result()


def _collect_part(job: PartJob) -> int:
    suites, part, episodes, weights, folder = job
    policy = open_policy(weights) if weights is not None else None
    frames = [frame for taken in collect(_world(suites), part, episodes, Driving(policy)) for frame in taken]
    write_part(folder, frames)
    return len(episodes)


@functools.lru_cache(maxsize=1)
def _world(suites: tuple[str, ...]) -> World:
    return open_world(suites)
