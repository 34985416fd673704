"""Whole runs of the fakes through the pipeline: real workers, real files."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.runs import POLICY, config_of
from tests.unit.small_disk import grow, small_disk
from vlassess.catalog import Catalog
from vlassess.execution import StopSwitch
from vlassess.pipeline import ResumeRefusedError, RunResult, report, resume, start, summarise_run
from vlassess.pipeline.refusals import refuse_other_experiment
from vlassess.plan import PlanError
from vlassess.records import RunDirectory, RunLockedError
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess_link.data import COMPARED, EpisodeRecord
from vlassess_link.errors import PluginError, VlassessError

EMPTY = Catalog({}, {})
SIMULATORS = Path(__file__).parents[1] / "link" / "simulators.py"


class Watcher(SilentListener):
    """Keeps what it is told, and calls a function after each record."""

    def __init__(self, after_record: Callable[[int], None] | None = None) -> None:
        self.notes: list[str] = []
        self.plans: list[tuple[Path, int, int]] = []
        self.count = 0
        self._after_record = after_record

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Keep it."""
        self.plans.append((run_dir, total, finished_before))

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def record(self, record: EpisodeRecord) -> None:
        """Count, then call."""
        self.count += 1
        if self._after_record is not None:
            self._after_record(self.count)


def config(tmp_path: Path, **changes: Any) -> RunConfig:
    return config_of(tmp_path / "runs", **{"execution": {"workers": 2}, **changes})


def records(result: RunResult) -> list[EpisodeRecord]:
    return RunDirectory.open(result.run_dir).records().records


def interrupted(asked: RunConfig, after: int = 2) -> RunResult:
    """Run a config, and press the switch once after some records."""
    switch = StopSwitch()

    def press(number: int) -> None:
        if number == after:
            switch.press()

    return start(asked, EMPTY, Watcher(press), switch)


def compared(found: list[EpisodeRecord]) -> dict[str, list[Any]]:
    return {record.item_id: [getattr(record, name) for name in COMPARED] for record in found if record.final}


def test_a_run_from_config_to_report(tmp_path: Path) -> None:
    watcher = Watcher()
    result = start(config(tmp_path), EMPTY, watcher)
    assert (result.exit_code, result.reasons, result.complete, result.interrupted) == (0, (), True, False)
    assert watcher.plans == [(result.run_dir, 6, 0)]
    assert result.run_dir.parent == tmp_path / "runs"
    assert {path.name for path in result.run_dir.iterdir()} == {
        "run.json",
        "plan.jsonl",
        "episodes.jsonl",
        "report.html",
        "lock",
        "logs",
    }
    assert list((tmp_path / "runs").iterdir()) == [result.run_dir], "nothing is left beside it"
    run = RunDirectory.open(result.run_dir)
    assert run.manifest.config == config(tmp_path)
    assert run.manifest.policy_identities == {"main": records(result)[0].identity}
    assert Counter(record.item_id for record in records(result)) == {item.item_id: 1 for item in run.items()}
    assert summarise_run(run) == result.summary
    assert (result.summary.counts.success, result.summary.counts.planned) == (6, 6)


def test_two_runs_of_one_second_never_share_a_folder(tmp_path: Path) -> None:
    asked = config(tmp_path, episodes=1, tasks=["walk/to-4"])
    folders = {start(asked, EMPTY, SilentListener()).run_dir for _ in range(3)}
    assert len(folders) == 3


def test_an_interrupted_run_is_resumed_to_what_an_undisturbed_one_gives(tmp_path: Path) -> None:
    asked = config(tmp_path, benchmark_params={"step_seconds": 0.02}, repeats=2)
    first = interrupted(asked)
    assert (first.exit_code, first.interrupted, first.complete) == (130, True, False)
    missing = first.summary.counts.missing
    assert missing > 0
    assert first.reasons == (f"{missing} of 12 episodes are missing; resume to run them",)

    watcher = Watcher()
    second = resume(first.run_dir, None, EMPTY, watcher)
    assert watcher.plans == [(first.run_dir, 12, 12 - missing)]
    assert watcher.count == missing
    assert not any("coordinator" in note or "torn" in note for note in watcher.notes)
    assert (second.exit_code, second.complete, second.reasons) == (0, True, ())

    undisturbed = start(asked, EMPTY, SilentListener())
    assert compared(records(second)) == compared(records(undisturbed))
    assert len(records(second)) == 12


