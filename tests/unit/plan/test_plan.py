from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.execution.handout import HandOut
from vlassess.plan import PlanError, added_controls, make_plan, plan_hash, planned_cells
from vlassess.schema.config import BenchmarkSource, Cell, PolicySource, RunConfig
from vlassess.schema.items import WorkItem
from vlassess_link.data import Episode
from vlassess_link.digest import content_id
from vlassess_link.seeds import episode_seed, policy_seed
from vlassess_link.spaces import end_effector_delta
from vlassess_link.specs import Axis, BenchmarkSpec, Level, TaskSpec

CAMERA = Axis("camera_pose", (Level("near"), Level("far")), ("camera:agent",))
LIGHT = Axis("light", (Level("dim"),), ("camera:agent",))
TASKS = (
    TaskSpec("pick", "red", 100),
    TaskSpec("pick", "green", 120),
    TaskSpec("place", "red", 200, initial_states=("s0", "s1", "s2")),
)


def spec_of(tasks: Sequence[TaskSpec] = TASKS) -> BenchmarkSpec:
    return BenchmarkSpec("bench", "1", tuple(tasks), end_effector_delta(), axes=(CAMERA, LIGHT))


def config_of(**given: Any) -> RunConfig:
    whole: dict[str, Any] = {
        "benchmark": BenchmarkSource(name="bench-v1"),
        "policies": {"a": PolicySource(name="a")},
        "episodes": 2,
    }
    return RunConfig(**{**whole, **given})


def episodes_of(config: RunConfig, spec: BenchmarkSpec | None = None) -> list[Episode]:
    return [item.episode for item in make_plan(config, spec or spec_of())]


def problems_of(config: RunConfig, spec: BenchmarkSpec | None = None) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        make_plan(config, spec or spec_of())
    return caught.value.problems


def test_the_plan_holds_every_start_of_every_task() -> None:
    starts = [(e.suite, e.task, e.index, e.initial_state) for e in episodes_of(config_of())]
    assert starts == [
        ("pick", "red", 0, None),
        ("pick", "red", 1, None),
        ("pick", "green", 0, None),
        ("pick", "green", 1, None),
        ("place", "red", 0, "s0"),
        ("place", "red", 1, "s1"),
    ]


def test_ids_and_seeds_are_those_of_the_contract() -> None:
    episode = episodes_of(config_of(seed=7, tasks=("place/*",), repeats=2))[3]
    pair_key = content_id(["bench@1", "place", "red", 1, "s1"])
    seed = episode_seed(7, pair_key)
    assert episode.pair_key == pair_key
    assert episode.seed == seed
    assert episode.policy_seed == policy_seed(7, pair_key, 1)
    assert episode.episode_id == content_id([pair_key, {}, None, seed, 1])
    assert (episode.benchmark, episode.repeat, episode.step_limit) == ("bench@1", 1, 200)


def test_cells_follow_their_control() -> None:
    cells = (
        Cell(axis="camera_pose", level="far"),
        Cell(axis="camera_pose", level="near"),
        Cell(axis="light", level="dim"),
    )
    episodes = episodes_of(config_of(cells=cells, episodes=1, suites=("pick",), tasks=("pick/red",)))
    assert [dict(e.perturbation) for e in episodes] == [
        {},
        {"camera_pose": "far"},
        {"camera_pose": "near"},
        {"light": "dim"},
    ]
    assert len({e.pair_key for e in episodes}) == len({e.seed for e in episodes}) == 1
    assert len({e.episode_id for e in episodes}) == 4


def test_policies_share_their_episodes() -> None:
    items = make_plan(config_of(policies={"a": PolicySource(name="a"), "b": PolicySource(name="b")}), spec_of())
    episodes = {label: [item.episode for item in items if item.policy == label] for label in ("a", "b")}
    assert episodes["a"] == episodes["b"]
    assert len({item.item_id for item in items}) == len(items) == 12


