"""Shards, one of them run twice, one killed and resumed, are the whole run once they are merged."""

from __future__ import annotations

from pathlib import Path

from tests.functional.shard_run import compare
from vlassess.catalog import Catalog
from vlassess.pipeline import report, resume
from vlassess.schema.events import SilentListener


def test_merged_shards_equal_the_unsharded_run(tmp_path: Path) -> None:
    merged = compare(tmp_path, benchmark=None, episodes=5, of=7)
    run = merged.result.run_dir
    assert [source.part.shard if source.part else None for source in merged.sources] == [1, 2, 3, 4, 5, 6, 7, 7]
    again = resume(run, None, Catalog.discover(), SilentListener())
    assert (again.exit_code, again.complete) == (0, True)
    assert report(run).is_file()
