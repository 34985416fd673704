"""What both conformance kits share: checks that are functions with a name and a sentence, results that are data.

A check raises `Broken` where the contract is broken, `NotApplicable` where it says nothing about the subject, and
returns where the contract holds. Whatever else comes out of the subject's own code fails the check too.
"""

from __future__ import annotations

import os
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Generic, List, Optional, Sequence, Tuple, Type, TypeVar

from vlassess_link.errors import (
    ConnectionLost,
    ContractError,
    InferenceTimeout,
    PolicyHangs,
    PolicyUnavailable,
    VlassessError,
)

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NOT_TRIED = "not tried: "
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Where the code lies that is not the subject's."""

SILENT = (InferenceTimeout, ConnectionLost, PolicyHangs, PolicyUnavailable)
"""After these nobody answers any more, and every further check would only wait as long again."""

S = TypeVar("S")


class Broken(VlassessError):
    """The subject breaks its contract; the message says where, with which value, and how to mend it."""


class NotApplicable(VlassessError):
    """The check says nothing about the subject; the message says why."""


@dataclass(frozen=True)
class Check(Generic[S]):
    """One rule of a contract.

    Attributes:
        name: As `--only` and pytest name it.
        sentence: What holds where it passes.
        run: Raises `Broken` or `NotApplicable`, else returns.
    """

    name: str
    sentence: str
    run: Callable[[S], None]


@dataclass(frozen=True)
class CheckResult:
    """What came of one check.

    Attributes:
        name, sentence: The check's.
        status: "passed", "failed" or "skipped".
        reason: Why it failed or was skipped; empty where it passed.
        seconds: How long it took.
        traceback: Of the subject's own exception, for people; empty where there was none.
    """

    name: str
    sentence: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    traceback: str = ""

    @property
    def untried(self) -> bool:
        """Whether the subject had died or fallen silent before it: nobody knows whether it holds."""
        return self.status == SKIPPED and self.reason.startswith(NOT_TRIED)


@dataclass(frozen=True)
class KitReport:
    """What a kit says of one subject.

    Attributes:
        kit: "benchmark" or "policy".
        subject: Its name.
        results: One a check, in the kit's order.
    """

    kit: str
    subject: str
    results: Tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(result.status != FAILED for result in self.results)

    def count(self, status: str) -> int:
        """Return how many checks have a status."""
        return sum(result.status == status for result in self.results)

    def text(self) -> str:
        """Return the report for people: a line a check, its reason below it."""
        lines = [f"{self.kit} {self.subject}"]
        for result in self.results:
            lines.append(f"  {result.status:<8} {result.name}: {result.sentence}")
            if result.reason:
                lines.append(f"  {'':<8} {result.reason}")
        counts = ", ".join(f"{self.count(status)} {status}" for status in (PASSED, FAILED, SKIPPED))
        return "\n".join([*lines, counts])


def chosen(checks: Sequence[Check[S]], only: Optional[Sequence[str]]) -> List[Check[S]]:
    """Return the checks of these names, in the kit's order; all for None.

    Raises:
        ContractError: no check has one of the names.
    """
    names = [check.name for check in checks]
    unknown = [name for name in only or () if name not in names]
    if unknown:
        raise ContractError(f"no check is called {unknown[0]!r}; they are {', '.join(names)}")
    return [check for check in checks if only is None or check.name in only]


class Hearer:
    """Hears of each check as it begins and ends; this one does nothing with it.

    Attributes:
        fence: What of a subject's exceptions fails a check. Ctrl-C is not in it: a person ends the kit.
    """

    fence: Tuple[Type[BaseException], ...] = (Exception, SystemExit)

    def planned(self, kit: str, subject: str, checks: Sequence[Check[Any]]) -> None:
        """Hear which checks will run on which subject."""

    def begun(self, name: str) -> None:
        """Hear that a check begins."""

    def ended(self, result: CheckResult) -> None:
        """Hear what came of it."""


def run_checks(kit: str, named: str, checks: Sequence[Check[S]], subject: S, hearer: Optional[Hearer]) -> KitReport:
    """Return what came of each check, in order; after one that nobody answered in, the others are skipped.

    Args:
        kit: "benchmark" or "policy".
        named: The subject's name.
        checks: Which ones.
        subject: What they are run on.
        hearer: Told of each.
    """
    heard = hearer or Hearer()
    heard.planned(kit, named, checks)
    results: List[CheckResult] = []
    silent = ""
    for check in checks:
        heard.begun(check.name)
        result, error = _run(check, subject, heard.fence) if not silent else (untried(check, silent), None)
        heard.ended(result)
        results.append(result)
        if isinstance(error, SILENT):
            silent = f"nobody answered any more in {check.name}; mend that first"
    return KitReport(kit, named, tuple(results))


def untried(check: Check[Any], why: str) -> CheckResult:
    """Return the result of a check that was not tried."""
    return CheckResult(check.name, check.sentence, SKIPPED, f"{NOT_TRIED}{why}")


def run_check(check: Check[S], subject: S) -> CheckResult:
    """Run one check; whatever it raises is its result."""
    return _run(check, subject, Hearer.fence)[0]


def _run(
    check: Check[S], subject: S, fence: Tuple[Type[BaseException], ...]
) -> Tuple[CheckResult, Optional[BaseException]]:
    begin = time.perf_counter()
    status, reason, trace = PASSED, "", ""
    raised: Optional[BaseException] = None
    try:
        check.run(subject)
    except NotApplicable as skipped:
        status, reason = SKIPPED, str(skipped)
    except Broken as broken:
        status, reason = FAILED, str(broken)
    except fence as error:
        raised = error
        status, reason = FAILED, f"{type(error).__name__}{_where(error)}{f': {error}' if str(error) else ''}"
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-4000:]
    seconds = round(time.perf_counter() - begin, 6)
    return CheckResult(check.name, check.sentence, status, " ".join(reason.split()), seconds, trace), raised


def _where(error: BaseException) -> str:
    """Return in which function of the subject's it was raised, as words; empty where none of its code was running."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not os.path.abspath(frame.filename).startswith(OWN)]
    if not theirs:
        return ""
    return f" in {theirs[0].name} ({os.path.basename(theirs[0].filename)}, line {theirs[0].lineno})"


def expect(holds: Any, broken: str) -> None:
    """Raise `Broken` with a sentence unless something holds."""
    if not holds:
        raise Broken(broken)
