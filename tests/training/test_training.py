"""A training from nothing to a policy: small, but every step of the real one. Needs PyTorch."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlassess.training.places import WEIGHTS
from vlassess.training.progress import Reporter
from vlassess.training.recipe import Recipe, Round
from vlassess_link.data import Observation
from vlassess_link.errors import ContractError

NEEDS = "NO PYTORCH: `make test-train` installs it and tests the training"
torch = pytest.importorskip("torch", reason=NEEDS)
pytest.importorskip("onnx", reason=NEEDS)
controls: Any = pytest.importorskip("vlassess.training.controls")
courses: Any = pytest.importorskip("vlassess.training.course")
exporting: Any = pytest.importorskip("vlassess.training.export")
fitting: Any = pytest.importorskip("vlassess.training.fit")
networks: Any = pytest.importorskip("vlassess.training.network")
policies: Any = pytest.importorskip("vlassess.training.policy")
shots: Any = pytest.importorskip("vlassess.training.fewshot")

# What PyTorch's exporter says of itself.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]

SMALL = Recipe("small", ("pick",), (Round(6, 20), Round(4, 12)), batch=16, measured=3)


class StopError(Exception):
    """Stands for whatever ends a training."""


def course(folder: Path, recipe: Recipe = SMALL) -> Any:
    return courses.Course(recipe, folder, 1, Reporter(io.StringIO()))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights: Path = course(tmp_path_factory.mktemp("trained") / "whole").run()
    return weights


def answers(weights: Path) -> np.ndarray:
    model = policies.open_policy(weights)
    rng = np.random.default_rng(1)
    return np.stack([model.query([seen(rng)], 0)[0].actions for _ in range(4)])


def seen(rng: np.random.Generator) -> Observation:
    images = {name: rng.integers(0, 256, (128, 128, 3)).astype(np.uint8) for name in ("agent", "wrist")}
    return Observation(images, "pick up the red block", rng.normal(0.2, 0.1, 8))


def test_a_training_that_was_ended_goes_on_to_the_same_policy(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = fitting.Learner.learn

    def ends(self: Any, source: Any) -> Any:
        if self.step == 27:
            raise StopError
        return learn(self, source)

    monkeypatch.setattr(courses, "STEPS_A_CHECKPOINT", 5)
    with monkeypatch.context() as patched:
        patched.setattr(fitting.Learner, "learn", ends)
        with pytest.raises(StopError):
            course(tmp_path / "ended").run()
    going_on = course(tmp_path / "ended").run()
    assert np.array_equal(answers(going_on), answers(trained))


def test_what_is_exported_answers_like_the_network(trained: Path) -> None:
    network, stored = exporting.restore(trained)
    words = policies.stored_words(stored)
    answering = exporting.Answering(network).eval()
    rng = np.random.default_rng(2)
    observation = seen(rng)
    pictures = [
        torch.from_numpy(4.0 * observation.images[name].reshape(64, 2, 64, 2, 3).mean((1, 3), np.float32))
        .permute(2, 0, 1)[None]
        .contiguous()
        for name in ("agent", "wrist")
    ]
    state = torch.from_numpy(np.asarray(observation.state, np.float32))[None]
    with torch.no_grad():
        wanted = answering(*pictures, state, torch.from_numpy(words(observation.instruction))[None]).numpy()[0]
    (found,) = policies.open_policy(trained).query([observation], 0)
    assert np.abs(found.actions - wanted).max() < 1e-5


def test_restoring_loses_nothing(trained: Path, tmp_path: Path) -> None:
    network, stored = exporting.restore(trained)
    exporting.export(network, tmp_path / "again.onnx", policies.stored_words(stored))
    assert np.array_equal(answers(trained), answers(tmp_path / "again.onnx"))


def test_learning_lowers_every_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames of one episode can be learned by heart."""
    recipe = Recipe("heart", ("pick",), (Round(1, 60),), batch=32)
    losses: list[Any] = []
    learn = fitting.Learner.learn

    def watched(self: Any, source: Any) -> Any:
        losses.append(learn(self, source))
        return losses[-1]

    monkeypatch.setattr(fitting.Learner, "learn", watched)
    course(tmp_path, recipe).run()
    for name in ("moves", "gripper", "places"):
        early, late = (np.mean([getattr(loss, name) for loss in part]) for part in (losses[:5], losses[-5:]))
        assert late < 0.7 * early, name


