"""Writes LIBERO's ``tasks.json`` from the installed package; run it in the environment of ``libero-v1``.

Usage: ``PYTHON tools/write_libero_tasks.py``, with the interpreter that ``vlassess doctor`` names. A test holds the
file to the package.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "benchmarks" / "libero" / "tasks.json"
SUITES = ("libero_spatial", "libero_object", "libero_goal", "libero_10", "libero_90")


def upstream() -> dict[str, list[dict[str, Any]]]:
    """Return suite -> tasks in upstream's order: name, text, number of stored starts."""
    with contextlib.redirect_stdout(sys.stderr):
        # Only the benchmark's own environment has it, and it prints while it is imported.
        benchmark = importlib.import_module("libero.libero.benchmark")
        suites = {name: benchmark.get_benchmark_dict()[name]() for name in SUITES}
        return {
            name: [
                {"name": task.name, "instruction": task.language, "states": len(suite.get_task_init_states(index))}
                for index, task in enumerate(suite.tasks)
            ]
            for name, suite in suites.items()
        }


def main() -> None:
    """Write the file; how long a task takes is kept from the old one."""
    found = upstream()
    if FILE.exists():
        old = json.loads(FILE.read_text(encoding="utf-8"))
        steps = {(suite, task["name"]): task.get("expected_steps") for suite in old for task in old[suite]}
        for suite, listed in found.items():
            for task in listed:
                if steps.get((suite, task["name"])) is not None:
                    task["expected_steps"] = steps[suite, task["name"]]
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    main()
