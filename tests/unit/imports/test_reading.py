"""Files that the real tools have written, and what is wrong with others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from vlassess.imports import ImportRefusedError, read_arms
from vlassess.schema.arms import Arm

ASSETS = Path(__file__).parents[2] / "assets" / "imports"


def one(name: str) -> Arm:
    (arm,) = read_arms(ASSETS / name)
    return arm


def ends(arm: Arm) -> dict[str, int]:
    return dict(Counter(trial.ended for trial in arm.trials))


def test_a_recording_of_vla_eval() -> None:
    arm = one("vla-eval-recording.sqlite")
    assert (arm.label, arm.benchmark) == ("Steps", "walk")
    assert ends(arm) == {"success": 10, "error": 2}
    assert sorted({(trial.task, trial.index) for trial in arm.trials}) == [
        (task, index) for task in ("to-2", "to-4") for index in range(6)
    ]
    assert "no initial states" in arm.unpairable
    assert "its benchmark's seed was 7" in arm.notes
    assert "2 episodes broke: vla-eval counts them as failures, here they are errors and in no rate" in arm.notes


@pytest.mark.parametrize(
    ("name", "label", "version", "success"),
    [("vla-eval-export.json", "Steps", "0.8.0", 8), ("vla-eval-0.1.0.json", "Steps", "0.1.0", 12)],
)
def test_exports_of_vla_eval(name: str, label: str, version: str, success: int) -> None:
    arm = one(name)
    mean = json.loads((ASSETS / name).read_bytes())["mean_success"]
    assert arm.label == label
    assert ends(arm)["success"] == success == round(12 * mean)
    assert f"read from vla-eval {version}" in arm.notes
    assert arm.unpairable


def test_a_recording_and_its_export_say_the_same(tmp_path: Path) -> None:
    recording = one("vla-eval-recording.sqlite")
    tasks = [
        {
            "task": task,
            "episodes": [
                {"metrics": {"success": t.success}, "failure_reason": "env_start" if t.ended == "error" else None}
                for t in recording.trials
                if t.task == task
            ],
        }
        for task in ("to-2", "to-4")
    ]  # fmt: skip
    (tmp_path / "x.json").write_text(json.dumps({"benchmark": "walk", "tasks": tasks}))
    (exported,) = read_arms(tmp_path / "x.json")
    assert exported.trials == recording.trials
    assert "its seed is not recorded" in exported.notes


def test_lerobot_by_task() -> None:
    arm = one("lerobot-per-task.json")
    assert arm.label == "imports"
    assert [(t.suite, t.task, t.index, t.success) for t in arm.trials] == [
        ("libero_spatial", "0", 0, True),
        ("libero_spatial", "0", 1, False),
        ("libero_spatial", "0", 2, True),
        ("libero_spatial", "1", 0, False),
        ("libero_spatial", "1", 1, False),
        ("libero_spatial", "1", 2, True),
    ]
    assert "its seeds are not recorded" in arm.notes


def test_lerobot_by_episode() -> None:
    arm = one("lerobot-per-episode.json")
    assert ends(arm) == {"success": 1, "failure": 1}
    assert "its seeds were 1000 to 1001" in arm.notes


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("success,policy,task,episode,progress\n1,a,t,0,1.0\nfalse,a,t,1,0.25\nerror,b,t,0,\nTrue,b,t,1,\n")
    a, b = read_arms(path)
    assert (a.label, b.label) == ("a", "b")
    assert [(t.ended, t.progress) for t in a.trials] == [("success", 1.0), ("failure", 0.25)]
    assert [t.ended for t in b.trials] == ["error", "success"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "policy,task,success\na,t,1\n", "has no column 'episode'"),
        ("x.csv", "policy,task,episode,success\n", "has no row"),
        ("x.csv", "policy,task,episode,success\na,t,0,1\na,t,one,1\n", "line 3: episode is 'one'"),
        ("x.csv", "policy,task,episode,success\na,t,0,maybe\n", "line 2: success is 'maybe'"),
        ("x.csv", "policy,task,episode,success\na,t,0,1\na,t,0,0\n", "line 3: episode 0 of task 't' is there twice"),
        ("x.csv", "policy,task,episode,success\na,t,0,1\na,t,00,0\n", "line 3: episode 0 of task 't' is there twice"),
        ("x.csv", "policy,task,episode,success,progress\na,t,0,1,2\n", "progress is '2'"),
        ("x.json", "{", "neither SQLite, CSV nor JSON"),
        ("x.json", "[1]", "of no known kind"),
        ("x.json", '{"benchmark": "b", "tasks": [{"task": "t"}]}', "tasks[0] has no list of episodes"),
        ("x.json", '{"benchmark": "b", "tasks": [{"task": "t", "episodes": [{"metrics": {}}]}]}', "has no success"),
        ("x.json", '{"per_task": [{"task_id": 0, "metrics": {}}]}', "per_task[0].metrics.successes is no list"),
        ("x.json", '{"per_episode": [{"seed": 1}]}', "per_episode[0] has no success"),
        ("x.sqlite", "SQLite format 3\x00 and nothing more", "is no recording of vla-eval"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ImportRefusedError) as caught:
        read_arms(tmp_path / name)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("latin.csv", "policy,task,episode,success\nÀ,t,0,1\n".encode("latin-1")),
        ("deep.json", b"[" * 100_000),
        ("nan.json", b'{"per_task": [{"task_group": "g", "task_id": 0, "metrics": {"successes": [NaN, true]}}]}'),
        ("part.json", b'{"per_task": [{"task_group": "g", "task_id": 0, "metrics": {"successes": [0.2]}}]}'),
        ("list.json", b'{"benchmark": "b", "config": [1], "tasks": [{"task": "t", "episodes": []}]}'),
    ],
)
def test_a_file_that_breaks_its_form_is_refused_with_a_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError, match=name):
        read_arms(path)
