"""``python -m vlassess_link.testing``: the kits, and the courses of another process, as JSON on stdout.

::

    python -m vlassess_link.testing benchmark TARGET [--params-json JSON] [--expert TARGET] [--only NAME]...
    python -m vlassess_link.testing policy TARGET|URL [--params-json JSON] [--benchmark JSON] [--only NAME]...

It prints one line, a `KitReport`, and exits with 1 where a check failed, 2 where the subject cannot be loaded. With
``--supervised`` it prints ``{"planned": [[NAME, SENTENCE], ...], "kit": KIT, "subject": NAME}``, then a line as each
check begins, ``{"begun": NAME}``, and one as it ends, ``{"ended": CheckResult}``, before the report,
``{"report": KitReport}``: so whoever started it knows in which check it died or hangs. It ends with its stdin.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import threading
from typing import Any, Dict, List, Optional, Sequence, TextIO

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode
from vlassess_link.errors import VlassessError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.loading import load_target
from vlassess_link.testing.benchmark_kit import run_benchmark_kit
from vlassess_link.testing.benchmark_subject import MOST_TASKS, benchmark_subject
from vlassess_link.testing.courses import lively, run_course
from vlassess_link.testing.kit import Check, CheckResult, Hearer, KitReport


def main(argv: Optional[List[str]] = None) -> int:
    """Run what the command line asks for and return the exit code."""
    options = _parser().parse_args(argv)
    with _set_stdout_aside() as out:
        hearer = Supervised(out) if options.supervised else Hearer()
        try:
            found: Any = _courses() if options.what == "courses" else _report(options, hearer)
        except VlassessError as error:
            sys.stderr.write(f"error: {error}\n")
            return 2
        _say(out, {"report": found} if options.supervised else found)
        return 1 if isinstance(found, KitReport) and not found.ok else 0


class Supervised(Hearer):
    """Tells whoever started the process of each check, and leaves Ctrl-C to them: only a subject can raise it here."""

    fence = (Exception, SystemExit, KeyboardInterrupt)

    def __init__(self, out: TextIO) -> None:
        self._out = out
        signal.signal(signal.SIGINT, lambda number, frame: None)
        threading.Thread(target=_end_with_stdin, name="supervision", daemon=True).start()

    def planned(self, kit: str, subject: str, checks: Sequence[Check[Any]]) -> None:
        """Tell it."""
        named = [(check.name, check.sentence) for check in checks]
        _say(self._out, {"planned": named, "kit": kit, "subject": subject})

    def begun(self, name: str) -> None:
        """Tell it."""
        _say(self._out, {"begun": name})

    def ended(self, result: CheckResult) -> None:
        """Tell it."""
        _say(self._out, {"ended": result})


def _end_with_stdin() -> None:
    """End the process once whoever started it is gone, or gives it up."""
    os.read(0, 1)
    os._exit(3)


def _say(out: TextIO, what: Any) -> None:
    out.write(json.dumps(to_json(what), allow_nan=False) + "\n")
    out.flush()


def _report(options: argparse.Namespace, hearer: Hearer) -> KitReport:
    params = options.params_json
    if options.what == "benchmark":
        subject = benchmark_subject(options.subject, params, options.expert, options.tasks)
        try:
            return run_benchmark_kit(subject, options.only, hearer)
        finally:
            subject.benchmark.close()
    # Needs a newer Python than simulators have.
    kit: Any = importlib.import_module("vlassess_link.testing.policy_kit")
    report: KitReport = kit.examine_policy(
        options.subject, params, options.benchmark, options.only, hearer, options.seconds
    )
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
    parser.add_argument(
        "--params-json", default={}, type=_object, metavar="JSON", help="constructor arguments as a JSON object"
    )
    parser.add_argument("--expert", metavar="TARGET", help="a policy that succeeds on the benchmark")
    parser.add_argument("--tasks", type=int, default=MOST_TASKS, metavar="N", help="tasks of the benchmark to try")
    parser.add_argument(
        "--benchmark",
        type=_benchmark,
        metavar="JSON",
        help='{"target": ..., "params": ...}: whose observations it gets',
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this check alone; repeatable")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="of a policy with a url: most that an answer may take"
    )
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)
    return parser


def _object(text: str) -> Dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object, as {{}}")
    return found


def _benchmark(text: str) -> Dict[str, Any]:
    found = _object(text)
    if not isinstance(found.get("target"), str) or not isinstance(found.get("params", {}), dict):
        raise argparse.ArgumentTypeError(f'{text!r} is not as {{"target": "adapter.py:Kitchen", "params": {{}}}}')
    return found


def _set_stdout_aside() -> TextIO:
    """Return the real stdout, and point descriptor 1 at stderr for everybody else: simulators print."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


if __name__ == "__main__":
    sys.exit(main())
