"""Studies from end to end: locked, run, killed, resumed, amended, entered by hand, analysed; nothing is lost."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.config import ConfigError, load_model, override_model
from vlassess.pipeline.transfer import (
    Study,
    StudyError,
    amend_study,
    analyse,
    import_trials,
    lock_study,
    open_study,
    plan_study,
    progress_of,
    run_study,
    states_of,
    unblind,
    write_hand_sheet,
    write_study_report,
)
from vlassess.pipeline.transfer.analysis import checks_told
from vlassess.pipeline.transfer.trials import simulated_trials, trials_by_hand
from vlassess.records import RunDirectory, RunDirectoryError, RunLockedError
from vlassess.schema.config import BenchmarkSource
from vlassess.schema.events import SilentListener
from vlassess.schema.study import StudyConfig
from vlassess.transfer import PATHS
from vlassess_link.data import COMPARED

FACTORS = Path(__file__).parents[1] / "factors.py"
CATALOG = Catalog({}, {})
QUIET = SilentListener()


def values_of(**changes: Any) -> dict[str, Any]:
    """Return a study of two policies, of which one sees the front camera alone, on the benchmark of six factors."""
    sighted = f"{FACTORS}:Sighted"
    return {
        "name": "small",
        "benchmark": {"target": f"{FACTORS}:Factors"},
        "policies": {"both": {"local": sighted}, "front": {"local": sighted, "params": {"cameras": ["front"]}}},
        "cells": ["light=dark", "camera_pose=near", "start=far"],
        "starts": 4,
        "few_shot": {
            "policy": "both",
            "cell": "light=dark",
            "k": [1, 2],
            "methods": ["full"],
            "checkpoint": {"local": "vlassess_link.testing.fakes:FakePolicy", "params": {"chunk": "{k}"}},
        },
        "execution": {"workers": 1},
        **changes,
    }


def study_file(folder: Path, **changes: Any) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps(values_of(**changes)), encoding="utf-8")
    return path


def locked(folder: Path, **changes: Any) -> Study:
    config = load_model(StudyConfig, str(study_file(folder, output=str(folder / "studies"), **changes)), [], {}, PATHS)
    return lock_study(plan_study(config, CATALOG, print))


def amended(study: Study, *changes: str) -> Study:
    return amend_study(study.path, changes, "because", CATALOG, print).study


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Return a study that has been run."""
    study = locked(tmp_path_factory.mktemp("whole"), real={"starts": 2})
    ran = run_study(study, CATALOG, QUIET)
    assert (ran.exit_code, ran.problems) == (0, ())
    return study


def records_of(study: Study) -> dict[str, dict[str, object]]:
    """Return item id -> the compared fields of its final record, over all runs that count; each has exactly one."""
    found: dict[str, dict[str, object]] = {}
    for state in states_of(study):
        assert state.run is not None
        for record in state.run.records().records:
            if record.final:
                assert record.item_id not in found
                found[record.item_id] = {name: getattr(record, name) for name in COMPARED}
        assert {item.item_id for item in state.items} <= set(found)
    return found


def test_every_trial_is_one_of_its_role_and_the_numbers_are_those_of_the_runs(whole: Study) -> None:
    trials = simulated_trials(whole, states_of(whole))
    roles = {role: [trial for trial in trials if trial.role == role] for role in ("cell", "control", "few-shot")}
    assert [len(found) for found in roles.values()] == [24, 8, 12]
    found = analyse(whole).analysis.every
    (dark,) = [cell for cell in found.cells if (cell.policy, cell.cell) == ("both", "light=dark")]
    assert (dark.share.rate, dark.control_share.rate, dark.gap.pairs) == (0.0, 1.0, 4)
    (start,) = [cell for cell in found.cells if (cell.policy, cell.cell) == ("both", "start=far")]
    assert not start.gap.paired
    (curve,) = found.curves
    assert [point.k for point in curve.points] == [0, 1, 2]
    assert [point.share.n for point in curve.points] == [4, 4, 4]
    assert all(not ranking.supported for ranking in found.rankings)


