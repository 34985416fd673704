"""The errors of a run, like ones together, cut to what a page can carry."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from vlassess.report.text import one_line, printable, shortened_middle
from vlassess.schema.attempts import by_item, counting
from vlassess_link.data import EpisodeRecord, ErrorInfo

SHOWN = 60
"""Most kinds of error on a page."""
EPISODES = 8
"""Episodes that one kind names."""
MESSAGE, TRACEBACK = 1500, 4000
"""Characters kept of each; the records have the whole."""
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class ErrorGroup:
    """Errors with the same policy, origin, phase, kind and message, numbers in it apart.

    Attributes:
        policy: Label.
        origin, phase, kind: As in `ErrorInfo`, showable.
        message, traceback: Of the first one; the traceback may be empty.
        messages: How many different messages there are.
        attempts: How many attempts ended so.
        left: How many episodes count as this error (or, of origin policy, as a failure by it).
        episodes: The first of them, for people ("suite/task 3").
    """

    policy: str
    origin: str
    phase: str
    kind: str
    message: str
    traceback: str
    messages: int
    attempts: int
    left: int
    episodes: tuple[str, ...]

    @property
    def unnamed(self) -> int:
        """Attempts beyond the named episodes."""
        return self.attempts - len(self.episodes)


def error_groups(records: Sequence[EpisodeRecord]) -> tuple[ErrorGroup, ...]:
    """Return every kind of error among all attempts, the most frequent first."""
    left = {id(counting(attempts)) for attempts in by_item(records).values()}
    found: dict[tuple[str, ...], list[tuple[EpisodeRecord, ErrorInfo]]] = defaultdict(list)
    for record in records:
        error = record.error
        if error is not None:
            alike = _NUMBERS.sub("#", error.message[:MESSAGE])
            found[record.policy, error.origin, error.phase, error.kind, alike].append((record, error))
    groups = [_group(together, left) for together in found.values()]
    return tuple(sorted(groups, key=lambda group: (-group.left, -group.attempts)))


def _group(together: Sequence[tuple[EpisodeRecord, ErrorInfo]], left: set[int]) -> ErrorGroup:
    first, error = together[0]
    return ErrorGroup(
        policy=one_line(first.policy),
        origin=error.origin,
        phase=one_line(error.phase),
        kind=one_line(error.kind),
        message=shortened_middle(printable(error.message), MESSAGE),
        traceback=shortened_middle(printable(error.traceback), TRACEBACK),
        messages=len({error.message for _, error in together}),
        attempts=len(together),
        left=sum(id(record) in left for record, _ in together),
        episodes=tuple(_episode(record) for record, _ in together[:EPISODES]),
    )


def _episode(record: EpisodeRecord) -> str:
    repeat = f", repeat {record.repeat}" if record.repeat else ""
    cell = "".join(f", {axis}={level}" for axis, level in record.perturbation.items())
    return one_line(f"{record.suite}/{record.task} {record.index}{repeat}{cell} (attempt {record.attempt})", 120)
