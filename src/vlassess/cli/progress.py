"""Shows how a run goes on: a bar in a terminal, now and then a line elsewhere, nothing with ``--json``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from vlassess.report.text import duration, number, one_line
from vlassess.schema.events import SilentListener
from vlassess_link.data import EpisodeRecord

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""

SAME_ERRORS = 3
"""How many errors of one policy, phase and kind are shown; further ones are counted."""

Clock = Callable[[], float]


class Tally:
    """Counts what a run has come to so far. Successes are of n finished, beside the number still to go.

    Args:
        total: Work items of the plan.
        finished_before: How many of them were finished when this began.
        clock: Seconds, from any origin.
    """

    def __init__(self, total: int, finished_before: int, clock: Clock = time.monotonic) -> None:
        self.total = total
        self.finished = finished_before
        self.alive = 0
        self._before = finished_before
        self._clock = clock
        self._began = clock()
        self._done: Counter[str] = Counter()
        self._success: Counter[str] = Counter()
        self._errors: Counter[tuple[str, str, str]] = Counter()

    def add(self, record: EpisodeRecord) -> str | None:
        """Count an attempt; return what people should read of its error, None for none or one often shown."""
        if record.final:
            self.finished += 1
            self._done[record.policy] += 1
            self._success[record.policy] += record.counts_as == "success"
        if record.error is None:
            return None
        error = record.error
        key = (record.policy, error.phase, error.kind)
        self._errors[key] += 1
        if self._errors[key] > SAME_ERRORS:
            return None
        last = "; further ones like it are only counted" if self._errors[key] == SAME_ERRORS else ""
        where = f"{record.suite}/{record.task} #{record.index}, policy {record.policy}, attempt {record.attempt}"
        return f"{error.origin} error in {error.phase}: {where}: {one_line(error.message)}{last}"

    def line(self) -> str:
        """Return everything on one line."""
        minutes = (self._clock() - self._began) / 60
        here = self.finished - self._before
        left = self.total - self.finished
        parts = [f"{self.finished}/{self.total} episodes", *self._successes()]
        if self._errors:
            parts.append(f"errors {sum(self._errors.values())}")
        if here and minutes > 0:
            parts.append(f"{number(here / minutes)}/min")
        if left:
            parts.append(f"{left} to go")
        if here and left and minutes > 0:
            parts.append(f"about {duration(60 * minutes * left / here)} left")
        return ", ".join(parts)

    def _successes(self) -> list[str]:
        so_far = ", ".join(f"{label} {self._success[label]}/{n}" for label, n in self._done.items())
        return [f"success so far {so_far}"] if so_far else []


class LineListener:
    """Prints plain lines: errors and notes at once, the state at most every `LINE_EVERY` seconds.

    Args:
        console: Where to.
        clock: Seconds, from any origin.
    """

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._tally = Tally(0, 0, clock)
        self._printed = clock()

    def __enter__(self) -> LineListener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tally.total:
            self._print(self._tally.line())

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Begin."""
        self._tally = Tally(total, finished_before, self._clock)
        self._print(beginning(run_dir, total, finished_before))

    def note(self, text: str) -> None:
        """Print it."""
        self._print(one_line(text, 500))

    def record(self, record: EpisodeRecord) -> None:
        """Count it; print its error; print the state when it is time."""
        error = self._tally.add(record)
        if error is not None:
            self._print(error)
        if self._clock() - self._printed >= LINE_EVERY and self._tally.finished < self._tally.total:
            self._printed = self._clock()
            self._print(self._tally.line())

    def workers(self, alive: int) -> None:
        """Keep it."""
        self._tally.alive = alive

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


class BarListener:
    """Shows a bar that is drawn anew, with errors and notes above it.

    Args:
        console: A terminal.
    """

    def __init__(self, console: Console) -> None:
        self._tally = Tally(0, 0)
        self._bar = Progress(
            TextColumn("{task.fields[workers]}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            console=console,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> BarListener:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show()
        self._bar.stop()

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Begin."""
        self._tally = Tally(total, finished_before)
        self._above(beginning(run_dir, total, finished_before))
        self._task = self._bar.add_task("", total=total, completed=finished_before, workers="starting")
        self._show()

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self._above(one_line(text, 500))

    def record(self, record: EpisodeRecord) -> None:
        """Count it and print its error above the bar."""
        error = self._tally.add(record)
        if error is not None:
            self._above(error)
        self._show()

    def workers(self, alive: int) -> None:
        """Show it."""
        self._tally.alive = alive
        self._show()

    def _show(self) -> None:
        if self._task is None:
            return
        workers = f"{self._tally.alive} worker{'s' * (self._tally.alive != 1)}"
        self._bar.update(self._task, completed=self._tally.finished, description=self._tally.line(), workers=workers)

    def _above(self, text: str) -> None:
        self._bar.console.print(Text(text))


class QuietListener(SilentListener):
    """Shows nothing."""

    def __enter__(self) -> QuietListener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def beginning(run_dir: Path, total: int, finished_before: int) -> str:
    """Return the sentence that a run begins with."""
    already = f", {finished_before} of them finished before" if finished_before else ""
    return f"{run_dir}: {total} episodes{already}"
