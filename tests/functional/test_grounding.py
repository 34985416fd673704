"""Runs of grounding suites from the command's side: scores, what a policy says beside what it does, resume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import vlassess
from tests.functional.knows_policy import Knows
from vlassess.catalog import Catalog
from vlassess.config import config_of, load_config
from vlassess.pipeline import merge, resume, start, summarise_run
from vlassess.pipeline.parts import Asked
from vlassess.pipeline.probing import FILE, said
from vlassess.records import RunDirectory, RunDirectoryError
from vlassess.schema.events import SilentListener
from vlassess.sharding import Shard

pytestmark = pytest.mark.timeout(300)
KNOWS = Path(__file__).parent / "knows_policy.py"


def test_what_a_policy_says_stands_beside_what_it_does(tmp_path: Path) -> None:
    config = config_of(
        {
            "name": "says",
            "benchmark": "tabletop-answers-v1",
            "suites": ["rsb-math-4"],
            "episodes": 3,
            "step_limit": 2,
            "policies": {"knows": f"{KNOWS}:Knows"},
            "output": str(tmp_path / "runs"),
            "execution": {"workers": 1},
        }
    )
    found = start(config, Catalog.discover(), SilentListener())
    (suite,) = found.summary.policies[0].grounding
    assert suite.language is not None
    assert suite.said is not None
    assert (suite.language.times, suite.language.n, suite.said.times) == (3, 3, 3)
    assert (suite.gsr.times, suite.nsg, suite.language_gap) == (0, None, None)
    assert [error.kind for error in suite.errors] == ["no grasp"]
    assert "asked without a robot, it answers 3 of 3" in (found.run_dir / "report.html").read_text(encoding="utf-8")

    # What was said is kept, and asked again only where it is missing.
    kept = (found.run_dir / FILE).read_bytes()
    lines = (found.run_dir / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    for episodes in (lines[:-1], lines):
        (found.run_dir / "episodes.jsonl").write_bytes(b"".join(episodes))
        (found.run_dir / FILE).write_bytes(b"".join(kept.splitlines(keepends=True)[:-1]) + b'{"torn')
        again = resume(found.run_dir, None, Catalog.discover(), SilentListener())
        assert again.complete
        assert len(said(found.run_dir)) == 3
        assert (found.run_dir / FILE).read_bytes() == kept


class Broken(Knows):
    """Knows one answer in two."""

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Fail at what is not a sum."""
        assert "plus" in question, "no sum"
        return super().answer(question, options)


def asking(**fields: Any) -> dict[str, Any]:
    return {
        "name": "asked",
        "benchmark": "tabletop-answers-single-v1",
        "suites": ["rsb-math-4"],
        "episodes": 4,
        "step_limit": 1,
        "execution": {"workers": 1},
        **{name: str(value) if isinstance(value, Path) else value for name, value in fields.items()},
    }


def test_a_policy_in_the_workers_interpreter_is_asked_too(tmp_path: Path) -> None:
    policies = {
        "knows": {"local": f"{KNOWS}:Knows"},
        "broken": {"local": f"{Path(__file__)}:Broken"},
    }
    found = start(config_of(asking(output=tmp_path / "runs", policies=policies)), Catalog.discover(), SilentListener())
    suites = {policy.label: policy.grounding[0] for policy in found.summary.policies}
    knows, broken = suites["knows"].language, suites["broken"].language
    assert knows is not None
    assert broken is not None
    assert (knows.times, knows.n, broken.n) == (4, 4, 4)
    sums = sum("plus" in str(item.episode.private["question"]) for item in RunDirectory.open(found.run_dir).items())
    assert broken.times == sums // len(policies)
    assert 0 < broken.times < 4


def test_a_run_that_leaves_no_file_asks_as_well() -> None:
    run = vlassess.run(asking(), policy=Knows(), episodes=3)
    (suite,) = run.summary().policies[0].grounding
    assert run.run_dir is None
    assert suite.language is not None
    assert (suite.language.times, suite.language.n) == (3, 3)


def test_what_was_said_in_shards_is_merged(tmp_path: Path) -> None:
    config = config_of(asking(output=tmp_path / "runs", policies={"knows": {"local": f"{KNOWS}:Knows"}}))
    shards = [
        start(config, Catalog.discover(), SilentListener(), asked=Asked(shard=Shard(number, 2))).run_dir
        for number in (1, 2)
    ]
    whole = merge(shards, tmp_path / "whole")
    (suite,) = whole.result.summary.policies[0].grounding
    assert suite.language is not None
    assert (suite.language.times, suite.language.n) == (4, 4)
    assert said(tmp_path / "whole") == {**said(shards[0]), **said(shards[1])}
    assert not whole.notes

    # Of one item that was asked twice, the first run's answer counts, and that is said.
    lines = (shards[0] / FILE).read_text().splitlines()
    other = json.loads(lines[0])
    other["choice"] = "" if other["choice"] else "A"
    with (shards[1] / FILE).open("a") as file:
        file.write(json.dumps(other) + "\n")
    again = merge(shards, tmp_path / "again")
    assert said(tmp_path / "again") == said(tmp_path / "whole")
    assert again.notes == ("1 questions were answered differently in two runs; the first run's answers count",)


def test_calibration_policies_come_out_as_what_they_are(tmp_path: Path) -> None:
    overrides = ["episodes=12", f"output={tmp_path / 'runs'}", "policies={oracle: oracle, nearest: nearest}"]
    found = start(load_config("rsb-quick", overrides), Catalog.discover(), SilentListener())
    oracle, nearest = (policy.grounding[0] for policy in found.summary.policies)
    assert (oracle.gsr.times, oracle.choice.times, oracle.tsr_place.times, oracle.nsg) == (12, 12, 12, 1.0)
    assert oracle.verdict == "above chance"
    assert nearest.bias is not None
    assert nearest.bias.startswith("takes the nearest candidate in 100% of its grasps")
    assert summarise_run(RunDirectory.open(found.run_dir)) == found.summary


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"item_id": "a", "choice": "b", "schema": 2}, "has schema 2; this vlassess reads up to 1"),
        ({"item_id": "a"}, "is no answer"),
        ([1], "is no answer"),
    ],
)
def test_a_file_of_answers_that_is_none_is_named(tmp_path: Path, line: object, words: str) -> None:
    (tmp_path / FILE).write_text(json.dumps(line) + "\n")
    with pytest.raises(RunDirectoryError, match=words):
        said(tmp_path)
