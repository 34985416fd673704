"""Shows how a run goes on: a bar in a terminal, now and then a line elsewhere, nothing with ``--json``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
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
        return ", ".join(part for part in (self.state(), self.successes()) if part)

    def state(self) -> str:
        """Return how far it is: finished of all, errors, speed, how many are to go, and for how long."""
        minutes = (self._clock() - self._began) / 60
        here = self.finished - self._before
        left = self.total - self.finished
        parts = [f"{self.finished}/{self.total} episodes"]
        if self._errors:
            parts.append(f"errors {sum(self._errors.values())}")
        if here and minutes > 0:
            parts.append(f"{number(here / minutes)}/min")
        if left:
            parts.append(f"{left} to go")
        if here and left and minutes > 0:
            parts.append(f"about {duration(round(60 * minutes * left / here))} left")
        return ", ".join(parts)

    def successes(self) -> str:
        """Return each policy's successes of those that finished since this began, empty before the first."""
        so_far = ", ".join(f"{label} {self._success[label]}/{n}" for label, n in self._done.items())
        return f"success so far {so_far}" if so_far else ""


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
    """Shows two lines that are drawn anew, a bar and the successes, with errors and notes above them.

    Args:
        console: A terminal.
    """

    def __init__(self, console: Console) -> None:
        self._tally: Tally | None = None
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> BarListener:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Begin."""
        self._tally = Tally(total, finished_before)
        self._above(beginning(run_dir, total, finished_before))

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self._above(one_line(text, 500))

    def record(self, record: EpisodeRecord) -> None:
        """Count it and print its error above the bar."""
        error = self._tally.add(record) if self._tally is not None else None
        if error is not None:
            self._above(error)

    def workers(self, alive: int) -> None:
        """Show it."""
        if self._tally is not None:
            self._tally.alive = alive

    def _render(self) -> RenderableType:
        if self._tally is None:
            return Text("starting")
        bar = ProgressBar(total=self._tally.total, completed=self._tally.finished, width=16)
        workers = f"{self._tally.alive} worker{'s' * (self._tally.alive != 1)}"
        line = Table.grid(padding=(0, 1))
        line.add_row(bar, Text(self._tally.state()))
        return Group(line, Text(", ".join(part for part in (workers, self._tally.successes()) if part)))

    def _above(self, text: str) -> None:
        self._live.console.print(Text(text))


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
