"""The errors of a run, like ones together, cut to what a page can carry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from vlassess.report.counting import by_item, counting
from vlassess.report.text import one_line, printable, shortened_middle
from vlassess_link.data import EpisodeRecord, ErrorInfo

SHOWN = 60
"""Most kinds of error on a page."""
EPISODES = 8
"""Episodes that one kind names."""
MESSAGE, TRACEBACK = 1500, 4000
"""Characters kept of each; the records have the whole."""


@dataclass(frozen=True)
class ErrorGroup:
    """Errors with the same policy, origin, phase, kind and message.

    Attributes:
        policy: Label.
        origin, phase, kind, message: As in `ErrorInfo`, showable.
        traceback: Of the first one; empty where there is none.
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
            found[record.policy, error.origin, error.phase, error.kind, error.message].append((record, error))
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
        attempts=len(together),
        left=sum(id(record) in left for record, _ in together),
        episodes=tuple(_episode(record) for record, _ in together[:EPISODES]),
    )


def _episode(record: EpisodeRecord) -> str:
    repeat = f", repeat {record.repeat}" if record.repeat else ""
    cell = "".join(f", {axis}={level}" for axis, level in record.perturbation.items())
    return one_line(f"{record.suite}/{record.task} {record.index}{repeat}{cell} (attempt {record.attempt})", 120)
