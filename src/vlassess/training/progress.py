"""Says how far a long piece of work is: a bar with the time that is left in a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from vlassess.report.text import duration

LINE_EVERY = 20.0
"""Seconds between two lines where there is no terminal."""

Advance = Callable[[int, str], None]
"""Called with how much more is done, and a note to show."""


class Reporter:
    """Reports to a stream.

    Args:
        stream: Standard error by default.
        clock: Seconds, from any origin.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream or sys.stderr)
        self._clock = clock

    def say(self, sentence: str) -> None:
        """Print a line."""
        self._console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def work(self, name: str, total: int, done: int = 0) -> Iterator[Advance]:
        """Report one piece of work of ``total`` units, of which some may be done already."""
        if self._console.is_terminal:
            with self._bar() as bar:
                task = bar.add_task(name, total=total, completed=done, note="")
                yield lambda more, note: bar.update(task, advance=more, note=note)
            return
        lines = _Lines(name, total, done, self._clock)
        yield lambda more, note: self._line(lines.after(more, note))

    def _line(self, sentence: str | None) -> None:
        if sentence is not None:
            self.say(sentence)

    def _bar(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
        )


class _Lines:
    """Decides when a line is due, and what it says."""

    def __init__(self, name: str, total: int, done: int, clock: Callable[[], float]) -> None:
        self._name, self._total, self._done, self._before = name, total, done, done
        self._clock = clock
        self._began = self._last = clock()

    def after(self, more: int, note: str) -> str | None:
        self._done += more
        now = self._clock()
        if now - self._last < LINE_EVERY and self._done < self._total:
            return None
        self._last = now
        new = self._done - self._before
        left = (now - self._began) / new * (self._total - self._done) if new else None
        return f"{self._name}: {self._done} of {self._total}, {duration(left)} left  {note}".rstrip()
