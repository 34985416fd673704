"""Every level of every axis: what it touches changes, and nothing else by a single bit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess_link import Benchmark, Episode, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.errors import ContractError
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

EMBODIMENTS = ("single", "bimanual")
TASKS = (("pick", "green_block"), ("place", "red_block_bowl"), ("stack", "blue_block_on_red_block"))
STRONGEST = {
    "object_category": "shoe",
    "background": "room",
    "lighting": "harsh",
    "distractors": "4",
    "camera_pose": "far",
    "language": "referring",
}
"""One level of each axis that is paired with its control, for combinations."""

SEEDS = st.integers(0, 2**62)
Seen = dict[str, bytes]
At = Callable[..., Episode]


@pytest.fixture(scope="session")
def at(make_episode: Callable[..., Episode]) -> At:
    """Return the maker of episodes: suite, task, seed, and levels by their axes."""
    return lambda suite, task, seed, **levels: make_episode(suite, task, seed, perturbation=levels)


@pytest.fixture(scope="module", params=EMBODIMENTS)
def armed(request: pytest.FixtureRequest, folder: Path) -> Iterator[Tabletop]:
    """The benchmark with one arm and with two."""
    benchmark: Tabletop = load_target(f"{folder / 'adapter.py'}:Tabletop", Benchmark, {"embodiment": request.param})
    yield benchmark
    benchmark.close()


def seen(benchmark: Tabletop, episode: Episode) -> Seen:
    """Return all that a start consists of, named as touched sets name it; proprioception as "state"."""
    raw = benchmark.reset(episode)
    obs = benchmark.make_obs(raw)
    assert obs.state is not None
    found = {name: value.tobytes() for name, value in raw.state.items()}
    found |= {f"camera:{name}": image.tobytes() for name, image in obs.images.items()}
    return {**found, "instruction": raw.instruction.encode(), "state": obs.state.tobytes()}


def changes(a: Seen, b: Seen) -> set[str]:
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


def levels(benchmark: Tabletop) -> Iterator[tuple[Any, str, set[str]]]:
    """Yield axis, level and what it may change."""
    cameras = [camera.name for camera in benchmark.spec.cameras]
    for axis in benchmark.spec.axes:
        for level in axis.levels:
            yield axis, level.name, set(axis.may_change(cameras, level.name))


@pytest.mark.parametrize(("suite", "task"), TASKS)
def test_each_level_changes_what_it_touches_and_nothing_else(armed: Tabletop, suite: str, task: str, at: At) -> None:
    seed = 100 + len(task)
    control = seen(armed, at(suite, task, seed))
    for axis, level, allowed in levels(armed):
        changed = changes(control, seen(armed, at(suite, task, seed, **{axis.name: level})))
        assert changed <= allowed, (axis.name, level)
        assert changed, (axis.name, level)
        moved = {name for name in changed if name.endswith("_block")}
        assert moved <= {task.split("_on_")[0].split("_bowl")[0]}, "only the episode's own target may be replaced"
        if "instruction" in allowed:
            assert "instruction" in changed, (axis.name, level)
        if axis.name == "camera_pose":
            assert changed == allowed, level
    assert seen(armed, at(suite, task, seed)) == control, "what was varied leaves no trace"


def test_a_cell_in_another_scene_differs_from_that_scene_by_its_own_axis_alone(armed: Tabletop, at: At) -> None:
    cameras = [camera.name for camera in armed.spec.cameras]
    axes = {axis.name: axis for axis in armed.spec.axes}
    for inner, outer in itertools.permutations(STRONGEST, 2):
        scene = {outer: STRONGEST[outer]}
        control = seen(armed, at(*TASKS[1], 5, **scene))
        cell = seen(armed, at(*TASKS[1], 5, **scene, **{inner: STRONGEST[inner]}))
        changed = changes(control, cell)
        assert changed, (inner, outer)
        assert changed <= axes[inner].may_change(cameras, STRONGEST[inner]), (inner, outer)


def test_another_benchmark_object_shows_the_same(armed: Tabletop, at: At) -> None:
    other = type(armed)("single" if len(armed.spec.cameras) == 2 else "bimanual")
    for axis in ("object_category", "distractors", "lighting"):
        episode = at(*TASKS[0], 9, **{axis: STRONGEST[axis]})
        assert seen(other, episode) == seen(armed, episode)
    other.close()


def test_what_is_painted_is_what_the_compiler_makes(armed: Tabletop, module: Callable[[str], Any], at: At) -> None:
    mujoco = pytest.importorskip("mujoco")
    start_of, worlds = module("adapter").start_of, module("worlds")
    embodiment = "single" if len(armed.spec.cameras) == 2 else "bimanual"
    kept = worlds.Worlds(module("scene").base_scene(embodiment))
    for perturbation in ({}, *({axis: level} for axis, level in STRONGEST.items()), {"object_instance": "all"}):
        scene = start_of(embodiment, at(*TASKS[2], 3, **perturbation)).scene
        painted = kept.of(scene).simulation.model
        compiled = mujoco.MjModel.from_xml_string(module("mjcf").scene_mjcf(scene))
        for name in ("geom_rgba", "geom_matid", "light_diffuse", "geom_size", "geom_pos", "body_mass"):
            assert np.array_equal(getattr(painted, name), getattr(compiled, name)), (perturbation, name)
        for name in ("cam_pos", "cam_quat", "cam_fovy", "light_dir"):
            assert getattr(painted, name) == pytest.approx(getattr(compiled, name), abs=1e-7), (perturbation, name)
        for name in ("ambient", "diffuse"):
            assert np.array_equal(getattr(painted.vis.headlight, name), getattr(compiled.vis.headlight, name))
    kept.close()


@given(seed=SEEDS)
@settings(max_examples=60)
def test_distractors_overlap_nothing_and_are_in_sight(module: Callable[[str], Any], seed: int, at: At) -> None:
    for count in ("1", "2", "4", "8"):
        start = module("adapter").start_of("single", at("stack", "red_block_on_blue_block", seed, distractors=count))
        added = [item for item in start.scene.items if item.name.startswith("distractor_")]
        assert len(added) == int(count)
        for one, other in itertools.combinations(start.scene.items, 2):
            a, b = start.spots[one.name], start.spots[other.name]
            assert math.hypot(a.x - b.x, a.y - b.y) >= one.footprint + other.footprint
        for item in added:
            spot = start.spots[item.name]
            assert module("views").shows(start.scene.cameras[0], ((spot.x, spot.y, 0.0),), 1.0)


@given(seed=SEEDS)
@settings(max_examples=60)
def test_held_out_starts_are_held_out_free_and_in_sight(module: Callable[[str], Any], seed: int, at: At) -> None:
    for level, (least, most) in {"border": (0.010, 0.035), "outside": (0.045, 0.080)}.items():
        start = module("adapter").start_of("single", at("pick", "red_block", seed, initial_state=level))
        control = module("adapter").start_of("single", at("pick", "red_block", seed))
        spot, region = start.spots["red_block"], start.scene.region
        nearest = np.clip((spot.x, spot.y), region.low, region.high)
        assert least <= math.hypot(*(nearest - (spot.x, spot.y))) <= most
        assert module("views").shows(start.scene.cameras[0], ((spot.x, spot.y, 0.0),), 1.0)
        for item in start.scene.items:
            if item.name != "red_block":
                other = start.spots[item.name]
                assert other == control.spots[item.name]
                assert math.hypot(spot.x - other.x, spot.y - other.y) >= item.footprint + 0.05


@given(seed=SEEDS)
@settings(max_examples=60)
def test_a_moved_camera_moves_as_far_as_its_level_says_and_shows_all_objects(
    module: Callable[[str], Any], seed: int, at: At
) -> None:
    base = module("scene").SCENE.cameras[0]
    reached = []
    for level, offset in {"near": 0.04, "mid": 0.10, "far": 0.20}.items():
        start = module("adapter").start_of("single", at("pick", "red_block", seed, camera_pose=level))
        camera = start.scene.cameras[0]
        assert math.dist(camera.position, base.position) == pytest.approx(offset)
        low, high = start.scene.region.low, start.scene.region.high
        assert module("views").shows(camera, tuple((x, y, 0.0) for x in (low[0], high[0]) for y in (low[1], high[1])))
        reached.append(offset)
    assert reached == sorted(reached)


def test_unseen_shapes_fit_where_a_block_stood(module: Callable[[str], Any]) -> None:
    shapes, scene = module("shapes"), module("scene").SCENE
    for shape in shapes.CATEGORIES.values():
        item = shape.instead_of(scene.item("red_block"), (0.8, 0.1, 0.1, 1.0))
        assert reach(item) <= item.footprint
        assert lowest(item) == pytest.approx(-item.rest_height, abs=1e-9), "it neither floats nor sinks"
    for kind in range(len(shapes.DISTRACTORS)):
        item = shapes.distractor(1, kind, (0.5, 0.5, 0.1, 1.0))
        assert reach(item) <= item.footprint
        assert lowest(item) == pytest.approx(-item.rest_height, abs=1e-9)


def corners(geom: Any) -> np.ndarray:
    """Return points whose hull holds a geom, in its item's frame; of the primitives used here."""
    size = geom.size
    half = {"box": size, "cylinder": (size[0], size[0], size[-1]), "capsule": (size[0], size[0], size[0] + size[-1])}
    signs = np.array(tuple(itertools.product((-1.0, 1.0), repeat=3)))
    w, x, y, z = geom.quaternion
    rotation = np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
    )
    return np.asarray(signs * half[geom.shape[:8]] @ rotation.T + geom.position)