def alter(study: Study, part: str, number: int) -> None:
    """Move the measured start of one control of a run, as a simulator does that ignores its seed."""
    (file,) = (study.path / "runs").glob(f"{part}-2*/episodes.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    line = [line for line in lines if not line["perturbation"]][number]
    line["initial_state"]["x"] = [line["initial_state"]["x"][0] + 1e-3]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_a_trial_that_began_elsewhere_is_in_no_pair_and_that_is_told(tmp_path: Path) -> None:
    few = {**values_of()["few_shot"], "k": [1]}
    study = locked(tmp_path, cells=["light=dark"], few_shot=few, retention={"suites": ["walk"]})
    assert run_study(study, CATALOG, QUIET).exit_code == 0
    found = analyse(study).analysis
    assert ([one.change.pairs for one in found.every.retention], found.every.curves[0].matched) == ([4], True)
    assert not [note for note in found.notes if "measured" in note]
    alter(study, "few-shot-full-1", 2)
    found = analyse(study).analysis
    (kept,) = found.every.retention
    assert (kept.change.pairs, kept.before.n, kept.after.n) == (3, 3, 3)
    told = [note for note in found.notes if "measured" in note or "refuted" in note]
    assert told[0].startswith("1 of 28 trials did not begin in the measured state of the others with their key")
    assert told[1:] == [
        "both, walk, full, K = 1: +0 points over 3 pairs, not shown; "
        "with the refuted pairs +0 points over 4 pairs, not shown."
    ]
    assert "in the measured state of the others" in write_study_report(study).read_text(encoding="utf-8")


def test_what_was_not_delivered_alone_is_in_no_finding_but_is_named(tmp_path: Path) -> None:
    study = locked(
        tmp_path, benchmark={"target": f"{FACTORS}:Factors", "params": {"broken": "moves_too"}}, few_shot=None
    )
    assert run_study(study, CATALOG, QUIET).exit_code == 5
    again = run_study(study, CATALOG, QUIET)
    assert (again.exit_code, dict(again.results)) == (5, {})
    assert any("cells: light=dark with both is invalid: " in problem for problem in again.problems)
    found = analyse(study)
    assert {line.cell for line in found.facts.audits if line.verdict == "violated"} == {"light=dark"}
    assert {cell.cell for cell in found.analysis.every.cells} == {"camera_pose=near", "start=far"}
    page = write_study_report(study).read_text(encoding="utf-8")
    assert "light=dark" in page


def test_numbers_are_kept_as_strict_json_and_the_report_is_one_page(whole: Study) -> None:
    analyse(whole)
    kept = json.loads((whole.path / "analysis.json").read_text(encoding="utf-8"))
    assert kept["facts"]["starts"] == 4
    page = write_study_report(whole).read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_study_that_is_complete_runs_nothing_again(whole: Study) -> None:
    before = sorted(path.name for path in (whole.path / "runs").iterdir())
    ran = run_study(whole, CATALOG, QUIET)
    assert (ran.exit_code, dict(ran.results)) == (0, {})
    assert sorted(path.name for path in (whole.path / "runs").iterdir()) == before


def test_an_amendment_is_kept_with_its_reason_and_what_was_run_is_not_run_again(tmp_path: Path) -> None:
    study = locked(tmp_path, few_shot=None)
    run_study(study, CATALOG, QUIET)
    before = records_of(study)
    grown = amended(study, "starts=6", "cells=[light=dark, camera_pose=near]")
    assert grown.lock != study.lock
    assert grown.amendments[0].reason == "because"
    assert run_study(grown, CATALOG, QUIET).exit_code == 0
    after = records_of(grown)
    shared = set(before) & set(after)
    assert len(shared) == 2 * 3 * 4
    assert all(after[item] == before[item] for item in shared)
    started = [
        record.started
        for state in states_of(grown)
        for record in (state.run.records().records if state.run is not None else ())
        if record.item_id in shared
    ]
    assert max(started) < grown.amendments[0].time
    # The old runs stay where they are.
    assert len(list((study.path / "runs").glob("cells-*"))) == 2


def test_a_policy_that_an_amendment_replaces_is_run_anew_and_the_others_are_not(tmp_path: Path) -> None:
    study = locked(tmp_path, few_shot=None)
    run_study(study, CATALOG, QUIET)
    other = amended(study, "policies.front={local: 'vlassess_link.testing.fakes:FakePolicy'}")
    (state,) = states_of(other)
    assert (state.run, state.finished) == (None, 0)
    assert run_study(other, CATALOG, QUIET).exit_code == 0
    assert set(records_of(other)) == set(records_of(study))
    moved = amended(other, "execution.workers=2")
    assert [state.complete for state in states_of(moved)] == [True]


@dataclass(frozen=True)
class Meanwhile(Catalog):
    """A catalog in which somebody else amends a study while the benchmark of an amendment is looked up."""

    path: Path

    def resolve_benchmark(self, source: BenchmarkSource) -> BenchmarkEntry:
        amend_study(self.path, ["alpha=0.02"], "at the same time", CATALOG, print)
        return super().resolve_benchmark(source)


def test_an_amendment_is_planned_under_the_lock(tmp_path: Path) -> None:
    study = locked(tmp_path, few_shot=None)
    with pytest.raises(RunLockedError, match="is being run by"):
        amend_study(study.path, ["benchmark.params.step_limit=9"], "longer", Meanwhile({}, {}, study.path), print)
    assert open_study(study.path).amendments == ()


def test_of_amendments_at_once_each_is_whole_or_refused(tmp_path: Path) -> None:
    study = locked(tmp_path, few_shot=None)

    def change(alpha: float) -> bool:
        try:
            amend_study(study.path, [f"alpha={alpha}"], "at once", CATALOG, print)
        except RunLockedError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        made = sum(pool.map(change, [0.01, 0.02, 0.03, 0.04]))
    found = open_study(study.path)
    assert 1 <= made == len(found.amendments)
    assert [one.number for one in found.amendments] == list(range(1, made + 1))


def test_what_is_done_is_counted_once_and_alike_everywhere(tmp_path: Path) -> None:
    hands = {"benchmark": None, "few_shot": None, "cells": ["object=mug"], "real": {"starts": 1}, "starts": 1}
    study = locked(tmp_path, **hands)
    filled = tmp_path / "filled.csv"
    first = study.by_hand[0]
    row = f"{first.policy},{first.cell},{first.start}"
    filled.write_text(f"trial,policy,cell,start,success\n1,{row},no\n1,{row},yes\n99,{row},yes\n", encoding="utf-8")
    entered = import_trials(study, filled)
    assert (entered.done, entered.planned) == (1, 4)
    opened = unblind(study)
    assert opened.events[-1].text.startswith("1 of 4 ")
    assert progress_of(opened, states_of(opened)).finished == 1
    assert amended(opened, "alpha=0.01").amendments[0].finished == 1
    found = analyse(open_study(study.path))
    assert (found.facts.by_hand_done, found.facts.by_hand, found.complete) == (1, 4, False)


@pytest.mark.parametrize("file", ["study.json", "amendments.jsonl", "key.json"])
def test_what_was_locked_cannot_be_changed_without_a_trace(tmp_path: Path, file: str) -> None:
    study = amended(locked(tmp_path, few_shot=None), "alpha=0.01")
    path = study.path / file
    old, new = {
        "study.json": ('"starts": 4', '"starts": 5'),
        "amendments.jsonl": ("because", "beCause"),
        "key.json": ('"both": "', '"both": "Z'),
    }[file]
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=r"not what|not the key"):
        open_study(study.path)


