"""``python -m vlassess_link.testing``: the kits, and the courses of another process, as JSON on stdout.

::

    python -m vlassess_link.testing benchmark TARGET [--params-json JSON] [--expert TARGET] [--only NAME]...
    python -m vlassess_link.testing policy TARGET|URL [--params-json JSON] [--benchmark TARGET] [--only NAME]...

It prints one line, a `KitReport`, and exits with 1 where a check failed, 2 where the subject cannot be loaded.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import Any, Dict, List, Optional, TextIO

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.loading import load_target
from vlassess_link.testing.benchmark_kit import run_benchmark_kit
from vlassess_link.testing.benchmark_subject import MOST_TASKS, benchmark_subject
from vlassess_link.testing.courses import lively, run_course
from vlassess_link.testing.kit import KitReport


def main(argv: Optional[List[str]] = None) -> int:
    """Run what the command line asks for and return the exit code."""
    options = _parser().parse_args(argv)
    with _set_stdout_aside() as out:
        try:
            found: Any = _courses() if options.what == "courses" else _report(options)
        except VlassessError as error:
            sys.stderr.write(f"error: {error}\n")
            return 2
        out.write(json.dumps(to_json(found), allow_nan=False) + "\n")
        return 1 if isinstance(found, KitReport) and not found.ok else 0


def _report(options: argparse.Namespace) -> KitReport:
    params = json.loads(options.params_json)
    if options.what == "benchmark":
        subject = benchmark_subject(options.subject, params, options.expert, options.tasks)
        try:
            return run_benchmark_kit(subject, options.only)
        finally:
            subject.benchmark.close()
    # Needs a newer Python than simulators have.
    kit: Any = importlib.import_module("vlassess_link.testing.policy_kit")
    benchmark = json.loads(options.benchmark) if options.benchmark else None
    report: KitReport = kit.examine_policy(options.subject, params, benchmark, options.only)
    return report


def _courses() -> List[Dict[str, str]]:
    asked: Dict[str, Any] = json.loads(sys.stdin.read())
    benchmark: Benchmark = load_target(asked["target"], Benchmark, asked["params"])
    found = []
    for raw in asked["episodes"]:
        episode = from_json(Episode, raw)
        found.append(run_course(benchmark, episode, lively(benchmark.spec, 7, asked["steps"])).digests)
    benchmark.close()
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vlassess_link.testing", description="Run a conformance kit.")
    parser.add_argument("what", choices=("benchmark", "policy", "courses"))
    parser.add_argument("subject", nargs="?", default="", help="file.py:Class, module:Class; for a policy also its url")
    parser.add_argument("--params-json", default="{}", metavar="JSON", help="constructor arguments as a JSON object")
    parser.add_argument("--expert", metavar="TARGET", help="a policy that succeeds on the benchmark")
    parser.add_argument("--tasks", type=int, default=MOST_TASKS, metavar="N", help="tasks of the benchmark to try")
    parser.add_argument(
        "--benchmark", metavar="JSON", help='{"target": ..., "params": ...}: whose observations it gets'
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this check alone; repeatable")
    return parser


def _set_stdout_aside() -> TextIO:
    """Return the real stdout, and point descriptor 1 at stderr for everybody else: simulators print."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


if __name__ == "__main__":
    sys.exit(main())