def reach(item: Any) -> float:
    """Return how far an item stands out from its centre on the table; a round one less than its corners."""
    round_ones = {geom: geom.size[0] for geom in item.geoms if geom.shape == "cylinder" and geom.solid}
    return max(
        round_ones[geom] if geom in round_ones else float(np.hypot(*corners(geom)[:, :2].T).max())
        for geom in item.geoms
    )


def lowest(item: Any) -> float:
    return min(float(corners(geom)[:, 2].min()) for geom in item.geoms if geom.solid)


def test_an_instruction_never_holds_a_name_of_ours(armed: Tabletop, at: At) -> None:
    for axis, level, _ in levels(armed):
        text = armed.reset(at(*TASKS[1], 21, **{axis.name: level})).instruction
        assert "_" not in text
        assert text == text.strip()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"perturbation": {"object_instance": "all", "object_category": "mug"}},
            "both put another target in its place",
        ),
        ({"perturbation": {"language": "seen"}, "instruction": "go"}, "brings its own, 'go'"),
        ({"perturbation": {"object_category": "mug"}, "instruction": "go"}, "brings its own, 'go'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tabletop: Tabletop, make_episode: Callable[..., Episode], fields: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ContractError, match=said):
        tabletop.reset(make_episode(**fields))


def test_a_level_that_rewords_nothing_leaves_a_planned_instruction_alone(
    tabletop: Tabletop, make_episode: Callable[..., Episode]
) -> None:
    raw = tabletop.reset(make_episode(perturbation={"object_instance": "texture"}, instruction="go"))
    assert raw.instruction == "go"


def expert_rates(benchmark: Tabletop, folder: Path, at: At, episodes: int) -> dict[tuple[str, str], float]:
    """Return the expert's success rate over tasks in turn, at each level that changes what it meets.

    At the others its arm and all that it touches move as in the control: it sees no picture and reads no text.
    """
    expert: Policy = load_target(f"{folder / 'expert.py'}:ScriptedExpert", Policy, {})
    expert.bind(benchmark)
    benchmark.view = View({})
    tasks = benchmark.spec.tasks
    rates: dict[tuple[str, str], float] = {}
    for axis, level, allowed in levels(benchmark):
        if not any(name.endswith("_block") or name.startswith("distractor") for name in allowed):
            continue
        outcomes = []
        for number in range(episodes):
            task = tasks[(7 * number + len(rates)) % len(tasks)]
            episode = replace(
                at(task.suite, task.name, 9000 + number, **{axis.name: level}), step_limit=task.step_limit
            )
            outcomes.append(run_episode(episode, benchmark, expert, expert.spec.horizon).success)
        rates[axis.name, level] = sum(outcomes) / episodes
    benchmark.view = None
    return rates


def test_the_expert_solves_what_is_put_before_it(armed: Tabletop, folder: Path, at: At) -> None:
    rates = expert_rates(armed, folder, at, 1)
    assert len(rates) == 14
    assert sum(rates.values()) >= 13, {key: rate for key, rate in rates.items() if rate < 1}


@pytest.mark.slow
def test_the_expert_s_rate_at_every_level(armed: Tabletop, folder: Path, at: At) -> None:
    rates = expert_rates(armed, folder, at, 20)
    least = {key: 0.8 if key[0] == "object_category" else 0.9 for key in rates}
    assert not {key: rate for key, rate in rates.items() if rate < least[key]}


def test_the_control_is_that_of_version_1(module: Callable[[str], Any], at: At) -> None:
    start = module("adapter").start_of("single", at("place", "red_block_zone", 7))
    spots = {name: tuple(round(value, 6) for value in (spot.x, spot.y, spot.yaw)) for name, spot in start.spots.items()}
    assert spots == {
        "bowl": (0.505422, -0.214515, 0.0),
        "zone": (0.449665, 0.177036, 0.0),
        "red_block": (0.533938, 0.038159, 0.178017),
        "green_block": (0.355463, -0.036419, 0.213247),
        "blue_block": (0.293857, -0.223889, 0.215669),
    }
    assert start.instruction == "put the red block on the gray zone"
    assert start.scene == module("scene").SCENE
    assert start.parts == ()