def test_resuming_a_complete_run_starts_nothing(tmp_path: Path) -> None:
    first = start(config(tmp_path), EMPTY, SilentListener())
    before = (first.run_dir / "episodes.jsonl").read_bytes()
    watcher = Watcher()
    again = resume(first.run_dir, config(tmp_path), EMPTY, watcher)
    assert (again.exit_code, again.complete, watcher.count) == (0, True, 0)
    assert watcher.plans == [(first.run_dir, 6, 6)]
    assert (first.run_dir / "episodes.jsonl").read_bytes() == before


def test_a_torn_line_and_a_dead_owner_are_told_and_mended(tmp_path: Path) -> None:
    first = start(config(tmp_path), EMPTY, SilentListener())
    file = first.run_dir / "episodes.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    (first.run_dir / "lock").write_text('{"pid": 4, "host": "here", "since": "2026-03-01"}')
    watcher = Watcher()
    again = resume(first.run_dir, None, EMPTY, watcher)
    torn = len(whole.splitlines()[-1]) - 9
    assert watcher.notes[:2] == [
        "the last coordinator (process 4 on here since 2026-03-01) ended without releasing its lock; "
        "its unfinished episodes run again",
        f"the last line of episodes.jsonl was torn ({torn} bytes) and is dropped; it runs again",
    ]
    assert (again.exit_code, watcher.count, len(records(again))) == (0, 1, 6)


