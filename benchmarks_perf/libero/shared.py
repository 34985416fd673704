"""What both sides share: the tasks, where the adapter is, and the chunks of recorded actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link import Episode

FOLDER = Path(__file__).resolve().parents[2] / "src" / "vlassess" / "benchmarks" / "libero"
ADAPTER = f"{FOLDER / 'adapter.py'}:Libero"
EXPERT = f"{FOLDER / 'experts.py'}:Expert"
SUITE = "libero_spatial"
CAMERAS = ("agentview", "robot0_eye_in_hand")
CHUNK = 10
WARM_STEPS = 3


def episode(task: str, state: int, limit: int = 220) -> Episode:
    """Return the episode of a stored start."""
    return Episode(task, "00", "libero@1", SUITE, task, state, 7, 0, limit, f"{state:02d}")


def recorded(file: str) -> list[dict[str, Any]]:
    """Return what ``record.py`` wrote."""
    found: list[dict[str, Any]] = json.loads(Path(file).read_text(encoding="utf-8"))
    return found


def chunk(entries: list[dict[str, Any]], words: str, step: int) -> np.ndarray:
    """Return the next (CHUNK, 7) actions of the task with these words; after the last, it is repeated."""
    actions = np.array(next(entry["actions"] for entry in entries if entry["words"] == words))
    return actions[np.minimum(np.arange(step, step + CHUNK), len(actions) - 1)]
