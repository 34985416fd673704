"""A run as flat rows: one for each attempt, and one for each planned item that has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vlassess.schema.attempts import Entry, entries
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

Value = str | int | float | bool | None
Row = dict[str, Value]

COLUMNS: dict[str, type] = {
    "item_id": str,
    "attempt": int,
    "counted": bool,
    "ended_as": str,
    "policy": str,
    "identity": str,
    "privileged": bool,
    "benchmark": str,
    "suite": str,
    "task": str,
    "index": int,
    "repeat": int,
    "cell": str,
    "episode_id": str,
    "pair_key": str,
    "seed": int,
    "policy_seed": int,
    "step_limit": int,
    "instruction": str,
    "steps": int,
    "observations": int,
    "horizon": int,
    "success": bool,
    "cause": str,
    "progress": float,
    "final_progress": float,
    "success_step": int,
    "success_at_end": bool,
    "error_origin": str,
    "error_phase": str,
    "error_kind": str,
    "error_message": str,
    "state_digest": str,
    "inputs_digest": str,
    "images_digest": str,
    "actions_digest": str,
    "started": str,
    "host": str,
    "worker": str,
}
"""Columns that every table has, in order, and what they hold; any of them can be undefined in a row. Then follow
`metric_NAME` (number), `stage_NAME` (the step that first reached it) and `seconds_PHASE`, by name."""

EXTRA = {"metric_": float, "stage_": int, "seconds_": float}
"""Beginnings of the names of further columns, and what these hold."""


def attempt_rows(items: Sequence[WorkItem], records: Iterable[EpisodeRecord]) -> list[Row]:
    """Return one row per attempt, in plan order; an item without any has one row that is ``missing``.

    ``counted`` holds in exactly one row of each item: the one that rates are made from. ``ended_as`` is "success",
    "failure" (a policy's own error is one), "error" or "missing". Undefined is None, never 0 or NaN.
    """
    return [row for entry in entries(items, records) for row in _rows(entry)]


def columns_of(rows: Iterable[Row]) -> dict[str, type]:
    """Return the columns of a table of ``rows``, in order: `COLUMNS`, then those of `EXTRA` by name."""
    extra = sorted({name for row in rows for name in row if name not in COLUMNS})
    kinds = {name: kind for name in extra for begin, kind in EXTRA.items() if name.startswith(begin)}
    return {**COLUMNS, **kinds}


def _rows(entry: Entry) -> list[Row]:
    planned = _planned(entry.item)
    if entry.record is None:
        return [{**planned, "counted": True, "ended_as": "missing"}]
    return [{**planned, **_attempt(record), "counted": record is entry.record} for record in entry.attempts]


def _planned(item: WorkItem) -> Row:
    episode = item.episode
    same = ("suite", "task", "index", "repeat", "episode_id", "pair_key", "seed", "policy_seed", "step_limit")
    return {
        "item_id": item.item_id,
        "policy": item.policy,
        "benchmark": episode.benchmark,
        "cell": " ".join(f"{axis}={level}" for axis, level in sorted(episode.perturbation.items())),
        "instruction": episode.instruction,
        **{name: getattr(episode, name) for name in same},
    }


def _attempt(record: EpisodeRecord) -> Row:
    names = ("attempt", "identity", "privileged", "instruction", "steps", "observations", "horizon")
    about = ("state_digest", "inputs_digest", "images_digest", "actions_digest", "started", "host", "worker")
    row: Row = {name: getattr(record, name) for name in (*names, *about)}
    row["ended_as"] = record.counts_as
    row.update(_numbers("seconds_", record.seconds))
    if record.outcome is not None:
        told = ("success", "cause", "progress", "final_progress", "success_step", "success_at_end")
        row.update({name: getattr(record.outcome, name) for name in told})
        row.update(_numbers("metric_", record.outcome.metrics))
        row.update(_numbers("stage_", record.outcome.stages))
    if record.error is not None:
        row.update({f"error_{name}": getattr(record.error, name) for name in ("origin", "phase", "kind", "message")})
    return row


def _numbers(begin: str, found: Mapping[str, Any]) -> Row:
    return {f"{begin}{name}": value for name, value in found.items()}