def test_the_step_limit_can_be_replaced() -> None:
    assert {e.step_limit for e in episodes_of(config_of())} == {100, 120, 200}
    assert {e.step_limit for e in episodes_of(config_of(step_limit=5))} == {5}


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({"suites": ("place",)}, ["place/red"]),
        ({"suites": ("place", "pick")}, ["pick/red", "pick/green", "place/red"]),
        ({"tasks": ("*/red",)}, ["pick/red", "place/red"]),
        ({"tasks": ("pick/g*", "place/r?d")}, ["pick/green", "place/red"]),
        ({"tasks": ("*/red", "pick/*")}, ["pick/red", "pick/green", "place/red"]),
        ({"suites": ("pick",), "tasks": ("*/red",)}, ["pick/red"]),
    ],
)
def test_filters_choose_tasks_in_the_order_of_the_spec(given: dict[str, Any], chosen: list[str]) -> None:
    assert [f"{e.suite}/{e.task}" for e in episodes_of(config_of(episodes=1, **given))] == chosen


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"suites": ("pik",)}, ["suites has 'pik'", "did you mean 'pick'?"]),
        ({"suites": ("zzz",)}, ["valid: pick, place"]),
        ({"suites": ("pick", "pick")}, ["suites has 'pick' twice"]),
        ({"tasks": ("pick/rd",)}, ["tasks has 'pick/rd'", "did you mean 'pick/red'?"]),
        ({"suites": ("pick",), "tasks": ("pick/*", "place/*")}, ["'place/*'", "no task of the chosen suites"]),
        ({"tasks": ("*/red", "*/red")}, ["tasks has '*/red' twice"]),
        ({"tasks": ("*/RED",)}, ["'*/RED'", "matches no task"]),
        ({"cells": (Cell(axis="camera", level="far"),)}, ["the axis 'camera'", "bench-v1", "camera_pose"]),
        ({"cells": (Cell(axis="light", level="dimm"),)}, ["light=dimm", "did you mean 'dim'?"]),
        ({"cells": (Cell(axis="light", level="dim"),) * 2}, ["cells has 'light=dim' twice"]),
        ({"policies": {"x": PolicySource(name="a"), "y": PolicySource(name="a")}}, ["'x' and 'y'", "repeats"]),
        ({"episodes": 4}, ["episodes is 4", "place/red", "3 stored initial states", "at most 3"]),
    ],
)
def test_one_mistake_is_one_sentence(given: dict[str, Any], words: list[str]) -> None:
    (problem,) = problems_of(config_of(**given))
    for word in words:
        assert word in problem


def test_every_mistake_is_told_at_once() -> None:
    cells = (Cell(axis="x", level="y"),)
    assert len(problems_of(config_of(suites=("pick", "pick"), tasks=("no",), cells=cells))) == 3


def test_a_plan_that_no_memory_holds_is_refused_before_it_is_made() -> None:
    (problem,) = problems_of(config_of(repeats=10**25))
    assert "1000000 at most" in problem


def test_a_benchmark_without_tasks_has_no_plan() -> None:
    (problem,) = problems_of(config_of(), spec_of(()))
    assert "declares no task" in problem


@pytest.mark.parametrize(("field", "value"), [("episodes", 0), ("policies", {})])
def test_a_config_that_asks_for_no_episode(field: str, value: Any) -> None:
    config = config_of().model_copy(update={field: value})
    (problem,) = problems_of(config)
    assert field in problem
    assert "no episode to run" in problem


NAMES = st.text("abc", min_size=1, max_size=3)
SPECS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=5, unique=True).map(
    lambda pairs: spec_of([TaskSpec(suite, name, 10) for suite, name in pairs])
)
CELLS = st.lists(st.sampled_from([("camera_pose", "near"), ("camera_pose", "far"), ("light", "dim")]), unique=True).map(
    lambda pairs: tuple(Cell(axis=axis, level=level) for axis, level in pairs)
)
POLICIES = st.lists(NAMES, min_size=1, max_size=3, unique=True).map(
    lambda names: {name: PolicySource(name=name) for name in names}
)


def starts(items: Sequence[WorkItem]) -> dict[tuple[str, str, int, int], tuple[str, int, int]]:
    return {
        (e.suite, e.task, e.index, e.repeat): (e.pair_key, e.seed, e.policy_seed)
        for e in (item.episode for item in items)
    }


@given(SPECS, CELLS, POLICIES, st.integers(1, 3), st.integers(1, 3))
def test_ids_are_unique_and_the_size_is_the_product(
    spec: BenchmarkSpec, cells: tuple[Cell, ...], policies: dict[str, PolicySource], episodes: int, repeats: int
) -> None:
    config = config_of(cells=cells, policies=policies, episodes=episodes, repeats=repeats)
    items = make_plan(config, spec)
    assert len(items) == len(spec.tasks) * episodes * (1 + len(cells)) * repeats * len(policies)
    assert len({item.item_id for item in items}) == len(items)
    assert len({item.episode.episode_id for item in items}) == len(items) // len(policies)
    assert make_plan(config, spec) == items


@given(SPECS, CELLS, POLICIES, st.integers(0, 2**64), st.randoms(use_true_random=False))
def test_a_start_depends_on_nothing_but_its_own_place(
    spec: BenchmarkSpec, cells: tuple[Cell, ...], policies: dict[str, PolicySource], seed: int, random: Any
) -> None:
    plain = starts(make_plan(config_of(seed=seed), spec))
    shuffled = random.sample(spec.tasks, k=random.randint(1, len(spec.tasks)))
    other = starts(make_plan(config_of(seed=seed, cells=cells, policies=policies, repeats=2), spec_of(shuffled)))
    shared = plain.keys() & other.keys()
    assert len(shared) == 2 * len(shuffled)
    assert all(plain[key] == other[key] for key in shared)


@given(SPECS, st.integers(1, 4), st.integers(1, 3))
def test_more_episodes_leave_the_earlier_ones_as_they_are(spec: BenchmarkSpec, few: int, more: int) -> None:
    small = {item.item_id: item for item in make_plan(config_of(episodes=few), spec)}
    large = {item.item_id: item for item in make_plan(config_of(episodes=few + more), spec)}
    assert small.items() <= large.items()


def test_the_hash_tells_plans_apart() -> None:
    configs = [
        config_of(),
        config_of(episodes=3),
        config_of(seed=1),
        config_of(step_limit=5),
        config_of(policies={"b": PolicySource(name="a")}),
        config_of(repeats=2),
    ]
    hashes = [plan_hash(make_plan(config, spec_of())) for config in configs]
    assert len(set(hashes)) == len(configs)
    assert plan_hash(make_plan(config_of(), spec_of())) == hashes[0]
    assert plan_hash(tuple(reversed(make_plan(config_of(), spec_of())))) != hashes[0]


def test_ids_and_seeds_are_the_same_for_ever() -> None:
    episode = episodes_of(config_of(seed=3))[1]
    assert (episode.pair_key, episode.seed, episode.policy_seed, episode.episode_id) == (
        "d962c4daadee8002042a",
        945820532623758950,
        8030345587020358542,
        "955ea9988f7013afc584",
    )


def perturbations(*cells: Cell) -> list[dict[str, str]]:
    config = config_of(cells=cells, episodes=1, suites=("pick",), tasks=("pick/red",))
    return [dict(episode.perturbation) for episode in episodes_of(config)]


def test_a_cell_in_another_scene_brings_the_control_of_that_scene() -> None:
    far_in_the_dim = Cell(axis="camera_pose", level="far", within={"light": "dim"})
    scene, both = {"light": "dim"}, {"camera_pose": "far", "light": "dim"}
    assert perturbations(far_in_the_dim) == [{}, scene, both]
    assert perturbations(Cell(axis="light", level="dim"), far_in_the_dim) == [{}, scene, both]
    assert perturbations(far_in_the_dim, Cell(axis="light", level="dim")) == [{}, scene, both]


def test_a_star_stands_for_every_level() -> None:
    assert perturbations(Cell(axis="camera_pose", level="*")) == [{}, {"camera_pose": "near"}, {"camera_pose": "far"}]


def test_cells_know_their_controls_and_names() -> None:
    config = config_of(
        cells=(Cell(axis="light", level="*"), Cell(axis="camera_pose", level="far", within={"light": "dim"}))
    )
    dim, far = planned_cells(config, spec_of())
    assert (dim.name, dim.control_name, dim.control_key) == ("light=dim", "control", ())
    assert (far.name, far.control_name, far.control_key) == ("camera_pose=far within light=dim", "light=dim", dim.key)
    assert added_controls((dim, far)) == ("added: control, the control of light=dim",)
    assert added_controls((far,)) == ("added: light=dim, the control of camera_pose=far within light=dim",)
    assert added_controls((dim, dim)) == ("added: control, the control of light=dim and 1 more",)
    assert added_controls(()) == ()


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"lihgt": "dim"}, ["the axis 'lihgt'", "light"]),
        ({"light": "dark"}, ["light=dark", "no such level"]),
        ({"camera_pose": "near"}, ["camera_pose=far within camera_pose=near", "another axis for the scene"]),
    ],
)
def test_a_scene_that_cannot_be_is_named(within: dict[str, str], words: list[str]) -> None:
    cells = (Cell(axis="camera_pose", level="far", within=within),)
    (problem,) = problems_of(config_of(cells=cells))
    assert all(word in problem for word in words)
    with pytest.raises(PlanError):
        planned_cells(config_of(cells=cells), spec_of())


@pytest.mark.parametrize("level", ["dim", "*"])
def test_axes_that_exclude_each_other_are_refused_before_the_first_episode(level: str) -> None:
    spec = replace(spec_of(), axes=(CAMERA, replace(LIGHT, excludes=("camera_pose",))))
    (problem,) = problems_of(config_of(cells=(Cell(axis="light", level=level, within={"camera_pose": "far"}),)), spec)
    assert "light and camera_pose in one episode" in problem
    (problem,) = problems_of(config_of(cells=(Cell(axis="camera_pose", level="far", within={"light": "dim"}),)), spec)
    assert "light and camera_pose in one episode" in problem


def test_a_cell_is_handed_out_beside_its_control() -> None:
    """Interleaved, so that whatever drifts in a session drifts alike for both."""
    config = config_of(cells=(Cell(axis="light", level="dim"),), episodes=4, suites=("pick",))
    handed = HandOut(make_plan(config, spec_of()), lambda group: 1.0)
    order = [item.episode for _ in range(len(handed)) if (item := handed.next(("a",))) is not None]
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert [dict(one.perturbation) for one, _ in pairs] == [{}] * 8
    assert [dict(other.perturbation) for _, other in pairs] == [{"light": "dim"}] * 8
    assert all(one.pair_key == other.pair_key for one, other in pairs)