def test_two_coordinators_at_once_are_refused(tmp_path: Path) -> None:
    first = start(config(tmp_path), EMPTY, SilentListener())
    with RunDirectory.open(first.run_dir).lock(), pytest.raises(RunLockedError, match=f"process {os.getpid()}"):
        resume(first.run_dir, None, EMPTY, SilentListener())


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was interrupted; for reading only."""
    return interrupted(config(tmp_path_factory.mktemp("unfinished"), execution={"workers": 1})).run_dir


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"episodes": 4},
            r"\(0 of its items are no longer planned, 2 are new\): episodes: 3 -> 4\. Take the old config",
        ),
        ({"seed": 1}, r"\(6 of its items are no longer planned, 6 are new\): seed: 0 -> 1"),
        (
            {"tasks": ["walk/to-4"]},
            r"\(3 of its items are no .*, 0 are new\): tasks: None -> \['walk/to-4'\]",
        ),
        ({"step_limit": 9}, "step_limit: None -> 9"),
        ({"benchmark_params": {"termination": "at_limit"}}, r"benchmark: .*'termination': 'at_limit'"),
        ({"policies": {"main": {"local": POLICY, "params": {"chunk": 2}, "horizon": 1}}}, "policies: .*'horizon': 1"),
        (
            {"policies": {"main": {"local": POLICY, "params": {"chunk": 2, "stride": 0.5}}}},
            r"'stride': 0\.5",
        ),
    ],
)
def test_another_experiment_is_refused_and_the_difference_shown(
    unfinished: Path, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    run_dir = Path(shutil.copytree(unfinished, tmp_path / "run"))
    with pytest.raises(ResumeRefusedError, match=says):
        resume(run_dir, config(tmp_path, **change), EMPTY, SilentListener())
    for name in ("run.json", "plan.jsonl", "episodes.jsonl", "lock"):
        assert (run_dir / name).read_bytes() == (unfinished / name).read_bytes()


def test_a_refusal_is_an_orderly_end(unfinished: Path, tmp_path: Path) -> None:
    run_dir = Path(shutil.copytree(unfinished, tmp_path / "run"))
    with pytest.raises(ResumeRefusedError):
        resume(run_dir, config(tmp_path, seed=1), EMPTY, SilentListener())
    watcher = Watcher()
    assert resume(run_dir, None, EMPTY, watcher).exit_code == 0
    assert not any("coordinator" in note or "torn" in note for note in watcher.notes)


def test_a_benchmark_that_changed_under_the_same_config_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bench.py"
    source = "from vlassess_link.testing import FakeBenchmark\nclass Bench(FakeBenchmark):\n    pass\n"
    file.write_text(source)
    asked = config(tmp_path, benchmark={"target": f"{file}:Bench"}, execution={"workers": 1})
    first = interrupted(asked)
    file.write_text(
        "import dataclasses\n"
        + source.replace(
            "pass",
            "def __init__(self):\n        super().__init__()\n"
            "        self.spec = dataclasses.replace(self.spec, control_rate_hz=50.0)",
        )
    )
    with pytest.raises(ResumeRefusedError, match=r"begun with \(control_rate_hz: 20\.0 -> 50\.0\)\. Take the old one"):
        resume(first.run_dir, asked, EMPTY, SilentListener())


def test_a_policy_that_changed_under_the_same_config_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    source = (
        "from vlassess_link.testing import FakePolicy\nclass Mine(FakePolicy):\n"
        "    def __init__(self):\n        super().__init__(chunk=2, name='one')\n"
    )
    file.write_text(source)
    asked = config(tmp_path, policies={"main": {"local": f"{file}:Mine"}}, execution={"workers": 1})
    first = interrupted(asked)
    file.write_text(source.replace("'one'", "'other'"))
    says = r"policy 'main' is not what fakes-.* was begun with \(name: 'one' -> 'other'.*\)\. Serve the old one"
    with pytest.raises(ResumeRefusedError, match=says):
        resume(first.run_dir, asked, EMPTY, SilentListener())


def test_how_the_machine_is_used_may_change(tmp_path: Path) -> None:
    first = interrupted(config(tmp_path, execution={"workers": 1}))
    again = resume(first.run_dir, config(tmp_path, execution={"workers": 2, "retries": 0}), EMPTY, SilentListener())
    assert again.exit_code == 0


def test_errors_that_are_left_give_3_and_are_tried_again_by_a_resume(tmp_path: Path) -> None:
    struck = {"fault": "step_raises", "fault_indices": [1], "fault_once_file": str(tmp_path / "struck")}
    asked = config(tmp_path, tasks=["walk/to-4"], benchmark_params=struck, execution={"retries": 0, "workers": 1})
    first = start(asked, EMPTY, SilentListener())
    assert (first.exit_code, first.complete, first.interrupted) == (3, False, False)
    assert first.reasons[0].startswith("1 benchmark and 0 infrastructure errors are left after all attempts; resume")
    assert "told to raise in step" in first.reasons[-1]
    second = resume(first.run_dir, None, EMPTY, SilentListener())
    assert (second.exit_code, second.complete) == (0, True)
    assert [record.attempt for record in records(second) if record.index == 1] == [1, 2]


def test_single_policy_errors_are_results(tmp_path: Path) -> None:
    two = {
        "main": {"local": POLICY, "params": {"chunk": 2}},
        "late": {"local": POLICY, "params": {"fault": "nan", "fault_step": 4}},
    }
    result = start(config(tmp_path, policies=two), EMPTY, SilentListener())
    late = result.summary.policies[1].counts
    # From a start just below 1 the walk to 4 takes 4 steps and succeeds before the fault; to 5 it never does.
    assert 0 < late.policy_error < late.planned
    assert (result.exit_code, result.complete) == (0, True)


def test_nothing_but_policy_errors_gives_3(tmp_path: Path) -> None:
    broken = {"main": {"local": POLICY, "params": {"fault": "shape"}}}
    result = start(config(tmp_path, policies=broken), EMPTY, SilentListener())
    assert (result.exit_code, result.complete) == (3, True)
    assert result.reasons[0] == "every episode of policy 'main' ended in the policy's own error"


def test_a_failed_gate_gives_4(tmp_path: Path) -> None:
    still = {"main": {"local": POLICY, "params": {"stride": 0.0}}}
    result = start(config(tmp_path, policies=still, gates={"min_success": 0.1}), EMPTY, SilentListener())
    assert result.exit_code == 4
    assert result.reasons == ("policy 'main' has a success rate of 0.000, below the gate of 0.1",)
    again = resume(result.run_dir, config(tmp_path, policies=still), EMPTY, SilentListener())
    assert again.exit_code == 0, "the gate was taken away"


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"tasks": ["walk/to-9"]}, PlanError, "walk/to-9"),
        ({"benchmark_params": {"colour": 1}}, PluginError, "has no parameter 'colour'"),
        ({"benchmark": {"name": "nothing-v1"}}, PluginError, "no benchmark is called 'nothing-v1'"),
        ({"policies": {"main": {"name": "nobody"}}}, PluginError, "no policy is called 'nobody'"),
        ({"policies": {"main": {"local": "nowhere:Class"}}}, PluginError, "there is no module 'nowhere'"),
        (
            {"policies": {"main": {"local": f"{SIMULATORS.with_name('models.py')}:Nobody"}}},
            PluginError,
            "has no 'Nobody'",
        ),
    ],
)
def test_what_cannot_begin_leaves_nothing_behind(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        start(config(tmp_path, **change), EMPTY, SilentListener())
    runs = tmp_path / "runs"
    assert not runs.exists() or list(runs.iterdir()) == []


POLICY_FILE = """
import numpy as np
from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link.spaces import end_effector_delta

