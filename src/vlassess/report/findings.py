"""What the checks of a run read, and how they put what they find into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vlassess.report.text import one_line
from vlassess.schema.attempts import Entry
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import Notice, PolicySummary
from vlassess_link.data import EpisodeRecord

NAMED = 5
"""How many tasks a message names before it counts the rest."""


@dataclass(frozen=True)
class Findings:
    """What the checks read."""

    entries: tuple[Entry, ...]
    records: tuple[EpisodeRecord, ...]
    policies: tuple[PolicySummary, ...]
    manifest: RunManifest

    def counting(self, label: str) -> list[EpisodeRecord]:
        """Return the records of one policy that count."""
        found = [entry.record for entry in self.entries if one_line(entry.item.policy) == label]
        return [record for record in found if record is not None]


def notice(severity: Literal["warning", "note"], code: str, policy: str | None, message: str) -> Notice:
    """Return a notice."""
    return Notice(code=code, severity=severity, policy=policy, message=message)


def warning(code: str, policy: str | None, message: str) -> Notice:
    """Return a warning."""
    return notice("warning", code, policy, message)


def note(code: str, policy: str | None, message: str) -> Notice:
    """Return a note."""
    return notice("note", code, policy, message)


def sentences(found: Sequence[str]) -> str:
    """Return the sentences on one line."""
    return "; ".join(one_line(sentence, 300) for sentence in found)


def some(n: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def are(n: int) -> str:
    """Return the verb for a count."""
    return "is" if n == 1 else "are"


def name_tasks(keys: Sequence[tuple[str, ...]]) -> str:
    """Return the first tasks by name and how many more there are."""
    names = list(dict.fromkeys(one_line(f"{key[0]}/{key[1]}", 80) for key in keys))
    rest = f" and {len(names) - NAMED} more tasks" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest
