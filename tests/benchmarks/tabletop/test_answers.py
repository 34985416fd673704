"""Answer scenes: what counts as grasped and placed, what ends an episode; nothing seen depends on the answer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess.grounding.instructions import OBJECTS
from vlassess.grounding.suites import COLOURS, LETTERS
from vlassess_link import Benchmark, Episode, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.digest import ArrayDigest
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.answers import Answers

ZONE = np.array((0.31, 0.0, 0.0))
FAR = np.array((0.5, 0.2, 0.02))


@pytest.fixture(scope="module")
def answers(folder: Path) -> Iterator[Answers]:
    benchmark: Answers = load_target(f"{folder / 'answers.py'}:Answers", Benchmark, {})
    yield benchmark
    benchmark.close()


def answer_episode(make: Callable[..., Episode], suite: str = "rsb-math-4", seed: int = 3, **fields: Any) -> Episode:
    return make(suite, "answer", seed, **{"step_limit": 200, "private": {"target": "B"}, **fields})


def test_specs_are_shipped(answers: Answers, folder: Path) -> None:
    for embodiment, name in (("bimanual", "tabletop_answers"), ("single", "tabletop_answers_single")):
        shipped = json.loads((folder.parent / name / "spec.json").read_text(encoding="utf-8"))
        assert shipped == to_json(type(answers)(embodiment).spec), "run python tools/write_specs.py"
    assert (answers.spec.termination.kind, answers.spec.success) == ("at_limit", "at_end")
    assert len(answers.spec.suites) == 12


def test_both_sides_know_the_same_candidates(module: Callable[[str], Any]) -> None:
    scene, things = module("answer_scene"), module("things")
    assert {name: shape.words for name, shape in things.THINGS.items()} == dict(OBJECTS)
    assert module("glyphs").LETTERS == LETTERS
    assert tuple(scene.COLOURS) == COLOURS


def delivered(benchmark: Answers, episode: Episode) -> str:
    """Return a digest of everything that a policy gets of an episode under the same wild actions."""
    digest = ArrayDigest()
    raw = benchmark.reset(episode)
    for action in np.random.default_rng(3).uniform(-1, 1, (6, 14)):
        obs = benchmark.make_obs(raw)
        digest.update_text("instruction", obs.instruction)
        assert obs.state is not None
        digest.update("state", obs.state)
        for name, picture in obs.images.items():
            digest.update(name, picture)
        result = benchmark.step(action)
        digest.update_text("ended", str(result.ended))
        raw = result.raw
    return digest.hexdigest()


def test_nothing_that_is_delivered_depends_on_the_right_answer(
    answers: Answers, make_episode: Callable[..., Episode]
) -> None:
    answers.view = View({"agent": (224, 224), "left_wrist": (128, 128)})
    told: dict[str, Any] = {"instruction": "what is 1 plus 1? options: (A) 1 (B) 2 (C) 3 (D) 4.", "step_limit": 20}
    seen = {
        delivered(answers, answer_episode(make_episode, private={"target": target, "answer": target}, **told))
        for target in "ABCD"
    }
    assert len(seen) == 1
    assert seen != {delivered(answers, answer_episode(make_episode, seed=4, **told))}


def test_layouts_vary_and_are_excluded_by_geometry_alone(
    answers: Answers, make_episode: Callable[..., Episode]
) -> None:
    answers.view = View({})
    seen = []
    for seed in range(8):
        state = answers.reset(answer_episode(make_episode, "rsb-math-10", seed)).state
        places = np.array([state[letter][:2] for letter in "ABCDEFGHIK"])
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(10, 1)]
        assert gaps.min() >= 0.097
        seen.append(places)
    assert np.std([np.argsort(places[:, 1])[0] for places in seen]) > 0
    assert np.ptp([places[:, 0].max() for places in seen]) > 0.004


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"scene": {"names": ["A", "B", "C", "J"]}}, "names A, B, C, J; rsb-math-4 takes 4 different ones of A, B"),
        ({"scene": {"names": ["A", "B"]}}, "names A, B; rsb-math-4 takes 4"),
        ({"scene": {"kind": "balls"}}, "it may have kind"),
        ({"scene": {"colours": "none"}}, "it must be many, one, or"),
        ({"private": {"target": "E"}}, "target is 'E'"),
        ({"initial_state": "one"}, "takes no perturbation and no stored initial state"),
    ],
)
def test_a_scene_that_cannot_be_is_refused_in_words(
    answers: Answers, make_episode: Callable[..., Episode], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(ContractError, match=says):
        answers.reset(answer_episode(make_episode, **fields))


@pytest.mark.parametrize(
    ("name", "suite", "first", "placed"),
    [
        ("Oracle", "rsb-math-4", True, True),
        ("Oracle", "beyond-math-10", True, True),
        ("Contrarian", "rsb-math-10", False, False),
    ],
)
def test_privileged_policies_do_as_they_say(
    answers: Answers,
    folder: Path,
    make_episode: Callable[..., Episode],
    name: str,
    suite: str,
    first: bool,
    placed: bool,
) -> None:
    policy = load_target(f"{folder / 'calibration.py'}:{name}", Policy, {})
    policy.bind(answers)
    answers.view = View({})
    names = list(OBJECTS) if suite.startswith("beyond") else list(LETTERS[: int(suite.rpartition("-")[2])])
    for seed in range(3):
        target = names[seed]
        outcome = run_episode(
            answer_episode(make_episode, suite, seed, scene={"names": names}, private={"target": target}),
            answers,
            policy,
            1,
        )
        chosen = int(outcome.metrics["first_grasp"])
        assert chosen > 0
        assert (names[chosen - 1] == target) is first
        assert outcome.success is placed
        assert outcome.cause == "ended"
        assert outcome.metrics["placed"] == chosen
        assert list(outcome.stages) == ["reach", "contact", "grasp", "lift", "transport", "place"]


def test_where_none_is_named_any_candidate_is_right(
    answers: Answers, folder: Path, make_episode: Callable[..., Episode]
) -> None:
    policy = load_target(f"{folder / 'calibration.py'}:Oracle", Policy, {})
    policy.bind(answers)
    answers.view = View({})
    outcome = run_episode(answer_episode(make_episode, private={}), answers, policy, 1)
    assert (outcome.success, outcome.metrics["placed"]) == (True, 1.0)


class Course:
    """A judge that is told step by step; two candidates, one hand unless a second is named."""

    def __init__(self, module: Callable[[str], Any], target: str = "A") -> None:
        self.judging = module("judging")
        self.judge = self.judging.Judge(("A", "B"), target, ZONE, 0.06)

    def step(self, **told: Any) -> Any:
        hand = self.judging.HandNow(
            told.get("hand", np.add(FAR, 0.1)), told.get("closed", False), told.get("touches", {})
        )
        places = {"A": FAR, "B": np.add(FAR, (0.0, -0.3, 0.0)), **told.get("places", {})}
        heights = {"A": 0.0, "B": 0.0, **told.get("heights", {})}
        now = {
            name: self.judging.CandidateNow(places[name], heights[name], told.get("speed", 0.0)) for name in ("A", "B")
        }
        return self.judge.update({"": hand}, now)


def test_a_grasp_takes_eight_steps_of_both_pads_or_a_lift(module: Callable[[str], Any]) -> None:
    course = Course(module)
    held = {"closed": True, "touches": {"A": 2}}
    found = [course.step(**held).metrics["first_grasp"] for _ in range(8)]
    assert found == [0.0] * 7 + [1.0]
    lifted = Course(module)
    assert lifted.step(closed=True, touches={"B": 1}, heights={"B": 0.02}).metrics["first_grasp"] == 2.0


@pytest.mark.parametrize(
    "told",
    [
        {"closed": False, "touches": {"A": 2}},
        {"closed": True, "touches": {"A": 1}},
        {"closed": True, "touches": {}},
        {"closed": False, "touches": {"A": 2}, "heights": {"A": 0.05}},
        {"closed": True, "touches": {}, "heights": {"A": 0.05}},
    ],
)
def test_what_is_no_grasp(module: Callable[[str], Any], told: dict[str, Any]) -> None:
    course = Course(module)
    for _ in range(20):
        outcome = course.step(**told)
    assert outcome.metrics["first_grasp"] == 0.0
    assert "grasp" not in outcome.stages


def test_contact_must_be_in_a_row(module: Callable[[str], Any]) -> None:
    course = Course(module)
    for _ in range(4):
        for _ in range(7):
            course.step(closed=True, touches={"A": 2})
        outcome = course.step(closed=True)
    assert outcome.metrics["first_grasp"] == 0.0


def test_the_choice_is_the_first_and_later_grasps_count_apart(module: Callable[[str], Any]) -> None:
    course = Course(module)
    for name in ("B", "A", "B"):
        for _ in range(10):
            outcome = course.step(closed=True, touches={name: 2})
        for _ in range(6):
            outcome = course.step()
    assert (outcome.metrics["first_grasp"], outcome.metrics["regrasps"]) == (2.0, 2.0)
    # A hand that loses contact for a moment still holds.
    swinging = Course(module)
    for number in range(40):
        outcome = swinging.step(closed=True, touches={} if number % 11 == 10 else {"A": 2}, heights={"A": 0.1})
    assert outcome.metrics["regrasps"] == 0.0


def test_placed_is_the_right_one_alone_at_rest_and_let_go(module: Callable[[str], Any]) -> None:
    course = Course(module)
    assert course.step(places={"A": ZONE}).success
    assert not course.step(places={"B": ZONE}).success
    both = course.step(places={"A": ZONE, "B": np.add(ZONE, (0.04, 0.0, 0.0))})
    assert (both.success, both.metrics["placed"]) == (False, -1.0)
    assert not course.step(places={"A": ZONE}, speed=0.2).success
    assert not course.step(places={"A": ZONE}, touches={"A": 1}).success
    assert not course.step(places={"A": ZONE}, hand=ZONE, closed=True).success
    assert not course.step(places={"A": ZONE}, heights={"A": 0.05}).success


@pytest.mark.parametrize("name", ["A", "B"])
def test_an_episode_ends_once_anything_has_rested_in_the_zone(module: Callable[[str], Any], name: str) -> None:
    course = Course(module)
    over = []
    for _ in range(10):
        course.step(places={name: ZONE})
        over.append(course.judge.over)
    assert over == [False] * 9 + [True]


def test_the_right_one_changes_success_and_progress_and_nothing_else(module: Callable[[str], Any]) -> None:
    one, other = Course(module, "A"), Course(module, "B")
    for told in ({"closed": True, "touches": {"A": 2}}, {"places": {"A": ZONE}}):
        first, second = one.step(**told), other.step(**told)
        assert (first.stages, first.metrics) == (second.stages, second.metrics)
        assert dataclasses.astuple(first)[:2] != dataclasses.astuple(second)[:2]
