"""What an episode of LIBERO costs here and under vla-eval: CPU seconds, same actions, starts, pictures and outcomes.

Usage: ``make bench NAME=libero``. The expert's actions for six tasks are written down, then served in chunks of 10 by
either side's own policy server and executed by either side's own loop, in the same interpreter with the same LIBERO,
each with two workers at a time; figures are medians of the six. vla-eval's loop observes at every step and sends PNGs,
as its LIBERO adapter does.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reporting import at_least, at_most, bench

from vlassess.catalog import Catalog
from vlassess.execution import in_environment, prepare, worker_launch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TASKS = ((0, 1), (8, 0), (1, 2), (2, 3), (4, 4), (6, 5))
"""(task of libero_spatial, stored start)."""
WORKERS = 2
WARM_STEPS = 3


def main() -> None:
    """Record the actions, run both sides, print the figures."""
    peers = _python_of_vlaeval()
    with tempfile.TemporaryDirectory() as folder:
        actions = Path(folder) / "actions.json"
        _finished([_started("record.py", [json.dumps(TASKS), str(actions)])])
        ours, our_server = _side("ours.py", [str(actions)])
        theirs, their_server = _side("theirs.py", [str(actions), peers])
    _report(ours, theirs, our_server, their_server)


def _side(script: str, arguments: list[str]) -> tuple[list[dict[str, Any]], float]:
    """Return what each worker measured, and the server's CPU seconds per step of the measured episodes."""
    server = _started(script, ["server", *arguments])
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        before = _cpu(server.pid)
        found: list[dict[str, Any]] = []
        for first in range(0, len(TASKS), WORKERS):
            numbers = range(first, min(first + WORKERS, len(TASKS)))
            found += _finished([_started(script, ["worker", *arguments, url, str(number)]) for number in numbers])
        spent = _cpu(server.pid) - before
    finally:
        server.kill()
        server.wait()
    return found, spent / sum(worker["steps"] + WARM_STEPS for worker in found)


def _started(script: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
    entry = Catalog.discover().benchmarks["libero-v1"]
    assert entry.interpreter is not None
    environment = prepare(entry.interpreter, entry.name, lambda line: print(line, file=sys.stderr))
    launch = in_environment(worker_launch(entry.target, entry.params, entry.env), environment)
    command = [launch.command[0], str(HERE / script), *arguments]
    return subprocess.Popen(
        command,
        env=dict(launch.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _finished(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"a side failed: {[(process.args, process.returncode) for process in processes]}")
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def _python_of_vlaeval() -> str:
    """Return the folder of vla-eval's packages, which LIBERO's interpreter imports beside its own."""
    sys.path.append(str(ROOT / "tools"))
    peers = __import__("peers")
    python = peers.built("vla-eval")
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _report(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], our_server: float, their_server: float) -> None:
    equal = all(
        (one["steps"], one["success"], one["state"]) == (other["steps"], other["success"], other["state"])
        for one, other in zip(ours, theirs, strict=True)
    )
    bench("libero-same-steps-success-and-last-state", float(equal), "1", equal and all(one["success"] for one in ours))
    step_here = statistics.median(_mean(one["per_step"]) for one in ours) + our_server
    step_there = statistics.median(statistics.median(one["per_step"]) for one in theirs) + their_server
    bench("libero-step-cpu-ms-vlassess", 1000 * step_here)
    bench("libero-step-cpu-ms-vla-eval", 1000 * step_there)
    at_least("libero-step-cpu-ratio", step_there / step_here, 5.0)
    episode_here = statistics.median(one["reset"] + sum(one["per_step"]) + one["steps"] * our_server for one in ours)
    episode_there = statistics.median(
        one["reset"] + sum(one["per_step"]) + one["steps"] * their_server for one in theirs
    )
    bench("libero-reset-cpu-s-vlassess", statistics.median(one["reset"] for one in ours))
    bench("libero-reset-cpu-s-vla-eval", statistics.median(one["reset"] for one in theirs))
    bench("libero-episode-steps", statistics.median(one["steps"] for one in ours))
    at_least("libero-episode-cpu-ratio", episode_there / episode_here, 3.5)
    at_most("libero-loop-overhead-share", statistics.median(one["loop"] / one["simulator"] for one in ours), 0.03)
    _split(ours, theirs, (step_here, step_there))


def _split(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], steps: tuple[float, float]) -> None:
    """Print where the difference of a step's CPU goes: pictures nobody looks at, encoding them, and the rest."""
    picture = statistics.median(statistics.median(one["look"]) for one in ours)
    looks = statistics.median(len(one["look"]) / one["steps"] for one in ours)
    encode = statistics.median(statistics.median(one["encode"]) for one in theirs)
    gain = steps[1] - steps[0]
    rendering, encoding = picture * (1 - looks), encode * (1 - looks)
    bench("libero-gain-share-rendering", rendering / gain)
    bench("libero-gain-share-encoding", encoding / gain)
    bench("libero-gain-share-decoding-scheduling-and-rest", 1 - (rendering + encoding) / gain)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
