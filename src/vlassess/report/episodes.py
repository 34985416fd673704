"""The episodes of a run as the report's script reads them: compact, so that thousands stay a small file.

Texts that repeat stand once and are named by position. Everything passes `printable`; in the page it is JSON in
which no character can end its element, and the script shows it as text, never as markup.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from vlassess.report.text import one_line, printable, shortened_middle
from vlassess.schema.attempts import Entry, by_item, counting, entries
from vlassess.schema.items import WorkItem
from vlassess_link.data import Episode, EpisodeRecord

ENDS = ("success", "failure", "error", "missing")
FILES = ("video.mp4", "steps.parquet", "inputs.npz")
INSTRUCTION, MESSAGE = 300, 600
"""Characters kept of each; the records have the whole."""
FILES_AT = 12
"""Where a row tells its files."""
TEXTS = 2_500_000
"""Bytes of all texts together, as they stand in the page; later ones are left out, and the page says so."""
LEFT_OUT = "(left out here, since the page would grow too big: see episodes.jsonl)"
SHORT_ID = 12
"""Hex digits of an item id in a command: 48 bits, so that even in a million no two are likely to be alike."""


class Texts:
    """Texts that stand once."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self._room = TEXTS

    def place(self, text: str) -> int:
        """Return the position of a text."""
        if text in self.found:
            return self.found[text]
        size = len(script_json(text))
        if size > self._room:
            return self.found.setdefault(LEFT_OUT, len(self.found))
        self._room -= size
        self.found[text] = len(self.found)
        return self.found[text]


def episodes_json(items: Sequence[WorkItem], records: Iterable[EpisodeRecord], folder: Path | None) -> Markup:
    """Return the table of episodes as JSON that can stand inside a script element.

    Args:
        items: The plan; where it is empty, only what was recorded is listed.
        records: Every attempt.
        folder: The run directory, in which recordings are looked for; None: nothing is linked.
    """
    attempts = tuple(records)
    found = entries(items, attempts) if items else _recorded(attempts)
    texts = Texts()
    rows = [_row(entry, texts, _files(folder, entry)) for entry in found]
    run = shlex.quote(str(folder)) if folder is not None else "RUN"
    own = {i: entry.item.item_id for i, (entry, row) in enumerate(zip(found, rows, strict=True)) if row[FILES_AT]}
    data = {
        "run": printable(run),
        "files": FILES,
        "folders": own,
        "ends": ENDS,
        "texts": list(texts.found),
        "rows": rows,
    }
    return script_json(data)


def script_json(value: Any) -> Markup:
    """Return strict JSON in ASCII without the characters that mean something in HTML."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _row(entry: Entry, texts: Texts, files: int) -> list[Any]:
    """Return [policy, task, index, repeat, cell, end, steps, progress, seconds, instruction, error, id, files, tries].

    Texts are positions, -1 for none; progress is in thousandths, -1 where undefined; `files` has a bit for each of
    `FILES`.
    """
    episode, record = entry.item.episode, entry.record
    cell = " ".join(f"{axis}={level}" for axis, level in episode.perturbation.items())
    names = (entry.item.policy, f"{episode.suite}/{episode.task}")
    policy, task = (texts.place(one_line(name)) for name in names)
    start = [policy, task, episode.index, episode.repeat, texts.place(one_line(cell)) if cell else -1]
    if record is None:
        return [*start, ENDS.index("missing"), 0, -1, 0, -1, -1, entry.item.item_id[:SHORT_ID], files, 0]
    instruction = one_line(record.instruction, INSTRUCTION) if record.instruction is not None else None
    progress = -1 if record.outcome is None else round(1000 * record.outcome.progress)
    return [
        *start,
        ENDS.index(record.counts_as),
        record.steps,
        progress,
        round(record.seconds.get("total", 0.0), 2),
        -1 if instruction is None else texts.place(instruction),
        -1 if record.error is None else texts.place(_told(record)),
        entry.item.item_id[:SHORT_ID],
        files,
        len(entry.attempts),
    ]


def _told(record: EpisodeRecord) -> str:
    error = record.error
    assert error is not None
    message = shortened_middle(printable(error.message), MESSAGE)
    return f"{one_line(error.kind)} of the {error.origin} in {one_line(error.phase)}: {message}"


def _files(folder: Path | None, entry: Entry) -> int:
    if folder is None:
        return 0
    if not re.fullmatch(r"[0-9a-f]+", entry.item.item_id):  # it becomes part of a path, and may come from anybody
        return 0
    own = folder / "artifacts" / entry.item.item_id
    return sum(1 << i for i, name in enumerate(FILES) if (own / name).is_file()) if own.is_dir() else 0


def _recorded(attempts: Sequence[EpisodeRecord]) -> tuple[Entry, ...]:
    grouped: Mapping[str, Sequence[EpisodeRecord]] = by_item(attempts)
    return tuple(Entry(_item_of(tries[0]), tuple(tries), counting(tries)) for tries in grouped.values())


def _item_of(record: EpisodeRecord) -> WorkItem:
    """Return what must have been planned for a record."""
    names = ("episode_id", "pair_key", "suite", "task", "index", "seed", "policy_seed", "repeat", "perturbation")
    told = {name: getattr(record, name) for name in names}
    return WorkItem(
        record.item_id, "episode", record.policy, Episode(benchmark="", step_limit=max(1, record.steps), **told)
    )
