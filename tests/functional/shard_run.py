"""Runs a plan whole and in shards, one of them twice, one killed and resumed, and compares what both recorded.

`python -m tests.functional.shard_run --benchmark tabletop-v1 --episodes 10` is the long form; the test runs a short
one.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tests.functional.kill_run import FAKES, command, finished, results
from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.config import load_config
from vlassess.pipeline import Asked, Merged
from vlassess.records import RunDirectory
from vlassess.schema.events import SilentListener
from vlassess.sharding import Shard


def write_config(folder: Path, benchmark: str | None, episodes: int) -> Path:
    """Write a run of two policies, the control and, with the fakes, a cell."""
    fake = {"target": f"{FAKES}:FakeBenchmark", "params": {"tasks": 2, "image": 0, "step_seconds": 0.003}}
    noisy = {"local": f"{FAKES}:FakePolicy", "params": {"noise": 0.3, "stride": 0.3}}
    chunked = {"local": f"{FAKES}:FakePolicy", "params": {"chunk": 4, "name": "chunked"}}
    config: dict[str, object] = {
        "benchmark": benchmark or fake,
        "episodes": episodes,
        "cells": [] if benchmark else [{"axis": "start", "level": "far"}],
        "policies": {"expert": "expert", "random": "random"} if benchmark else {"noisy": noisy, "chunked": chunked},
        "output": str(folder / "runs"),
        "execution": {"workers": None if benchmark else 1},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def run_part(config: Path, shard: Shard | None = None) -> Path:
    """Run a config, or one shard of it, in this process."""
    asked = Asked(shard=shard, command=("vlassess", "run", str(config)))
    result = pipeline.start(load_config(str(config)), Catalog.discover(), SilentListener(), asked=asked)
    assert result.exit_code == 0, result.reasons
    return result.run_dir


def run_killed(config: Path, shard: Shard) -> Path:
    """Run one shard, kill its coordinator after its first record, and resume it until it is complete."""
    before = set((config.parent / "runs").glob("*"))
    child = subprocess.Popen(
        command(str(config), "--shard", str(shard)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    run: Path | None = None
    while child.poll() is None:
        made = [path for path in set((config.parent / "runs").glob("run-*")) - before if (path / "run.json").exists()]
        run = made[0] if made else None
        if finished(run):
            child.send_signal(signal.SIGKILL)
            break
        time.sleep(0.005)
    child.wait()
    assert run is not None
    assert child.returncode == -signal.SIGKILL, "the shard ended before it could be killed"
    directory = RunDirectory.open(run)
    done = {record.item_id for record in directory.records().records}
    assert len(done) < len(directory.items()), "the shard was complete before it was killed"
    result = pipeline.resume(run, None, Catalog.discover(), SilentListener())
    assert result.exit_code == 0, result.reasons
    return run


def compare(folder: Path, benchmark: str | None, episodes: int, of: int = 7) -> Merged:
    """Run whole and in shards; the merged run must equal the whole one in every compared field."""
    (folder / "whole").mkdir(parents=True)
    (folder / "parts").mkdir()
    whole = run_part(write_config(folder / "whole", benchmark, episodes))
    config = write_config(folder / "parts", benchmark, episodes)
    runs = [run_killed(config, Shard(1, of)), *(run_part(config, Shard(number, of)) for number in range(2, of + 1))]
    twice = run_part(config, Shard(of, of))
    merged = pipeline.merge([*runs, twice], folder / "merged")
    assert results(merged.result.run_dir) == results(whole)
    one, other = RunDirectory.open(whole), RunDirectory.open(merged.result.run_dir)
    assert one.items() == other.items()
    assert one.manifest.plan_hash == other.manifest.plan_hash
    assert [source.duplicates for source in merged.sources] == [0] * of + [len(RunDirectory.open(twice).items())]
    assert merged.result.exit_code == 0
    assert merged.remaining == ()
    return merged


def main() -> None:
    """Run the long form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10, help="starts per task")
    parser.add_argument("--benchmark", default=None, help="a bundled benchmark; the fake one without it")
    parser.add_argument("--shards", type=int, default=7)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shards-") as folder:
        merged = compare(Path(folder), options.benchmark, options.episodes, options.shards)
    items = merged.result.summary.counts.planned
    sys.stdout.write(
        f"{items} items in {options.shards} shards, one twice, one killed and resumed: equal to the whole run in every "
        f"compared field, {time.monotonic() - begin:.0f} s\n"
    )


if __name__ == "__main__":
    main()
