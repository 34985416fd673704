from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import Invoke
from vlassess_link.data import COMPARED


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Path:
    """A finished run of two tasks."""
    assert invoke("run", "walk.yaml", "--set", "episodes=2").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def records(run: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("key", ["item_id", "episode_id"])
def test_an_episode_comes_out_the_same(invoke: Invoke, run: Path, key: str, tmp_path: Path) -> None:
    wanted = records(run)[1]

    said = invoke("rerun", run, str(wanted[key])[:12])

    assert said.code == 0
    assert f"equal to its record in all {len(COMPARED)} compared fields; it ended as success" in said.out
    assert str(wanted["item_id"]) in said.out
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == [run.name]


def test_a_difference_is_shown(invoke: Invoke, run: Path) -> None:
    changed = [{**record, "steps": 99, "host": "elsewhere"} for record in records(run)]
    lines = "".join(json.dumps(record) + "\n" for record in changed)
    (run / "episodes.jsonl").write_text(lines, encoding="utf-8")

    said = invoke("rerun", run, changed[0]["item_id"])

    assert said.code == 4
    assert "it differs from its record in 1 of" in said.out
    assert f"steps: 99 -> {records_steps(said.out)}" in said.out


def records_steps(out: str) -> str:
    return out.split("steps: 99 -> ")[1].split()[0]


def test_a_rerun_can_be_kept_and_filmed(invoke: Invoke, run: Path, tmp_path: Path) -> None:
    wanted = str(records(run)[0]["item_id"])

    said = invoke("rerun", run, wanted, "--video", "--output", tmp_path / "again", "--json")

    told = json.loads(said.out)
    assert (said.code, told["equal"], told["different"]) == (0, True, {})
    kept = Path(told["run_dir"])
    assert kept.parent == tmp_path / "again"
    assert sorted(file.name for file in (kept / "artifacts" / wanted).iterdir()) == ["inputs.npz", "steps.parquet"]
    assert (kept / "report.html").exists()


def test_an_id_must_name_one_episode(invoke: Invoke, run: Path) -> None:
    several, none = invoke("rerun", run, ""), invoke("rerun", run, "zzz")
    assert (several.code, none.code) == (2, 2)
    assert "4 items have an id that begins with ''" in several.err
    assert "no episode of the run has an id that begins with 'zzz'" in none.err


def test_a_prefix_that_is_met_by_chance_is_refused_with_what_it_meets(invoke: Invoke, run: Path) -> None:
    ids = [str(record["item_id"]) for record in records(run)]
    firsts = [one[0] for one in ids]
    for number, first in enumerate(firsts):
        said = invoke("rerun", run, first)
        assert said.code == 2
        if firsts.count(first) == 1 and not any(str(one["episode_id"]).startswith(first) for one in records(run)):
            assert f"'{first}' is too short to name an episode" in said.err
        assert ids[number] in said.err
        assert "walk/to-" in said.err


def test_an_episode_without_a_record_has_nothing_to_compare(invoke: Invoke, run: Path) -> None:
    wanted, *others = records(run)
    (run / "episodes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in others), encoding="utf-8")

    said = invoke("rerun", run, wanted["item_id"])

    assert said.code == 3
    assert "the run has no record of it to compare with" in said.out
