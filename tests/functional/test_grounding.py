"""Runs of grounding suites from the command's side: scores, what a policy says beside what it does, resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlassess.catalog import Catalog
from vlassess.config import config_of, load_config
from vlassess.pipeline import resume, start, summarise_run
from vlassess.pipeline.probing import FILE, said
from vlassess.records import RunDirectory
from vlassess.schema.events import SilentListener

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
    (found.run_dir / "episodes.jsonl").write_bytes(b"".join(lines[:-1]))
    (found.run_dir / FILE).write_bytes(b"".join(kept.splitlines(keepends=True)[:-1]))
    again = resume(found.run_dir, None, Catalog.discover(), SilentListener())
    assert again.complete
    assert len(said(found.run_dir)) == 3
    assert (found.run_dir / FILE).read_bytes() == kept


def test_calibration_policies_come_out_as_what_they_are(tmp_path: Path) -> None:
    overrides = ["episodes=12", f"output={tmp_path / 'runs'}", "policies={oracle: oracle, nearest: nearest}"]
    found = start(load_config("rsb-quick", overrides), Catalog.discover(), SilentListener())
    oracle, nearest = (policy.grounding[0] for policy in found.summary.policies)
    assert (oracle.gsr.times, oracle.choice.times, oracle.tsr_place.times, oracle.nsg) == (12, 12, 12, 1.0)
    assert oracle.verdict == "above chance"
    assert nearest.bias is not None
    assert nearest.bias.startswith("takes the nearest candidate in 100% of its grasps")
    assert summarise_run(RunDirectory.open(found.run_dir)) == found.summary