class Seven(PredictModelServer):
    spec = PolicySpec(PolicyIdentity("seven"), action=end_effector_delta())
    def predict(self, obs, ctx):
        return {"actions": np.zeros(7)}

class Wrist(PredictModelServer):
    spec = PolicySpec(PolicyIdentity("wrist"), cameras=("wrist",))
    def predict(self, obs, ctx):
        return {"actions": np.zeros(1)}
"""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "Seven",
            "policy 'main': the benchmark takes the action component 'dx' (other), which the policy does not give",
        ),
        ("Wrist", "policy 'main': the policy looks at camera 'wrist', and the benchmark has front"),
    ],
)
def test_sides_that_do_not_fit_are_refused_before_the_first_episode(tmp_path: Path, name: str, says: str) -> None:
    file = tmp_path / "policies.py"
    file.write_text(POLICY_FILE)
    with pytest.raises(VlassessError, match=re.escape(says)):
        start(config(tmp_path, policies={"main": {"local": f"{file}:{name}"}}), EMPTY, SilentListener())
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_privileged_policy_is_stamped(tmp_path: Path) -> None:
    seer = {"main": {"local": f"{SIMULATORS}:Seer"}}
    result = start(config(tmp_path, policies=seer), EMPTY, SilentListener())
    assert {(record.privileged, record.steps) for record in records(result)} == {(True, 1)}


def test_a_served_policy_is_started_and_stopped(tmp_path: Path) -> None:
    both = {
        "local": {"local": POLICY, "params": {"chunk": 2}},
        "served": {"serve": POLICY, "params": {"chunk": 2}},
    }
    result = start(config(tmp_path, policies=both), EMPTY, SilentListener())
    assert (result.exit_code, result.complete) == (0, True)
    logs = {path.name for path in (result.run_dir / "logs").iterdir()}
    assert {"policy-served.log", "probe.log", "worker-0.log"} <= logs
    by_policy: dict[str, dict[str, Any]] = {"local": {}, "served": {}}
    for record in records(result):
        by_policy[record.policy][record.episode_id] = (record.actions_digest, record.inputs_digest, record.outcome)
    assert by_policy["local"] == by_policy["served"]


def test_a_full_disk_ends_in_a_sentence_and_the_run_is_resumed_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 64) as disk:
        asked = config(disk, episodes=30)
        first = start(asked, EMPTY, SilentListener())
        assert (first.exit_code, first.complete, first.interrupted) == (3, False, False)
        assert first.reasons[0].startswith("no space left for ")
        assert first.reasons[0].endswith(f"free some, then run `vlassess run --resume {first.run_dir}`")
        assert any("report.html was not written" in reason for reason in first.reasons)
        kept = records(first)
        assert 5 < len(kept) < 60

        grow(disk, 8192)
        watcher = Watcher()
        second = resume(first.run_dir, None, EMPTY, watcher)
        assert (second.exit_code, second.complete, second.reasons) == (0, True, ())
        assert watcher.plans == [(first.run_dir, 60, len(kept))]
        assert records(second)[: len(kept)] == kept
        assert len(records(second)) == 60
        assert (second.run_dir / "report.html").stat().st_size > 10_000


def test_a_report_is_made_anew_from_the_files_alone(tmp_path: Path) -> None:
    result = start(config(tmp_path, episodes=1), EMPTY, SilentListener())
    (result.run_dir / "report.html").unlink()
    path = report(result.run_dir)
    assert path == result.run_dir / "report.html"
    assert "fakes" in path.read_text(encoding="utf-8")


def test_an_own_interpreter_is_recorded_and_another_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This interpreter as somebody's own: its workers see the link's copy alone, and its packages."""
    monkeypatch.setenv("VLASSESS_CACHE", str(tmp_path / "cache"))
    fakes = {"target": "vlassess_link.testing:FakeBenchmark"}
    asked = config(tmp_path, benchmark={**fakes, "interpreter": sys.executable}, execution={"workers": 1})
    first = interrupted(asked)
    worker = RunDirectory.open(first.run_dir).manifest.worker
    assert worker is not None
    assert worker.packages["numpy"] == np.__version__
    assert [path.name for path in (tmp_path / "cache" / "link").iterdir()]

    other = config(tmp_path, benchmark=fakes, execution={"workers": 1})
    with pytest.raises(ResumeRefusedError, match=r"interpreter is not what .*/python.* -> the harness's own"):
        resume(first.run_dir, other, EMPTY, SilentListener())
    assert resume(first.run_dir, None, EMPTY, SilentListener()).complete


