"""mini-vla: what it answers is a function of two pictures, proprioception and words; and it does what it is told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vlassess
from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.errors import PluginError, PredictError
from vlassess_link.loading import load_class, load_target
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer, SessionContext

SCRIPTS = Path(__file__).parents[2] / "src" / "vlassess" / "policies"
TARGET = f"{SCRIPTS / 'mini_vla.py'}:MiniVla"
TOLD = ("pick up the red block", "put the blue block on the gray zone", "lift the green block")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return sys.modules[load_class(TARGET, PredictModelServer).__module__]


@pytest.fixture(scope="module")
def model() -> Any:
    loaded = load_target(TARGET, PredictModelServer, {})
    loaded.load()
    return loaded


def observations(count: int, dtype: str = "uint8") -> list[Observation]:
    rng = np.random.default_rng(3)
    return [
        Observation(
            {name: rng.integers(0, 256, (128, 128, 3)).astype(dtype) for name in ("agent", "wrist")},
            TOLD[number % len(TOLD)],
            np.array((0.4, 0.0, 0.2, np.pi, 0.0, 0.0, 0.04, -0.04)) + rng.normal(0, 0.01, 8),
        )
        for number in range(count)
    ]


def ask(model: Any, seen: list[Observation]) -> np.ndarray:
    contexts = [SessionContext("test") for _ in seen]
    return np.stack([answer.actions for answer in model.predict_batch(seen, contexts)])


def test_it_answers_ten_actions_within_bounds(model: Any) -> None:
    actions = ask(model, observations(3))
    assert actions.shape == (3, 10, 7)
    assert np.isfinite(actions).all()
    assert np.abs(actions).max() <= 1.0


def test_the_gripper_is_continuous(model: Any) -> None:
    grips = ask(model, observations(16))[:, :, 6]
    assert len(np.unique(grips)) == grips.size
    assert (np.abs(grips) < 1.0).all()


def test_it_is_deterministic_and_batches_agree_with_single_answers(model: Any) -> None:
    seen = observations(16)
    together = ask(model, seen)
    assert np.array_equal(together, ask(model, seen))
    alone = np.concatenate([ask(model, [one]) for one in seen])
    assert np.abs(together - alone).max() < 1e-5


def test_float_pictures_are_on_the_same_scale(model: Any) -> None:
    assert np.array_equal(ask(model, observations(4)), ask(model, observations(4, "float32")))
    assert {"uint8", "float32"} <= set(model.spec.image_dtypes)


def test_small_changes_of_a_picture_change_the_answer_a_little(model: Any) -> None:
    """Nothing is rounded to whole grey levels on the way."""
    (seen,) = observations(1, "float32")
    brighter = Observation({name: image + 0.2 for name, image in seen.images.items()}, seen.instruction, seen.state)
    change = np.abs(ask(model, [seen]) - ask(model, [brighter])).max()
    assert 0.0 < change < 0.1


def test_stateless_queries_agree_with_sessions() -> None:
    policy = InProcessPolicy(load_target(TARGET, PredictModelServer, {}))
    seen = observations(3)
    answers = np.stack([chunk.actions for chunk in policy.query(seen, 5)])
    for number, one in enumerate(seen):
        policy.reset(EpisodeStart("id", "pick", "red_block", one.instruction), number)
        assert np.abs(policy.predict(one).actions - answers[number]).max() < 1e-5


def test_each_camera_the_words_and_the_state_matter(model: Any) -> None:
    (seen,) = observations(1)
    before = ask(model, [seen])
    dark = np.zeros((128, 128, 3), np.uint8)
    assert seen.state is not None
    for other in (
        Observation({**seen.images, "agent": dark}, seen.instruction, seen.state),
        Observation({**seen.images, "wrist": dark}, seen.instruction, seen.state),
        Observation(seen.images, "pick up the green block", seen.state),
        Observation(seen.images, seen.instruction, seen.state + 0.05),
    ):
        assert np.abs(ask(model, [other]) - before).max() > 1e-3


@given(st.text(max_size=80))
def test_any_text_becomes_numbers(script: ModuleType, text: str) -> None:
    words = script.Words(("red", "block"), 8, 5)
    numbers = words(text)
    assert numbers.shape == (5,)
    assert numbers.min() >= 0
    assert numbers.max() < words.size


def test_unknown_words_fall_into_the_same_bucket_everywhere(script: ModuleType) -> None:
    words = script.Words(("red", "block"), 8, 5)
    assert words("Red, BLOCK!").tolist() == [1, 2, 0, 0, 0]
    assert words("crimson cube").tolist() == [3, 3, 0, 0, 0]
    assert words("red " * 9).tolist() == [1] * 5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"images": {"agent": np.zeros((128, 128, 3), np.uint8)}}, "image 'wrist' is missing"),
        ({"images": {name: np.zeros((64, 64, 3), np.uint8) for name in ("agent", "wrist")}}, "128x128"),
        ({"state": None}, "8 numbers"),
        ({"state": np.zeros(7)}, "8 numbers"),
    ],
)
def test_what_it_cannot_use_is_said(changed: dict[str, Any], words: str) -> None:
    policy = InProcessPolicy(load_target(TARGET, PredictModelServer, {}))
    (seen,) = observations(1)
    given = {"images": seen.images, "instruction": seen.instruction, "state": seen.state, **changed}
    with pytest.raises(PredictError, match=words):
        policy.predict(Observation(**given))


def test_other_weights_are_another_policy(tmp_path: Path) -> None:
    bundled = load_target(TARGET, PredictModelServer, {}).spec.identity
    copy = tmp_path / "other.onnx"
    copy.write_bytes((SCRIPTS / "weights" / "mini_vla.onnx").read_bytes() + b"\x00")
    other = load_target(TARGET, PredictModelServer, {"weights": str(copy)}).spec.identity
    assert bundled.weights_digest != other.weights_digest
    assert bundled.script_digest == other.script_digest


def test_the_weak_sibling_is_another_policy_of_the_same_kind(model: Any) -> None:
    weak = load_target(f"{SCRIPTS / 'mini_vla_weak.py'}:MiniVlaWeak", PredictModelServer, {})
    weak.load()
    assert weak.spec.identity.name == "mini-vla-weak"
    assert weak.spec.identity.weights_digest != model.spec.identity.weights_digest
    assert (weak.spec.state, weak.spec.action, weak.spec.chunk) == (model.spec.state, model.spec.action, 10)
    assert np.abs(ask(weak, observations(2)) - ask(model, observations(2))).max() > 1e-3


def test_weights_name_no_folder_of_whoever_trained_them() -> None:
    for file in (SCRIPTS / "weights").glob("*.onnx"):
        assert not re.search(rb"/(?:home|root|tmp|Users)/|site-packages", file.read_bytes()), file.name


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"nowhere\.onnx"):
        load_target(TARGET, PredictModelServer, {"weights": str(tmp_path / "nowhere.onnx")})
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a network")
    model = load_target(TARGET, PredictModelServer, {"weights": str(broken)})
    with pytest.raises(PluginError, match=r"broken\.onnx holds no weights"):
        model.load()


def test_weights_fit_the_repository() -> None:
    files = list((SCRIPTS / "weights").glob("*.onnx"))
    assert files
    assert sum(file.stat().st_size for file in files) <= 8_000_000


def test_it_does_what_it_is_told(tmp_path: Path) -> None:
    """In the ordinary run, on starts that training never saw."""
    run = vlassess.run("tabletop", "mini-vla", output=tmp_path, suites=["pick"], episodes=3)
    (policy,) = run.summary().policies
    assert policy.overall.rate.n == 9
    assert policy.overall.counts.success >= 7, json.dumps(policy.overall.counts.model_dump())
