"""In LIBERO's interpreter: writes the expert's actions down. Usage: ``record.py TASKS FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from shared import ADAPTER, EXPERT, SUITE, episode

from vlassess_link import Benchmark, EpisodeStart, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.loading import load_target


def main() -> None:
    """Run the expert on each task without looking."""
    benchmark = load_target(ADAPTER, Benchmark, {})
    expert = load_target(EXPERT, Policy, {})
    expert.bind(benchmark)
    benchmark.view = View({})
    tasks = [task for task in benchmark.spec.tasks if task.suite == SUITE]
    found = []
    for index, state in json.loads(sys.argv[1]):
        task = tasks[index]
        raw = benchmark.reset(episode(task.name, state))
        expert.reset(EpisodeStart("e", SUITE, task.name, raw.instruction), 0)
        actions = []
        for _ in range(task.step_limit):
            # In numbers that float32 holds, in which vla-eval hands actions on.
            actions.append(expert.predict(None).actions[0].astype(np.float32).tolist())
            if benchmark.get_step_result(benchmark.step(np.array(actions[-1]))).success:
                break
        found.append({"task": task.name, "index": index, "state": state, "words": raw.instruction, "actions": actions})
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
    print("{}")


if __name__ == "__main__":
    main()