@pytest.mark.parametrize("file", ["plan.jsonl", "plan-1.jsonl"])
@pytest.mark.parametrize("field", ["policy", "cell", "start", "block"])
def test_a_trial_by_hand_cannot_be_swapped_for_another(tmp_path: Path, file: str, field: str) -> None:
    hands = {"benchmark": None, "few_shot": None, "cells": ["object=mug"], "real": {"starts": 2}, "starts": 2}
    study = amended(locked(tmp_path, **hands), "starts=3", "real.starts=3")
    path = study.path / file
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    other = next(line for line in lines if line[field] != lines[0][field])
    lines[0][field], other[field] = other[field], lines[0][field]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=rf"{file} is not what was locked; restore it"):
        open_study(study.path)


def test_the_trials_of_an_amendment_are_those_that_were_planned_when_it_was_made(tmp_path: Path) -> None:
    hands = {"benchmark": None, "few_shot": None, "cells": ["object=mug"], "real": {"starts": 2}, "starts": 2}
    study = locked(tmp_path, **hands)
    grown = amended(study, "real.starts=3")
    assert grown.by_hand[: len(study.by_hand)] == study.by_hand
    assert len(grown.by_hand) == 12
    assert grown.whole_trials_locked
    (study.path / "plan-1.jsonl").unlink()
    with pytest.raises(RunDirectoryError, match=r"plan-1\.jsonl is not what was locked"):
        open_study(study.path)


