"""vla-eval: its SQLite recording, and the JSON that it exports (or wrote directly before it had recordings).

vla-eval counts an episode that broke (``failure_reason``) as a failure. Here it is an error, as everywhere: in no
rate, and counted. Where the model's server is to blame, vla-eval does not say so in a way that could be relied upon.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from vlassess.imports.errors import ImportRefusedError
from vlassess.schema.arms import Arm, Trial

UNPAIRABLE = "vla-eval records no initial states, so a shared start cannot be verified"

_LAST = """
    SELECT task_name, episode_id, status, metrics, steps, context, failure_reason FROM episode_results
    WHERE rowid IN (
        SELECT MAX(rowid) FROM episode_results WHERE eval_id = ?
        GROUP BY task_name, episode_id, json_extract(context, '$.task_idx'),
                 CASE WHEN json_extract(context, '$.task_idx') IS NULL THEN rowid END
    )
    ORDER BY task_name, episode_id
"""
"""The last attempt at every episode, as vla-eval's own export takes it."""


def read_recording(path: Path) -> tuple[Arm, ...]:
    """Return one arm for each evaluation in a recording.

    Raises:
        ImportRefusedError: it is no recording of vla-eval, or holds no evaluation.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            found = [
                _arm(path, json.loads(row["metadata"]), _episodes(connection, row["eval_id"]), row["safe_name"])
                for row in connection.execute("SELECT eval_id, safe_name, metadata FROM eval_metadata")
            ]
    except (sqlite3.Error, ValueError) as error:
        raise ImportRefusedError(f"{path} is no recording of vla-eval ({error}); give its recording-*.sqlite") from None
    if not found:
        raise ImportRefusedError(f"{path} holds no evaluation; run vla-eval to its first episode")
    return tuple(found)


def is_export(value: Any) -> bool:
    """Return whether a JSON value has the form of vla-eval's results."""
    return isinstance(value, dict) and isinstance(value.get("tasks"), list) and "benchmark" in value


def read_export(path: Path, value: Mapping[str, Any]) -> tuple[Arm, ...]:
    """Return the arm in an exported result.

    Raises:
        ImportRefusedError: a task or an episode has not the form; names it.
    """
    episodes = []
    for number, task in enumerate(value["tasks"]):
        if not isinstance(task, dict) or not isinstance(task.get("episodes"), list):
            raise ImportRefusedError(
                f"{path}: tasks[{number}] has no list of episodes; export with per-episode results"
            )
        for position, episode in enumerate(task["episodes"]):
            if not isinstance(episode, dict):
                raise ImportRefusedError(f"{path}: tasks[{number}].episodes[{position}] is no object; export it again")
            name = str(task.get("task", task.get("name", f"task {number}")))
            episodes.append({"episode_id": position, **episode, "task_name": name})
    return (_arm(path, value, episodes, str(value["benchmark"])),)


def _episodes(connection: sqlite3.Connection, eval_id: str) -> list[dict[str, Any]]:
    return [
        {
            **json.loads(row["context"] or "{}"),
            "metrics": json.loads(row["metrics"] or "{}"),
            **{name: row[name] for name in ("task_name", "episode_id", "status", "steps", "failure_reason")},
        }
        for row in connection.execute(_LAST, (eval_id,))
    ]


def _arm(path: Path, about: Mapping[str, Any], episodes: Iterable[Mapping[str, Any]], name: str) -> Arm:
    config = about.get("config") or {}
    server = about.get("server_info") or {}
    seed = about.get("seed", (config.get("params") or {}).get("seed"))
    trials = tuple(_trial(path, episode) for episode in episodes)
    notes = [f"read from vla-eval {about.get('harness_version', 'of an unknown version')}"]
    broken = sum(trial.ended == "error" for trial in trials)
    if broken:
        notes.append(f"{broken} episodes broke: vla-eval counts them as failures, here they are errors and in no rate")
    if about.get("partial"):
        notes.append("the evaluation was not finished when it was exported")
    notes.append("its seed is not recorded" if seed is None else f"its benchmark's seed was {seed}")
    return Arm(
        label=str(server.get("model_server") or path.stem),
        source=str(path),
        trials=trials,
        benchmark=str(about.get("benchmark", name)),
        unpairable=UNPAIRABLE,
        notes=tuple(notes),
    )


def _trial(path: Path, episode: Mapping[str, Any]) -> Trial:
    metrics = episode.get("metrics") if isinstance(episode.get("metrics"), dict) else {}
    success = {**episode, **(metrics or {})}.get("success")
    broken = bool(episode.get("failure_reason")) or episode.get("status") == "error"
    if not broken and (not isinstance(success, bool | int | float) or success not in (0, 1)):
        where = f"task {episode.get('task_name')!r}, episode {episode.get('episode_id')}"
        raise ImportRefusedError(
            f"{path}: {where} has no success (true or false) but {success!r}; it cannot be compared"
        )
    return Trial(
        suite="",  # it tells tasks apart by their names alone
        task=str(episode["task_name"]),
        index=int(episode.get("episode_id") or 0),
        ended="error" if broken else "success" if success else "failure",
    )
