from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vlassess
from tests.link.episodes import FunctionPolicy, walk
from tests.unit.api.leak import CONFIG
from tests.unit.runs import config_of, error_of, items_of, manifest_of, record_of, records_of
from vlassess.config import ConfigError
from vlassess.schema.events import SilentListener
from vlassess_link.data import ActionChunk, EpisodeRecord, EpisodeStart, Observation
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.policies.model import SessionContext
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.testing import FakePolicy


class Mine(FakePolicy):
    """Counts what is asked of it."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.asked = 0
        self.threads: set[str] = set()

    def load(self) -> None:
        """Must not happen: the weights are those of the caller."""
        raise AssertionError("a model of the caller is not loaded")

    def close(self) -> None:
        """Must not happen: the caller goes on training."""
        raise AssertionError("a model of the caller is not closed")

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        """Count."""
        self.asked += 1
        self.threads.add(threading.current_thread().name)
        return super().predict(obs, ctx)


def test_a_model_of_this_process_is_asked_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = Mine(chunk=2)

    run = vlassess.run(CONFIG, policy=model)

    assert run.complete
    assert run.run_dir is None
    assert list(tmp_path.iterdir()) == []
    assert model.asked == sum(record.observations for record in run.records)
    assert len(model.threads) == 1
    assert threading.current_thread().name not in model.threads
    assert [policy.label for policy in run.summary().policies] == ["fake"]


def test_the_same_model_on_disk_and_in_memory_has_equal_records(tmp_path: Path) -> None:
    held = vlassess.run(CONFIG, policy={"mine": Mine(chunk=2)})
    kept = vlassess.run(CONFIG, policy={"mine": Mine(chunk=2)}, output=tmp_path)

    assert kept.run_dir is not None
    assert kept.run_dir.parent == tmp_path
    digests = {record.item_id: record.actions_digest for record in held.records}
    assert digests == {record.item_id: record.actions_digest for record in kept.records}
    assert vlassess.Run.open(kept.run_dir).summary() == kept.summary()
    assert (kept.run_dir / "report.html").exists()


def test_a_policy_object_serves_one_episode_at_a_time() -> None:
    class Careful(FunctionPolicy):
        busy: str | None = None

        def reset(self, start: EpisodeStart, policy_seed: int) -> None:
            super().reset(start, policy_seed)
            self.left = 100

        def predict(self, obs: Observation) -> ActionChunk:
            assert obs.instruction == self.starts[-1].instruction
            return super().predict(obs)

    policy = Careful(walk())
    run = vlassess.run({**CONFIG, "episodes": 3}, policy=policy)

    assert run.complete
    assert [start.episode_id for start in policy.starts] == [record.episode_id for record in run.records]
    assert run.manifest.config.execution.workers == 1


@pytest.mark.parametrize("kind", ["dict", "path", "name", "config"])
def test_a_config_may_be_given_in_every_way(tmp_path: Path, kind: str) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    given: dict[str, Any] = {
        "dict": CONFIG,
        "path": tmp_path / "mine.yaml",
        "name": "tabletop-quick",
        "config": config_of(tmp_path, execution={"workers": 2}),
    }
    if kind == "name":
        spec = PolicySpec(PolicyIdentity("zero"), cameras=())
        zero = FunctionPolicy(lambda obs: ActionChunk(np.zeros((1, 7))))
        zero.spec = spec
        run = vlassess.run("tabletop-quick", policy=zero, episodes=1, tasks=["pick/red_block"], step_limit=3)
        assert [record.steps for record in run.records] == [3]
    else:
        run = vlassess.run(given[kind], policy=FakePolicy(2), episodes=1)
        assert {record.index for record in run.records} == {0}
    assert run.complete


def test_a_config_without_an_object_is_run_as_by_the_command_line(tmp_path: Path) -> None:
    config = config_of(tmp_path, execution={"workers": 1})
    run = vlassess.run(config, episodes=1)
    assert run.run_dir is not None
    assert run.run_dir.parent == tmp_path
    assert run.complete


def test_an_evaluation_may_run_in_any_thread() -> None:
    found: list[vlassess.Run] = []
    thread = threading.Thread(target=lambda: found.append(vlassess.run({**CONFIG, "episodes": 1}, policy=FakePolicy())))
    thread.start()
    thread.join(60)
    assert found[0].complete


class Impatient(SilentListener):
    """Presses Ctrl-C at the first record."""

    def record(self, record: EpisodeRecord) -> None:
        """Press."""
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_the_caller_too_once_the_workers_have_ended() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        vlassess.run(CONFIG, policy=FakePolicy(), episodes=50, listener=Impatient())
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"policy": 3}, ContractError, "policy is a int"),
        ({"policy": FakePolicy(), "episode": 3}, ConfigError, "did you mean 'episodes'"),
        ({"policy": FakePolicy(), "artifacts": {"video": "on"}}, ContractError, "give `output`"),
        ({}, ConfigError, "policies"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        vlassess.run(CONFIG, **given)


def test_a_privileged_object_is_refused() -> None:
    policy = FunctionPolicy(walk(), privileged=True)
    with pytest.raises(PluginError, match="must be `local`"):
        vlassess.run(CONFIG, policy=policy)


def test_a_frame_has_one_row_an_episode_and_knows_what_is_missing() -> None:
    items = items_of()
    records = [
        record_of(items[0], 1, error=error_of()),
        record_of(items[0], 2),
        record_of(items[1], error=error_of("policy")),
    ]
    run = vlassess.Run(manifest_of(), items, records)

    frame, everything = run.frame(), run.frame("all")

    assert list(frame["item_id"]) == [item.item_id for item in items]
    assert list(frame["ended_as"][:3]) == ["success", "failure", "missing"]
    assert list(frame["success"].isna()) == [False] + [True] * (len(items) - 1)
    assert frame["success"].mean() == 1.0, "what has no outcome is no failure of a mean"
    assert (frame["ended_as"] == "success").sum() == run.summary().counts.success
    assert len(everything) == len(items) + 1
    assert frame["metric_distance"].dtype == pd.Float64Dtype()
    with pytest.raises(ValueError, match='must be "counted" or "all"'):
        run.frame("last")


def test_frames_agree_with_the_summary() -> None:
    run = vlassess.run(CONFIG, policy=FakePolicy(2), episodes=6)
    frame = run.frame()
    rates = frame.groupby("task")["success"].mean()
    for task in run.summary().policies[0].tasks:
        assert rates[task.task] == task.rate.value


def test_a_notebook_shows_numbers_and_nothing_that_acts() -> None:
    items = items_of()
    manifest = manifest_of(run_id="<script>alert(1)</script>\ud800")
    run = vlassess.Run(manifest, items, records_of(items[:-1]))

    html = run._repr_html_()

    html.encode("utf-8")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "100.0 %" in html
    assert "1 missing" in html
    assert "100.0 %" in repr(run)


def test_a_report_of_a_run_in_memory_needs_a_place(tmp_path: Path) -> None:
    run = vlassess.Run(manifest_of(), items_of(), records_of(items_of()))
    assert run.report(tmp_path / "mine.html").stat().st_size > 1000
    with pytest.raises(ValueError, match="say where the report goes"):
        run.report()


def leaks(times: int) -> list[dict[str, int]]:
    command = [sys.executable, "-m", "tests.unit.api.leak", str(times)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_evaluating_again_and_again_keeps_nothing() -> None:
    seen = leaks(3)
    for what in ("threads", "descriptors", "children"):  # one may still be closing when the call has returned
        assert seen[-1][what] <= seen[0][what] + 1, what


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_evaluations_take_no_more_memory_than_ten() -> None:
    seen = leaks(100)
    for what in ("threads", "descriptors", "children"):
        assert seen[-1][what] <= seen[0][what] + 1, what
    settled = np.mean([one["rss"] for one in seen[5:15]])
    assert np.mean([one["rss"] for one in seen[-10:]]) <= 1.03 * settled


def test_importing_the_package_is_quick() -> None:
    command = [
        sys.executable,
        "-c",
        "import time; t = time.perf_counter(); import vlassess; print(time.perf_counter() - t)",
    ]
    took = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(took) < 0.3
