"""What a policy is taught from: starts of their own, labels that solve the task, frames that are found again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.plan import make_plan
from vlassess.training.collect import CHUNK, Driving, action_of, collect, halved
from vlassess.training.progress import Reporter
from vlassess.training.recipe import RECIPES
from vlassess.training.store import Frame, Frames, write_part
from vlassess.training.teacher import STEP, TURN, label
from vlassess.training.world import World, training_seed


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World(("pick", "place", "stack"))
    yield made
    made.close()


def drive(world: World, job: int, seed: int, horizon: int = 5) -> bool:
    """Do what the labels say, looking anew every ``horizon`` steps."""
    task = world.jobs[job]
    world.begin(task, seed, task.instructions[0])
    for step in range(task.step_limit):
        if step % horizon == 0:
            rows = label(world.scene(), CHUNK)[job]
        if world.act(action_of(rows[step % horizon])).success:
            return True
    return False


def test_the_labels_solve_every_task(world: World) -> None:
    solved = {job.name: drive(world, number, 500 + number) for number, job in enumerate(world.jobs)}
    assert sum(solved.values()) >= len(solved) - 1, solved


def test_the_label_of_a_state_depends_on_nothing_before(world: World) -> None:
    job = world.jobs[0]
    world.begin(job, 3, None)
    first = label(world.scene(), CHUNK)
    again = label(world.scene(), CHUNK)
    assert np.array_equal(first, again)
    # Following the plan leads to where it was continued from.
    for row in first[0][:3]:
        world.act(action_of(row))
    assert np.allclose(label(world.scene(), CHUNK)[0][:7], first[0][3:], atol=2e-3)


def test_labels_stay_within_what_a_policy_answers(world: World) -> None:
    for number in range(4):
        world.begin(world.jobs[number], 40 + number, None)
        scene = world.scene()
        rows = label(scene, 60)[scene.possible]
        assert np.linalg.norm(rows[:, :, :3], axis=2).max() <= STEP + 1e-9
        assert np.abs(rows[:, :, 3]).max() <= TURN + 1e-9
        assert set(np.unique(rows[:, :, 4])) <= {-1.0, 1.0}


def test_what_is_not_in_the_scene_is_not_possible(world: World) -> None:
    possible = {}
    for suite in ("place", "stack"):
        job = next(job for job in world.jobs if job.suite == suite)
        world.begin(job, 1, None)
        possible[suite] = {job.suite for job, there in zip(world.jobs, world.scene().possible, strict=True) if there}
    assert possible["place"] >= {"pick", "place"}
    assert "stack" in possible["stack"]


def test_no_training_start_is_a_start_of_a_run() -> None:
    spec = Catalog.discover().benchmarks["tabletop-v1"].spec
    assert spec is not None
    runs = {item.episode.seed for item in make_plan(load_config("tabletop", []), spec)}
    parts = [
        (f"round-{number}", each.episodes) for recipe in RECIPES.values() for number, each in enumerate(recipe.rounds)
    ]
    trained = {training_seed(part, number) for part, episodes in parts for number in range(episodes)}
    assert len(trained) > 1000
    assert not runs & trained


def test_frames_are_a_function_of_part_and_number(world: World, tmp_path: Path) -> None:
    whole = list(collect(world, "test", range(2, 5), Driving()))
    (alone,) = collect(world, "test", range(3, 4), Driving())
    assert len(alone) > 5
    for one, other in zip(alone, whole[1], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))

    for number, frames in enumerate(whole):
        write_part(tmp_path / f"{number}", frames)
    stored = Frames.open([tmp_path / f"{number}" for number in range(3)])
    flat = [frame for frames in whole for frame in frames]
    assert len(stored) == len(flat)
    wanted = np.array([0, len(flat) - 1, len(whole[0]), 1])
    taken = stored.take(wanted)
    for name in Frame._fields:
        assert np.array_equal(getattr(taken, name), np.stack([getattr(flat[number], name) for number in wanted]))


def test_frames_are_labelled_for_other_tasks_too(world: World) -> None:
    (frames,) = collect(world, "test", range(1), Driving())
    labels = frames[0].labels
    assert labels.shape == (len(world.jobs), CHUNK, 5)
    assert len({label.tobytes() for label in labels[frames[0].possible]}) >= 3, "three blocks are reached differently"


def test_a_varied_world_gives_its_own_words() -> None:
    world = World(("pick",), {"object_category": "mug"})
    for number, frames in enumerate(collect(world, "test", range(3), Driving(noise=(0.0,), pushes=0.0))):
        (said,) = {str(frame.said) for frame in frames}
        assert said == world.jobs[number].instructions[0].replace("block", "mug")
    world.close()


def test_halving_is_the_mean_of_four_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (6, 4, 3)).astype(np.uint8)
    mean = image.reshape(3, 2, 2, 2, 3).astype(float).mean((1, 3))
    assert np.abs(halved(image) - mean).max() <= 0.5


def test_progress_tells_what_is_left() -> None:
    now = [0.0]
    told = io.StringIO()
    reporter = Reporter(told, lambda: now[0])
    with reporter.work("learning", 10, done=4) as advance:
        for step in range(6):
            now[0] += 15.0
            advance(1, f"loss {step}")
    lines = told.getvalue().splitlines()
    assert lines == [
        "learning: 6 of 10, 60 s left  loss 1",
        "learning: 8 of 10, 30 s left  loss 3",
        "learning: 10 of 10, 0 s left  loss 5",
    ]
