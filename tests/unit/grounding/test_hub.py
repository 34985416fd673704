"""GSM8K from the hub, read by the hub's own library; a folder that is laid out like its repository stands for it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest

from vlassess.config import config_of
from vlassess.grounding.questions import QuestionError, hub_gsm8k, read_gsm8k
from vlassess.grounding.suites import course
from vlassess.schema.grounding import GroundingConfig

DATA = Path(__file__).parents[4] / "shared" / "data" / "gsm8k_test.jsonl"
CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train.jsonl}
  - {split: test, path: main/test.jsonl}
---
"""


def rows(first: int, last: int) -> list[str]:
    return [
        json.dumps(
            {
                "question": f"Ann has {n} eggs and buys {n} more. How many?",
                "answer": f"<<{n}+{n}={2 * n}>> #### {2 * n}",
            }
        )
        for n in range(first, last)
    ]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a repository with 30 questions for training, 20 for tests and 3 in both; nothing is fetched."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    folder = tmp_path / "gsm8k"
    (folder / "main").mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    (folder / "main" / "train.jsonl").write_text("\n".join(rows(10, 40)))
    (folder / "main" / "test.jsonl").write_text("\n".join(rows(37, 57)))
    yield folder
    datasets.enable_progress_bars()


def test_the_hubs_splits_are_the_halves(hub: Path) -> None:
    train, evaluation = hub_gsm8k(str(hub), "train"), hub_gsm8k(str(hub), "evaluation")
    assert (len(train.questions), len(evaluation.questions)) == (30, 20)
    assert (train.questions[0].answer, evaluation.questions[0].answer) == ("20", "74")
    source = f"hub:{hub}"
    asks = {
        half: {each.key for each in course("hardmath", GroundingConfig(split=half, hardmath=source), 0, 99).questions}
        for half in ("train", "evaluation")
    }
    assert (len(asks["train"]), len(asks["evaluation"])) == (30, 17)
    assert not asks["train"] & asks["evaluation"]


@pytest.mark.skipif(not DATA.exists(), reason="the files of questions are not here: ../shared/data")
def test_the_hub_and_the_file_give_the_same_questions(hub: Path) -> None:
    (hub / "main" / "test.jsonl").write_bytes(DATA.read_bytes())
    assert hub_gsm8k(str(hub), "evaluation").questions == read_gsm8k(DATA).questions


def test_what_is_not_there_is_said(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QuestionError, match=r"hub:.*no-such cannot be loaded .*give a JSONL file"):
        hub_gsm8k(str(hub / "no-such"), "train")
    (hub / "README.md").write_text(CARD.replace("main\n", "other\n"))
    with pytest.raises(QuestionError, match="the configuration 'main' and the split 'train'"):
        hub_gsm8k(str(hub), "train")
    with pytest.raises(QuestionError, match="only GSM8K, which is for hardmath"):
        course("general", GroundingConfig(general="hub:cais/mmlu"), 0, 9)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "datasets" else found(name))
    with pytest.raises(QuestionError, match=r"install `vlassess\[hub\]`"):
        hub_gsm8k("", "train")


def test_a_config_keeps_what_is_no_file() -> None:
    found = config_of(
        {
            "benchmark": "tabletop-answers-v1",
            "policies": ["do-nothing"],
            "grounding": {"hardmath": "hub:", "general": {"train": "some.csv", "evaluation": "hub:x"}},
        }
    )
    assert found.grounding is not None
    assert found.grounding.hardmath == "hub:"
    general = found.grounding.general
    assert not isinstance(general, str | None)
    assert Path(general.train or "").is_absolute()
    assert general.evaluation == "hub:x"