def test_a_study_of_the_first_schema_is_read_and_what_its_lock_does_not_hold_is_told(tmp_path: Path) -> None:
    folder = shutil.copytree(Path(__file__).parents[1] / "assets" / "study-schema-1", tmp_path / "old")
    study = open_study(folder)
    assert (len(study.by_hand), study.whole_trials_locked) == (18, False)
    (check,) = [check for check in checks_told(study) if check.rule == "trials by hand as they were locked"]
    assert check.verdict == "cannot be audited"
    grown = amended(study, "real.starts=4")
    assert grown.by_hand[:18] == study.by_hand
    assert len(open_study(folder).by_hand) == 24
    text = (folder / "amendments.jsonl").read_text(encoding="utf-8")
    (folder / "amendments.jsonl").write_text(text.replace('"schema_version":2', '"schema_version":3'), encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=r"line 2 has schema 3; .* upgrade it"):
        open_study(folder)


def test_a_broken_rule_keeps_a_study_from_being_locked(tmp_path: Path) -> None:
    config = load_model(StudyConfig, str(study_file(tmp_path)), [], {}, PATHS)
    plan = plan_study(config, CATALOG, print)
    seed = next(item.episode.seed for item in plan.items["few-shot-full-1"])
    (tmp_path / "demonstrations.json").write_text(json.dumps({"starts": [seed]}), encoding="utf-8")
    held = override_model(
        StudyConfig, config, [f"few_shot.demonstrations.records={tmp_path}/demonstrations.json"], PATHS
    )
    with pytest.raises(StudyError, match="1 of the evaluation's starts were demonstrated"):
        lock_study(plan_study(held, CATALOG, print))


def test_a_part_that_cannot_run_does_not_keep_the_others_from_it(tmp_path: Path) -> None:
    few = {**values_of()["few_shot"], "folder": "weights"}
    few["checkpoint"] = {"local": f"{FACTORS}:Sighted", "params": {"weights": "{folder}/{k}.onnx"}}
    study = locked(tmp_path, few_shot=few)
    ran = run_study(study, CATALOG, QUIET)
    assert ran.exit_code == 3
    assert [problem.split(":")[0] for problem in ran.problems] == ["few-shot-full-1", "few-shot-full-2"]
    assert "1.onnx; train it" in ran.problems[0]
    assert [state.complete for state in states_of(study)] == [True, False, False]
    found = analyse(study)
    assert not found.complete
    assert found.analysis.every.unfinished == 8


def test_suites_of_a_benchmark_without_factors_are_cells_and_nothing_is_paired(tmp_path: Path) -> None:
    benchmark = {"target": f"{Path(__file__).with_name('transfer_suites.py')}:Suites"}
    cells = [{"axis": "goal", "level": "far", "suite": "far", "control": "near"}]
    fake = "vlassess_link.testing.fakes:FakePolicy"
    policies = {"one": {"local": fake}, "two": {"local": fake, "params": {"stride": 0.3}}}
    study = locked(tmp_path, benchmark=benchmark, cells=cells, few_shot=None, policies=policies)
    assert "cannot be audited" in [check.verdict for check in study.checks]
    assert run_study(study, CATALOG, QUIET).exit_code == 0
    found = analyse(study)
    assert {line.verdict for line in found.facts.audits} == {"cannot be audited"}
    (one, _) = found.analysis.every.cells
    assert (one.cell, one.control, one.share.n, one.gap.paired) == ("goal=far", "control near", 4, False)


