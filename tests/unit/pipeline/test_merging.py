"""Merging of run directories that were written, not run: what is refused, what is missing, what is kept."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs import config_of, error_of, items_of, manifest_of, record_of, records_of
from vlassess.pipeline import Asked, MergeRefusedError, merge, part_of, taken
from vlassess.plan import plan_hash
from vlassess.records import ConflictError, RunDirectory, RunDirectoryError
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest, WorkerInterpreter
from vlassess.sharding import Shard
from vlassess_link.data import EpisodeRecord

COMMAND = ("vlassess", "run", "my config.yaml", "--set", "episodes=3")


def made(path: Path, records: Sequence[EpisodeRecord], manifest: RunManifest, items: Sequence[WorkItem]) -> Path:
    """Write a run directory."""
    run = RunDirectory.create(path, manifest, items)
    log = run.log()
    log.append(records)
    log.close()
    return path


def part(path: Path, asked: Asked, config: RunConfig | None = None, done: int | None = None, **changes: Any) -> Path:
    """Write a part of a run, with the results of the first ``done`` of its items."""
    whole = items_of(config)
    about = part_of(whole, asked.limit, asked.shard)
    items = taken(whole, about)
    told = {"plan_hash": plan_hash(items), "items": len(items), "part": about, "command": COMMAND, "run_id": path.name}
    return made(path, records_of(items)[:done], manifest_of(config, **{**told, **changes}), items)


def shard(folder: Path, number: int, of: int = 3, **given: Any) -> Path:
    return part(folder / f"part-{number}", Asked(shard=Shard(number, of)), **given)


def test_all_shards_are_the_whole_plan(tmp_path: Path) -> None:
    merged = merge([shard(tmp_path, number) for number in (3, 1, 2)], tmp_path / "whole")
    run = RunDirectory.open(tmp_path / "whole")
    items = items_of()
    assert run.items() == items
    assert run.manifest.plan_hash == plan_hash(items)
    assert run.manifest.part is None
    assert run.manifest.run_id == "whole"
    assert [source.run_id for source in run.manifest.sources] == ["part-3", "part-1", "part-2"]
    assert [source.records for source in run.manifest.sources] == [2, 2, 2]
    assert {record.item_id for record in run.records().records} == {item.item_id for item in items}
    assert (merged.result.exit_code, merged.remaining, merged.notes) == (0, (), ())
    assert (run.path / "report.html").is_file()


def test_what_is_missing_comes_with_its_commands(tmp_path: Path) -> None:
    first = shard(tmp_path, 1, done=1)
    merged = merge([first, shard(tmp_path, 3)], tmp_path / "whole")
    assert merged.result.exit_code == 3
    assert [(each.shard, each.items, each.command) for each in merged.remaining] == [
        ("1/3", 1, f"vlassess run --resume {first}"),
        ("2/3", 2, "vlassess run 'my config.yaml' --set episodes=3 --shard 2/3"),
    ]


def test_a_merged_run_can_be_merged_with_what_was_missing(tmp_path: Path) -> None:
    merge([shard(tmp_path, 1), shard(tmp_path, 2)], tmp_path / "most")
    merged = merge([tmp_path / "most", shard(tmp_path, 3)], tmp_path / "whole")
    assert merged.result.complete
    assert [source.records for source in merged.sources] == [4, 2]


def test_shards_of_different_divisions_fit_together(tmp_path: Path) -> None:
    merged = merge([shard(tmp_path, 1, 2, done=2), shard(tmp_path, 2, 3)], tmp_path / "whole")
    ((each,)) = merged.remaining
    assert (each.shard, each.command) == (None, f"vlassess run --resume {tmp_path / 'whole'}")
    assert sum(source.duplicates for source in merged.sources) + merged.result.summary.counts.scored == 4


@pytest.mark.parametrize(("limits", "kept"), [((2, 4), 4), ((2, None), None)])
def test_a_larger_limit_holds_a_smaller_one(tmp_path: Path, limits: tuple[int, int | None], kept: int | None) -> None:
    runs = [part(tmp_path / f"{limit}", Asked(limit=limit)) for limit in limits]
    merged = merge(runs, tmp_path / "both")
    manifest = RunDirectory.open(merged.result.run_dir).manifest
    assert (manifest.part.limit if manifest.part else None) == kept
    assert manifest.items == (kept or 6)
    assert merged.result.complete
    codes = {notice.code for notice in merged.result.summary.notices}
    assert "merged" in codes
    assert ("part_of_plan" in codes) == (kept is not None)


def test_a_result_wins_over_broken_attempts(tmp_path: Path) -> None:
    items = items_of()
    broken = made(tmp_path / "a", [record_of(item, error=error_of()) for item in items], manifest_of(), items)
    good = made(tmp_path / "b", records_of(items[:5]), manifest_of(), items)
    merged = merge([broken, good], tmp_path / "c")
    assert merged.result.summary.counts.success == 5
    assert merged.result.summary.counts.benchmark_error == 1
    assert len(RunDirectory.open(tmp_path / "c").records().records) == 11


def test_contradictions_leave_nothing_behind(tmp_path: Path) -> None:
    items = items_of()
    one = made(tmp_path / "a", records_of(items), manifest_of(), items)
    other = made(tmp_path / "b", [dataclasses.replace(record_of(items[0]), steps=7)], manifest_of(), items)
    with pytest.raises(ConflictError, match="steps: 0 and 7"):
        merge([one, other], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def spec_with(**changes: Any) -> dict[str, Any]:
    return {**manifest_of().benchmark_spec, **changes}


def interpreter(**packages: str) -> WorkerInterpreter:
    return WorkerInterpreter(path="/a/python", python="3.8.18", packages=packages, digest=str(packages))


def policies_with(revision: str) -> dict[str, Any]:
    spec = {"identity": {"name": "p", "revision": revision}}
    return {"policy_specs": {"main": spec}, "policy_identities": {"main": f"digest-{revision}"}}


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({}, {"config": config_of(seed=4)}, ["the plan is not the same", "seed: 0 and 4"]),
        ({}, {"config": config_of(episodes=4)}, ["episodes: 3 and 4"]),
        ({}, {"benchmark_spec": spec_with(version="2")}, ["the benchmark is not the same", "version: '1' and '2'"]),
        (policies_with("1"), policies_with("2"), ["policy 'main' is not the same", "revision: '1' and '2'"]),
        (
            {"worker": interpreter(numpy="1.26")},
            {"worker": interpreter(numpy="2.0")},
            ["the benchmark's interpreter is not the same", "numpy: '1.26' and '2.0'"],
        ),
        ({}, {"worker": interpreter()}, ["the harness's own"]),
        (
            {},
            {"config": config_of(benchmark_params={"step_seconds": 0.5})},
            ["how episodes are run is not the same", "benchmark.params: {} and {'step_seconds': 0.5}"],
        ),
    ],
)
def test_runs_of_two_experiments_are_refused(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], words: list[str]
) -> None:
    runs = []
    for name, changes in (("a", one), ("b", other)):
        config = changes.get("config", config_of())
        rest = {key: value for key, value in changes.items() if key != "config"}
        runs.append(made(tmp_path / name, [], manifest_of(config, **rest), items_of(config)))
    with pytest.raises(MergeRefusedError) as caught:
        merge(runs, tmp_path / "c")
    for word in [f"{runs[0]} and {runs[1]} cannot be merged", *words]:
        assert word in str(caught.value)
    assert not (tmp_path / "c").exists()


def test_where_a_policy_was_reached_does_not_matter(tmp_path: Path) -> None:
    configs = [
        config_of(policies={"main": {"url": f"ws://localhost:{port}"}}, execution={"workers": port}) for port in (1, 2)
    ]
    runs = [shard(tmp_path, number, 2, config=config) for number, config in enumerate(configs, 1)]
    assert merge(runs, tmp_path / "c").result.complete


def test_a_plan_that_cannot_be_made_again_is_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [], manifest_of(plan_hash="old", versions={"vlassess": "0.0.1"}), items_of())
    with pytest.raises(MergeRefusedError, match=r"cannot be made again .* merge with version 0\.0\.1"):
        merge([run], tmp_path / "c")


@pytest.mark.parametrize("below", ["merged", "deep/merged", "artifacts/../merged"])
def test_the_merged_run_is_never_put_into_a_source(tmp_path: Path, below: str) -> None:
    run = shard(tmp_path, 1)
    with pytest.raises(RunDirectoryError, match="one of the runs to merge; name a folder beside them"):
        merge([run], run / below)
    assert not list(run.rglob("merged"))


def test_an_existing_folder_is_never_touched(tmp_path: Path) -> None:
    run = shard(tmp_path, 1)
    with pytest.raises(RunDirectoryError, match="exists; give --output the name of a new folder"):
        merge([run], run)


def test_odd_sources_are_told(tmp_path: Path) -> None:
    items = items_of()
    stranger = dataclasses.replace(record_of(items[0]), item_id="stranger")
    one = made(tmp_path / "a", [stranger, *records_of(items)], manifest_of(versions={"mujoco": "3.3"}), items)
    other = made(tmp_path / "b", [], manifest_of(versions={"mujoco": "3.4"}), items)
    with (other / "episodes.jsonl").open("a") as file:
        file.write('{"torn')
    notes = " ".join(merge([one, other], tmp_path / "c").notes)
    for word in ("1 records of", "no planned item", "is torn (6 bytes)", "different versions: mujoco 3.3 / 3.4"):
        assert word in notes


def test_recordings_come_along(tmp_path: Path) -> None:
    items = items_of()
    one, other = (
        made(tmp_path / "a", [record_of(items[0], error=error_of())], manifest_of(), items),
        made(tmp_path / "b", records_of(items), manifest_of(), items),
    )
    for run in (one, other):
        folder = run / "artifacts" / items[0].item_id
        folder.mkdir(parents=True)
        (folder / "video.mp4").write_text(run.name)
    merge([one, other], tmp_path / "c")
    video = tmp_path / "c" / "artifacts" / items[0].item_id / "video.mp4"
    assert video.read_text() == "b"
    assert os.stat(video).st_nlink == 2
