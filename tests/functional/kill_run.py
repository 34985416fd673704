"""Kills a run again and again and compares what it recorded with an undisturbed one.

`python tests/functional/kill_run.py --kills 20 --episodes 100 --benchmark tabletop-v1` is the long form; the test
runs a short one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vlassess.records import RunDirectory
from vlassess_link.data import COMPARED, EpisodeRecord

FAKES = "vlassess_link.testing.fakes"
ROLES = ("worker", "server", "coordinator")


@dataclass
class Tally:
    """What was done to a run."""

    killed: dict[str, int] = field(default_factory=dict)
    resumed: int = 0


def write_config(folder: Path, benchmark: str | None, episodes: int) -> Path:
    """Write a run of two policies: a served one with noise and a local one."""
    fake = {"target": f"{FAKES}:FakeBenchmark", "params": {"tasks": 2, "step_seconds": 0.01}}
    served = {"serve": f"{FAKES}:FakePolicy", "params": {"noise": 0.3, "stride": 0.3}}
    local = {"local": f"{FAKES}:FakePolicy", "params": {"chunk": 4, "name": "local"}}
    config: dict[str, object] = {
        "benchmark": benchmark or fake,
        "episodes": episodes,
        "policies": {"expert": "expert", "random": "random"} if benchmark else {"served": served, "local": local},
        "output": str(folder / "runs"),
        "execution": {"workers": 2, "retries": 4},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def command(*arguments: str) -> list[str]:
    """Return the command line of vlassess with ``arguments``."""
    return [sys.executable, "-m", "vlassess", "run", *arguments]


def only_run(folder: Path) -> Path | None:
    """Return the one run directory that was begun."""
    runs = [path for path in (folder / "runs").glob("run-*") if (path / "run.json").exists()]
    return runs[0] if runs else None


def family(pid: int) -> dict[str, list[int]]:
    """Return the processes of a coordinator, by role."""
    found: dict[str, list[int]] = {"coordinator": [pid], "worker": [], "server": []}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        if parent == pid and "vlassess_link.worker" in line:
            found["worker"].append(int(entry.name))
        elif parent == pid and "vlassess_link.policies.server" in line:
            found["server"].append(int(entry.name))
    return found


def finished(run: Path | None) -> int:
    """Return how many lines are recorded."""
    path = run / "episodes.jsonl" if run else None
    return path.read_bytes().count(b"\n") if path and path.exists() else 0


def disturbed(folder: Path, config: Path, kills: int, total: int, seed: int) -> Tally:
    """Run with ``kills`` kills spread over the run, each followed by a resume, until it is complete."""
    rng = random.Random(seed)
    tally = Tally()
    arguments: tuple[str, ...] = (str(config),)
    for number in range(kills + 1):
        process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        due = number < kills and wait_for(
            process, folder, total * number // kills + rng.randrange(max(1, total // kills))
        )
        time.sleep(rng.random() * 0.2)
        if due:
            strike(process, rng.choice(ROLES), rng, tally)
        process.wait(300)
        run = only_run(folder)
        arguments = ("--resume", str(run)) if run else (str(config),)
        tally.resumed += number < kills
    assert process.returncode == 0, f"the last resume ended with {process.returncode}"
    return tally


def wait_for(process: subprocess.Popen[bytes], folder: Path, records: int) -> bool:
    """Wait until the run has at least ``records`` records and workers; False where it ended before."""
    while process.poll() is None:
        if finished(only_run(folder)) >= records and (records == 0 or family(process.pid)["worker"]):
            return True
        time.sleep(0.01)
    return False


def strike(process: subprocess.Popen[bytes], role: str, rng: random.Random, tally: Tally) -> None:
    """Kill one process of a role; where that was not the coordinator, stop it a little later, now and then politely."""
    victims = family(process.pid)[role] or [process.pid]
    os.kill(rng.choice(victims), signal.SIGKILL)
    tally.killed[role] = tally.killed.get(role, 0) + 1
    if role != "coordinator" and victims != [process.pid]:
        time.sleep(rng.random())
        if process.poll() is None:
            process.send_signal(rng.choice((signal.SIGINT, signal.SIGKILL)))


def results(run: Path) -> dict[str, dict[str, object]]:
    """Return item id -> the compared fields of its final record; every item must have exactly one."""
    directory = RunDirectory.open(run)
    final: dict[str, EpisodeRecord] = {}
    for record in directory.records().records:
        if record.final:
            assert record.item_id not in final, f"item {record.item_id} has two final records"
            final[record.item_id] = record
    assert set(final) == {item.item_id for item in directory.items()}
    return {item: {name: getattr(record, name) for name in COMPARED} for item, record in final.items()}


def compare(folder: Path, benchmark: str | None, episodes: int, kills: int, seed: int) -> Tally:
    """Run undisturbed and disturbed and compare every compared field."""
    calm, wild = folder / "calm", folder / "wild"
    for place in (calm, wild):
        place.mkdir(parents=True)
    quiet = subprocess.run(command(str(write_config(calm, benchmark, episodes))), capture_output=True, check=False)
    assert quiet.returncode == 0, quiet.stderr.decode()
    calm_run = only_run(calm)
    assert calm_run is not None
    expected = results(calm_run)
    tally = disturbed(wild, write_config(wild, benchmark, episodes), kills, len(expected), seed)
    wild_run = only_run(wild)
    assert wild_run is not None
    found = results(wild_run)
    assert found == expected
    return tally


def main() -> None:
    """Run the long form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=50, help="starts per task")
    parser.add_argument("--benchmark", default=None, help="a bundled benchmark; the fake one without it")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    begin = time.monotonic()
    tally = compare(folder, options.benchmark, options.episodes, options.kills, options.seed)
    shutil.rmtree(folder)
    print(f"equal in every compared field after kills of {tally.killed}, {tally.resumed} resumes,", end=" ")
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
