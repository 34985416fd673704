"""Evaluates a model again and again in one process and prints what the process holds after each time, as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from pathlib import Path

import vlassess
from vlassess_link.testing import FakePolicy

CONFIG = {
    "benchmark": {"target": "vlassess_link.testing:FakeBenchmark", "params": {"tasks": 1}},
    "episodes": 4,
    "execution": {"workers": 2},
}


def held() -> dict[str, int]:
    """Return resident KiB, threads, descriptors and children of this process."""
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return {
        "rss": int(status["VmRSS"].split()[0]),
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": len(children.read_text(encoding="utf-8").split()) if children.exists() else 0,
    }


def main(times: int) -> None:
    """Evaluate."""
    model = FakePolicy(2)
    for _ in range(times):
        run = vlassess.run(CONFIG, policy=model)
        if not run.complete or len(run.frame()) != 4:
            raise SystemExit(f"the run is not whole: {run!r}")
        sys.stdout.write(json.dumps(held()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
