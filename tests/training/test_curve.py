"""The checkpoints of a study: which there are, that each is trained once, and what is written of the demonstrations."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from vlassess.catalog import Catalog
from vlassess.config import load_model
from vlassess.pipeline.transfer import plan_study
from vlassess.schema.study import StudyConfig
from vlassess.training.progress import Reporter
from vlassess.transfer import BUNDLED_STUDIES, PATHS
from vlassess_link.errors import ContractError

NEEDS = "the training needs PyTorch; make test-train"
pytest.importorskip("torch", reason=NEEDS)
pytest.importorskip("onnx", reason=NEEDS)
curve: Any = pytest.importorskip("vlassess.training.curve")


class Taught:
    """Writes a file instead of training; keeps what was asked for; dies at a checkpoint if it is told to."""

    def __init__(self, dies_at: str = "") -> None:
        self.asked: list[str] = []
        self._dies_at = dies_at

    def __call__(self, weights: Path, wanted: Any, out: Path, reporter: Reporter) -> Path:
        """Write the file."""
        if out.name == self._dies_at:
            raise KeyboardInterrupt
        self.asked.append(out.name)
        out.write_text("weights", encoding="utf-8")
        return out


def quiet() -> Reporter:
    return Reporter(io.StringIO())


def course(folder: Path) -> Any:
    where = [f"few_shot.folder={folder}", f"few_shot.demonstrations.records={folder}/demonstrations.json"]
    return curve.course_of("tabletop", where, print)


def test_a_study_says_what_has_to_be_trained(tmp_path: Path) -> None:
    found = course(tmp_path)
    assert found.factor == {"object_category": "card"}
    assert [lesson.out.name for lesson in found.lessons[:2]] == ["full-2.onnx", "full-5.onnx"]
    assert len(found.lessons) == 15


def test_what_is_trained_is_not_trained_again_until_something_changes(tmp_path: Path) -> None:
    first = Taught(dies_at="head-2.onnx")
    with pytest.raises(KeyboardInterrupt):
        curve.train_curve(course(tmp_path), quiet(), first)
    second = Taught()
    curve.train_curve(course(tmp_path), quiet(), second)
    assert len(first.asked) == 5
    assert second.asked[0] == "head-2.onnx"
    assert len(second.asked) == 10
    third = Taught()
    curve.train_curve(course(tmp_path), quiet(), third)
    assert third.asked == []
    (tmp_path / "full-5.json").write_text('{"key": "of something else"}', encoding="utf-8")
    curve.train_curve(course(tmp_path), quiet(), third)
    assert third.asked == ["full-5.onnx"]


def test_what_was_demonstrated_is_none_of_what_is_evaluated(tmp_path: Path) -> None:
    curve.train_curve(course(tmp_path), quiet(), Taught())
    told = json.loads((tmp_path / "demonstrations.json").read_text(encoding="utf-8"))
    assert len(told["starts"]) == 50 + 120
    where = [f"few_shot.folder={tmp_path}", f"few_shot.demonstrations.records={tmp_path}/demonstrations.json"]
    config = load_model(StudyConfig, "tabletop", where, BUNDLED_STUDIES, PATHS)
    checks = {check.rule: check.verdict for check in plan_study(config, Catalog.discover(), print).checks}
    assert checks["evaluation starts held out"] == "ok"


def test_a_study_without_a_curve_has_nothing_to_train() -> None:
    with pytest.raises(ContractError, match="no few_shot section"):
        curve.course_of("tabletop", ["few_shot=null", "retention=null"], print)
