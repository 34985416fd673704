"""A CSV with one row an episode: policy, task, episode, success."""

from __future__ import annotations

import csv
from pathlib import Path

from vlassess.imports.errors import ImportRefusedError
from vlassess.schema.arms import Arm, Ended, Trial

REQUIRED = ("policy", "task", "episode", "success")
OPTIONAL = ("suite", "progress")
TRUE, FALSE, BROKEN = ("1", "1.0", "true", "yes", "success"), ("0", "0.0", "false", "no", "failure"), ("error", "")
UNPAIRABLE = "a CSV records no initial states, so a shared start cannot be verified"


def read_csv(path: Path) -> tuple[Arm, ...]:
    """Return one arm for each policy in a CSV; columns may come in any order.

    ``success`` is 1 or 0, true or false; "error" or an empty cell is an episode that broke. ``suite`` and
    ``progress`` (0 to 1) are optional.

    Raises:
        ImportRefusedError: a column is missing, or a cell cannot be read; names the line.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        lacking = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if lacking:
            raise ImportRefusedError(f"{path} has no column {lacking[0]!r}; it needs {', '.join(REQUIRED)}")
        rows = [
            (reader.line_num, {name: (row.get(name) or "").strip() for name in (*REQUIRED, *OPTIONAL)})
            for row in reader
        ]
    found: dict[str, list[Trial]] = {}
    seen: set[tuple[str, str, str, int]] = set()
    for line, row in rows:
        trial = _trial(path, line, row)
        key = (row["policy"], trial.suite, trial.task, trial.index)
        if key in seen:
            raise ImportRefusedError(
                f"{path}, line {line}: episode {trial.index} of task {trial.task!r} is there twice for "
                f"{row['policy']!r}; give each episode one row"
            )
        seen.add(key)
        found.setdefault(row["policy"], []).append(trial)
    if not found:
        raise ImportRefusedError(f"{path} has no row; write one an episode")
    return tuple(Arm(label, str(path), tuple(trials), unpairable=UNPAIRABLE) for label, trials in found.items())


def _trial(path: Path, line: int, row: dict[str, str]) -> Trial:
    if not row["episode"].isdecimal():
        raise ImportRefusedError(f"{path}, line {line}: episode is {row['episode']!r}; it must be a whole number")
    return Trial(
        suite=row["suite"],
        task=row["task"],
        index=int(row["episode"]),
        ended=_ended(path, line, row["success"]),
        progress=_progress(path, line, row["progress"]),
    )


def _ended(path: Path, line: int, text: str) -> Ended:
    word = text.lower()
    if word in TRUE:
        return "success"
    if word in FALSE:
        return "failure"
    if word in BROKEN:
        return "error"
    raise ImportRefusedError(f"{path}, line {line}: success is {text!r}; it must be 1, 0 or error")


def _progress(path: Path, line: int, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ImportRefusedError(f"{path}, line {line}: progress is {text!r}; it must be a number from 0 to 1")
    return value
