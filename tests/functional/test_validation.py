"""Campaigns from end to end: verdicts that replay, a kill that changes nothing, certificates that cannot be bent."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlassess.campaign import BUNDLED_CAMPAIGNS, PATHS, CampaignConfig, RegionRecord
from vlassess.campaign.events import SilentWatcher
from vlassess.campaign.papers import Paper, read_paper
from vlassess.catalog import Catalog
from vlassess.config import load_model
from vlassess.execution import ServerStartError
from vlassess.pipeline.validating import Validated, resume_campaign, start_campaign
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.pipeline.verifying import verify
from vlassess.robustness import Adversarial
from vlassess.robustness.certificates import certify
from vlassess.schema.config import Deadlines
from vlassess_link.errors import ContractError, InfrastructureFault

POLICIES = Path(__file__).with_name("validation_policy.py")
CATALOG = Catalog({}, {})


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of three observations of smooth pictures."""
    rng = np.random.default_rng(5)
    coarse = rng.uniform(20, 235, (3, 2, 4, 4, 3))
    smooth = np.kron(coarse, np.ones((1, 1, 6, 6, 1))).round().astype(np.uint8)
    path = tmp_path_factory.mktemp("pictures") / "three.npz"
    np.savez(path, images_front=smooth[:, 0], images_wrist=smooth[:, 1], state=np.zeros((3, 2)))
    return path


def config_of(pictures: Path, output: Path, policy: str = "Looking", **changes: Any) -> CampaignConfig:
    values: dict[str, Any] = {
        "name": "small",
        "policies": {"it": {"local": f"{POLICIES}:{policy}"}},
        "observations": {"npz": str(pictures)},
        "families": [
            {"family": "brightness", "radii": [0.02, 0.1, 0.4]},
            {"family": "dual-rotation", "radii": [1.0, 8.0, 40.0]},
            {"family": "composition", "radii": [[0.02, 1.0], [0.1, 8.0], [0.4, 40.0]]},
        ],
        "specification": {"tolerances": {"position": 0.2, "rotation": 0.2}},
        "solver": {"method": "h2v-c", "batch": 8, "budget": 200, "cover": 0.02},
        "draws": 32,
        "output": str(output),
        **changes,
    }
    return CampaignConfig.model_validate(values)