def test_a_filled_sheet_becomes_results_that_are_blind_until_the_codes_are_opened(tmp_path: Path) -> None:
    study = locked(tmp_path, real={"starts": 2}, few_shot=None)
    csv_file, page = write_hand_sheet(study, tmp_path / "sheet", CATALOG, QUIET)
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/png") == 2
    assert ">both<" not in text
    rows = list(csv.DictReader(csv_file.read_text(encoding="utf-8").splitlines()))
    filled = tmp_path / "filled.csv"
    with filled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "success": "yes", "unfair": "yes" if row["trial"] == "0003" else ""} for row in rows)
    first, second = import_trials(study, filled), import_trials(study, filled)
    assert (first.new, first.done, first.planned, second.new, second.known) == (16, 16, 16, 0, 16)
    assert [one.kind for one in first.deviations] == ["flagged"]
    blind = analyse(study).analysis
    assert blind.real is not None
    assert {cell.policy for cell in blind.real.every.cells} == set(study.key.codes.values())
    opened = unblind(unblind(study))
    assert [event.kind for event in opened.events] == ["sheet", "import", "import", "unblind"]
    told = analyse(opened).analysis
    assert told.real is not None
    assert {cell.policy for cell in told.real.every.cells} == {"both", "front"}
    assert told.real.flagged == 1


def test_a_scene_that_is_a_cell_is_tried_once_by_hand_and_is_both(tmp_path: Path) -> None:
    cells = ["table=oak", "object=mug within table=oak"]
    study = locked(tmp_path, benchmark=None, cells=cells, few_shot=None, real={"starts": 1}, starts=1)
    trials = trials_by_hand(study)
    assert len(study.by_hand) == 2 * 3
    assert sorted((trial.role, trial.cell) for trial in trials if trial.policy == study.key.codes["both"]) == [
        ("cell", "object=mug within table=oak"),
        ("cell", "table=oak"),
        ("control", "control"),
        ("control", "table=oak"),
    ]


def test_a_study_by_hand_alone_needs_no_benchmark(tmp_path: Path) -> None:
    cells = [{"axis": "object", "level": "mug"}]
    study = locked(tmp_path, benchmark=None, cells=cells, few_shot=None, real={"starts": ["a", "b"]}, starts=2)
    assert states_of(study) == ()
    assert len(study.by_hand) == 8
    csv_file, _ = write_hand_sheet(study, tmp_path / "sheet", CATALOG, QUIET)
    filled = tmp_path / "filled.csv"
    filled.write_text(csv_file.read_text(encoding="utf-8").replace(",,,,,,", ",4,yes,0,80,,"), encoding="utf-8")
    assert import_trials(study, filled).deviations == ()
    found = analyse(study)
    assert found.complete
    assert found.analysis.source == "robot"
    assert len(found.analysis.every.cells) == 2


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "vlassess", "transfer", *map(str, arguments)]


def lines_of(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("runs/*/episodes.jsonl"))


@pytest.mark.timeout(240)
def test_a_killed_and_resumed_study_equals_an_undisturbed_one(tmp_path: Path) -> None:
    slow = {"target": f"{FACTORS}:Factors", "params": {"step_seconds": 0.01}}
    calm, wild = (tmp_path / name for name in ("calm", "wild"))
    for place in (calm, wild):
        place.mkdir()
    few = {**values_of()["few_shot"], "k": [1]}
    quiet, hunted = (locked(place, benchmark=slow, few_shot=few) for place in (calm, wild))
    assert run_study(quiet, CATALOG, QUIET).exit_code == 0
    rng = random.Random(4)
    kills = 0
    for number in range(4):
        process = subprocess.Popen(command("run", hunted.path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = lines_of(hunted.path) + rng.randrange(1, 12)
        while process.poll() is None and lines_of(hunted.path) < wanted:
            time.sleep(0.02)
        if process.poll() is None and number < 3:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait(200)
    assert kills >= 2
    assert process.returncode == 0
    assert records_of(open_study(hunted.path)) == records_of(quiet)


def test_a_folder_that_holds_no_study_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"holds no study\.json"):
        open_study(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'policies'"):
        load_model(StudyConfig, str(study_file(tmp_path, policis={})), [], {}, PATHS)


def test_a_run_of_a_study_is_an_ordinary_run(whole: Study) -> None:
    (cells,) = (whole.path / "runs").glob("cells-*")
    assert RunDirectory.open(cells).manifest.config.name == "cells"