def test_another_recipe_is_refused(trained: Path) -> None:
    with pytest.raises(ContractError, match="another recipe"):
        course(trained.parent, Recipe("small", ("pick",), (Round(6, 20), Round(4, 13)), batch=16))


def test_words_are_read() -> None:
    """Two instructions, one picture: what the text encoder says differs, and padding says nothing."""
    encoder = networks.TextEncoder(20, 16).eval()
    one, other = torch.tensor([[1, 2, 3, 0, 0]]), torch.tensor([[3, 2, 1, 0, 0]])
    longer = torch.tensor([[1, 2, 3, 0, 0, 0, 0]])
    with torch.no_grad():
        assert (encoder(one) - encoder(other)).abs().max() > 1e-4
        assert torch.allclose(encoder(one), encoder(longer), atol=1e-6)


def test_questions_are_learned_from_weights_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step of `make train-rsb`, small."""
    recipe = Recipe("small-rsb", ("rsb-math-4",), (Round(3, 4),), batch=16, measured=1, length=48, begins="mini_vla")
    weights: Path = course(tmp_path, recipe).run()
    network, stored = exporting.restore(weights)
    assert network.shape.length == stored["length"] == 48
    assert {"a", "b", "c", "d", "plus"} <= set(stored["known"])
    before, old = exporting.restore(WEIGHTS)
    for word in ("block", "place"):
        rows = [
            one.text.embedding.weight[1 + known.index(word)]
            for one, known in ((network, stored["known"]), (before, old["known"]))
        ]
        assert (rows[0] - rows[1]).abs().max() < 0.02, "what it knew it still knows after four steps"

    monkeypatch.setattr(controls, "CONTROLS", ("none", "direct"))
    said = io.StringIO()
    found = controls.measure_controls(weights, "rsb-math-4", 1, tmp_path / "runs", Reporter(said))
    assert [(one.control, one.episodes) for one in found.values()] == [("none", 1), ("direct", 1)]
    kept = sorted(path.name for path in (tmp_path / "runs").iterdir())
    again = controls.measure_controls(weights, "rsb-math-4", 1, tmp_path / "runs", Reporter(said))
    assert again == found
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == kept, "what is measured is not run again"
    assert json.loads(weights.with_suffix(".measured.json").read_text())["direct"]["episodes"] == 1


@pytest.mark.parametrize("method", shots.METHODS)
def test_few_shots_change_what_they_may(trained: Path, tmp_path: Path, method: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(shots, "REPLAYED", 2)
    wanted = shots.FewShot({"object_category": "mug"}, 2, method, steps=6)
    out = shots.teach(trained, wanted, tmp_path / "taught.onnx", Reporter(io.StringIO()))
    before, after = exporting.restore(trained)[0].state_dict(), exporting.restore(out)[0].state_dict()
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])} - {"place"}
    assert changed == ({"mix", "think", "decide", "act"} if method == "head" else set(dict(_parts())))
    assert not np.array_equal(answers(trained), answers(out))


def _parts() -> Any:
    shape = networks.Shape(4)
    return [(name, part) for name, part in networks.MiniVlaNetwork(shape).named_children() if name != "place"]


def test_wrong_requests_are_named(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="method is 'all'"):
        shots.FewShot({"object_category": "mug"}, 2, "all")
    with pytest.raises(ContractError, match="at least 1"):
        shots.FewShot({"object_category": "mug"}, 0)
    with pytest.raises(ContractError, match="has no level 'teapot'"):
        shots.teach(
            trained, shots.FewShot({"object_category": "teapot"}, 2), tmp_path / "x.onnx", Reporter(io.StringIO())
        )
    with pytest.raises(ContractError, match="cannot be read"):
        shots.teach(
            tmp_path / "none.onnx",
            shots.FewShot({"object_category": "mug"}, 2),
            tmp_path / "x.onnx",
            Reporter(io.StringIO()),
        )


def test_the_bundled_weights_can_be_taught_further() -> None:
    network, stored = exporting.restore(WEIGHTS)
    assert network.shape.words == policies.stored_words(stored).size
    assert sum(weight.numel() for weight in network.parameters()) <= 2_000_000