@pytest.fixture(scope="module")
def whole(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Validated:
    return start_campaign(config_of(pictures, tmp_path_factory.mktemp("whole")), CATALOG, SilentWatcher())


def outcome(folder: Path) -> dict[str, RegionRecord]:
    return {key: replace(record, seconds=0.0) for key, record in CampaignDirectory.open(folder).latest().items()}


def papers(folder: Path) -> dict[str, list[tuple[Path, Paper]]]:
    found: dict[str, list[tuple[Path, Paper]]] = {}
    for path in sorted((folder / "certificates").glob("*.json")):
        paper = read_paper(path)
        assert paper.run.verdict is not None
        found.setdefault(paper.run.verdict.kind, []).append((path, paper))
    return found


def test_a_campaign_comes_to_all_three_verdicts_and_shows_them(whole: Validated) -> None:
    assert whole.exit_code == 0
    assert whole.summary.complete
    assert whole.summary.regions == 27
    (policy,) = whole.summary.policies
    verdicts = {
        name: sum(getattr(row, name) for family in policy.families for row in family.rows)
        for name in ("robust", "adversarial", "unknown")
    }
    assert min(verdicts.values()) > 0, verdicts
    page = (whole.folder / "report.html").read_text(encoding="utf-8")
    assert "conditional on the estimated Hölder constants" in page
    assert policy.gallery
    assert policy.gallery[0].title in page.replace("&#39;", "'")
    assert policy.draws[0].wrong > policy.draws[-1].wrong
    assert not any(family.withdrawn for family in policy.families)


@pytest.mark.parametrize("kind", ["robust", "adversarial", "unknown"])
def test_a_certificate_holds_and_one_altered_number_breaks_it(whole: Validated, kind: str) -> None:
    path, paper = papers(whole.folder)[kind][-1]
    found = verify(path, None, CATALOG)
    assert (found.problems, found.verdict, found.asked) == ((), kind, len(paper.run.values))
    told = json.loads(path.read_text(encoding="utf-8"))
    told["run"]["values"][-1][0] += 1e-6
    bent = path.with_name("bent.json")
    bent.write_text(json.dumps(told), encoding="utf-8")
    assert any("altered" in problem for problem in verify(bent, None, CATALOG).problems)
    bent.unlink()


def test_a_forged_certificate_is_found_out_by_asking_again(whole: Validated) -> None:
    path, paper = papers(whole.folder)["adversarial"][-1]
    verdict = paper.run.verdict
    assert isinstance(verdict, Adversarial)
    worse = tuple(value - 0.01 for value in verdict.values)
    values = list(paper.run.values)
    values[verdict.query] = worse
    forged = dataclasses.replace(verdict, value=min(worse), values=worse)
    run = certify(dataclasses.replace(paper.run, values=tuple(values), verdict=forged))
    dataclasses.replace(paper, run=run).signed().write(whole.folder)
    problems = verify(path, None, CATALOG).problems
    paper.write(whole.folder)
    assert any("otherwise than the certificate says" in problem for problem in problems)
    assert verify(path, None, CATALOG).problems == ()


def test_every_counterexample_replays_alone(whole: Validated) -> None:
    records = outcome(whole.folder).values()
    own = [record for record in records if record.verdict == "adversarial" and record.how == "run"]
    assert own
    assert all(record.numbers["replayed"] < 0 for record in own)


def test_bisection_asks_less_and_says_the_same_as_all_radii(whole: Validated, pictures: Path, tmp_path: Path) -> None:
    every = start_campaign(config_of(pictures, tmp_path, all_radii=True), CATALOG, SilentWatcher())
    assert every.summary.queries > 1.3 * whole.summary.queries
    for key, record in outcome(every.folder).items():
        inferred = outcome(whole.folder)[key]
        assert "unknown" in (record.verdict, inferred.verdict) or record.verdict == inferred.verdict
        assert record.how == "run"


def test_a_killed_campaign_resumes_to_the_same_result(whole: Validated, pictures: Path, tmp_path: Path) -> None:
    config = config_of(pictures, tmp_path, "Mortal")
    code = (
        "import sys; from vlassess.campaign import CampaignConfig; from vlassess.campaign.events import SilentWatcher\n"
        "from vlassess.catalog import Catalog; from vlassess.pipeline.validating import start_campaign\n"
        "start_campaign(CampaignConfig.model_validate_json(sys.argv[1]), Catalog({}, {}), SilentWatcher())"
    )
    command = [sys.executable, "-c", code, config.model_dump_json()]
    killed = subprocess.run(command, env={**os.environ, "LIVES": "900"}, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert 0 < len(CampaignDirectory.open(folder).latest()) < 27
    resumed = resume_campaign(folder, CATALOG, SilentWatcher())
    assert resumed.exit_code == 0
    ours, theirs = outcome(folder), outcome(whole.folder)
    assert ours == theirs


def test_rounded_pictures_are_said_to_be(pictures: Path, tmp_path: Path) -> None:
    families = [{"family": "brightness", "radii": [0.1]}]
    found = start_campaign(config_of(pictures, tmp_path, "Rounded", families=families), CATALOG, SilentWatcher())
    (policy,) = found.summary.policies
    assert any(note.startswith("quantised") for note in policy.notes)
    assert "whole grey levels" in policy.claim


@pytest.mark.parametrize(("policy", "words"), [("Restless", "in two ways"), ("Crowded", "in a batch of")])
def test_a_policy_that_is_not_the_same_twice_is_refused(
    pictures: Path, tmp_path: Path, policy: str, words: str
) -> None:
    with pytest.raises(ContractError, match=words):
        start_campaign(config_of(pictures, tmp_path, policy), CATALOG, SilentWatcher())
    assert list(tmp_path.iterdir()) == []


def test_another_policy_is_no_resumption(whole: Validated) -> None:
    manifest = whole.folder / "campaign.json"
    text = manifest.read_text(encoding="utf-8")
    told = json.loads(text)
    told["config"]["policies"]["it"]["params"] = {"seed": 4}
    manifest.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ContractError, match="no longer the one"):
        resume_campaign(whole.folder, CATALOG, SilentWatcher())
    manifest.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "words"), [("raises", "it is too dark"), ("nan", "nan in component 2"), ("short", "the clean one (7,)")]
)
def test_a_picture_without_a_valid_answer_is_a_counterexample(
    pictures: Path, tmp_path: Path, how: str, words: str
) -> None:
    policy = {"it": {"local": f"{POLICIES}:Flickering", "params": {"how": how}}}
    families = [{"family": "brightness", "radii": [0.01, 0.4]}]
    found = start_campaign(config_of(pictures, tmp_path, policies=policy, families=families), CATALOG, SilentWatcher())
    records = [record for record in outcome(found.folder).values() if record.verdict == "adversarial"]
    silent = [record for record in records if record.reason]
    assert any(words in record.reason for record in silent)
    assert all(record.answer == () and record.numbers["replayed"] == -1.0 for record in silent)
    (summary,) = found.summary.policies
    assert any("without an answer" in note for note in summary.notes)
    path = found.folder / "certificates" / f"{silent[0].item_id}.json"
    assert verify(path, None, CATALOG).problems == ()


@pytest.mark.parametrize("how", ["raises", "nan"])
def test_a_clean_picture_without_a_valid_answer_is_refused(pictures: Path, tmp_path: Path, how: str) -> None:
    policy = {"it": {"local": f"{POLICIES}:Flickering", "params": {"how": how, "below": 256.0}}}
    with pytest.raises(ContractError, match="'it' has no valid answer to the clean observation"):
        start_campaign(config_of(pictures, tmp_path, policies=policy), CATALOG, SilentWatcher())


@pytest.mark.parametrize("times", [1, 10])
def test_a_server_that_ends_is_started_again_a_few_times(
    whole: Validated, pictures: Path, tmp_path: Path, times: int
) -> None:
    ends = tmp_path / "ends"
    ends.mkdir()
    policy = {"it": {"serve": f"{POLICIES}:Falling", "params": {"ends": str(ends), "times": times, "answers": 60}}}
    families = [{"family": "brightness", "radii": [0.02, 0.1, 0.4]}]
    config = config_of(pictures, tmp_path / "out", policies=policy, families=families)
    if times > 3:
        hasty = config.model_copy(update={"deadlines": Deadlines(connect=3.0)})
        with pytest.raises((ServerStartError, InfrastructureFault)):
            start_campaign(hasty, CATALOG, SilentWatcher())
        return
    ours = outcome(start_campaign(config, CATALOG, SilentWatcher()).folder)
    assert len(list(ends.iterdir())) == times
    assert ours == {key: record for key, record in outcome(whole.folder).items() if key in ours}


@pytest.mark.parametrize("name", BUNDLED_CAMPAIGNS)
def test_bundled_campaigns_can_be_read(name: str) -> None:
    assert load_model(CampaignConfig, name, [], BUNDLED_CAMPAIGNS, PATHS).name == name
