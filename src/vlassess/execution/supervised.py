"""A conformance kit in a process of its own: what dies or hangs in a check fails that check, and is said."""

from __future__ import annotations

import dataclasses
import queue
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlassess.execution.process import Event, Gone, LineProcess
from vlassess_link.errors import PluginError
from vlassess_link.jsonable import from_json
from vlassess_link.testing.kit import FAILED, Check, CheckResult, KitReport, untried

NOTHING = "it said nothing"


@dataclasses.dataclass
class _Progress:
    """What the kit has told so far."""

    kit: str = ""
    subject: str = ""
    planned: tuple[Check[Any], ...] = ()
    running: str = ""
    results: list[CheckResult] = dataclasses.field(default_factory=list)
    report: KitReport | None = None

    def hear(self, message: Mapping[str, Any]) -> None:
        if "planned" in message:
            self.kit, self.subject = message["kit"], message["subject"]
            self.planned = tuple(Check(name, sentence, _run_elsewhere) for name, sentence in message["planned"])
        elif "begun" in message:
            self.running = message["begun"]
        elif "ended" in message:
            self.running = ""
            self.results.append(from_json(CheckResult, message["ended"]))
        elif "report" in message:
            self.report = from_json(KitReport, message["report"])

    def broken_off(self, why: str, mend: str) -> KitReport:
        """Return the report of a kit that never came to its end: the running check failed, the rest is not tried."""
        done = {result.name for result in self.results}
        rest = [check for check in self.planned if check.name not in done]
        first = rest[0] if rest else None
        results = list(self.results)
        for check in rest:
            if check is first:
                results.append(CheckResult(check.name, check.sentence, FAILED, f"{why}; {mend}"))
            else:
                results.append(untried(check, f"{why} in {rest[0].name}; mend that first"))
        return KitReport(self.kit, self.subject, tuple(results))


def _run_elsewhere(subject: Any) -> None:
    raise AssertionError("this check runs in the kit's own process")


def supervised_kit(command: Sequence[str], env: Mapping[str, str], log: Path, seconds: float) -> KitReport:
    """Run ``python -m vlassess_link.testing ... --supervised`` and return its report, whole or not.

    The process and all that it started end with this call, and with this process.

    Args:
        command: The command line, without ``--supervised``.
        env: Its whole environment.
        log: File for what it writes on stderr.
        seconds: Most that loading, and then each check, may take.

    Raises:
        PluginError: it ended or hung before its first check; quotes its last words.
    """
    events: queue.Queue[Event] = queue.Queue()
    process = LineProcess([*command, "--supervised"], env, events, log)
    progress = _Progress()
    try:
        return _followed(process, events, progress, seconds)
    finally:
        process.kill()
        process.close(patience=0.0)


def _followed(process: LineProcess, events: queue.Queue[Event], progress: _Progress, seconds: float) -> KitReport:
    until = time.monotonic() + seconds
    while progress.report is None:
        try:
            event = events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            why, mend = f"it did not end within {seconds:g} s", "mend what hangs, or allow more with --seconds"
            if not progress.planned:
                raise PluginError(f"loading it did not end within {seconds:g} s; {mend}") from None
            return progress.broken_off(why, mend)
        if isinstance(event, Gone):
            return _buried(process, event.returncode, progress)
        progress.hear(event.message)
        until = time.monotonic() + seconds
    return progress.report


def _buried(process: LineProcess, returncode: int, progress: _Progress) -> KitReport:
    words = process.last_words()
    if not progress.planned:
        if returncode == 2 and words:  # its own sentence
            raise PluginError(words)
        raise PluginError(f"loading it ended the process ({_how(returncode)}): {words or NOTHING}")
    return progress.broken_off(f"it ended the process ({_how(returncode)})", f"its last words: {words or NOTHING}")


def _how(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