CONVENTIONS = """
from dataclasses import replace

import numpy as np

from vlassess_link.policies.model import PredictModelServer
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import ImageConvention, PolicyIdentity, PolicySpec


class Turned(PredictModelServer):
    spec = PolicySpec(
        PolicyIdentity("turned"), image=ImageConvention("bgr"), action=Layout((Component("dx", "other", 1),))
    )

    def predict(self, obs, ctx):
        return {"actions": np.ones(1)}


class Upright(Turned):
    spec = replace(Turned.spec, image=ImageConvention())
"""


def test_conversions_are_recorded_and_told_and_a_resume_with_others_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "policies.py"
    file.write_text(CONVENTIONS)
    done = start(config(tmp_path, policies={"main": {"local": f"{file}:Turned"}}), EMPTY, SilentListener())
    run = RunDirectory.open(done.run_dir)
    fit = run.manifest.policy_fits["main"]
    assert fit.conversions == ("camera 'front': rgb becomes bgr",)
    assert len(fit.unchecked) == 1
    assert "declares no state" in fit.unchecked[0]
    codes = {notice.code: notice.severity for notice in summarise_run(run).notices}
    assert (codes["converted"], codes["conventions_unchecked"]) == ("note", "warning")
    unconverted = run.manifest.model_copy(update={"policy_fits": {"main": fit.model_copy(update={"conversions": ()})}})
    with pytest.raises(
        ResumeRefusedError, match=r"'main' is not what .* rgb becomes bgr -> nothing\)\. Take the old spec"
    ):
        refuse_other_experiment(run.manifest, unconverted)
