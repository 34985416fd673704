"""The short form of a cell, as tables and the command line write it: ``AXIS=LEVEL within AXIS=LEVEL, AXIS=LEVEL``."""

from __future__ import annotations

from typing import Any

from vlassess.config.yaml12 import Unreadable
from vlassess.schema.problems import shown

CONTROL = "control"
"""May stand in a list of cells; it is always run, so it changes nothing."""


def expand_cells(cells: Any, problems: list[str]) -> Any:
    """Return a list of cells with every short form made long, without the control; anything else as it is.

    Args:
        cells: What the file says.
        problems: Collects the mistakes.
    """
    if isinstance(cells, str):
        return expand_cells([cells], problems)
    if not isinstance(cells, list):
        return cells
    kept = [cell for cell in cells if cell not in (CONTROL, {})]
    return [_expanded(cell, problems) if isinstance(cell, str) else cell for cell in kept]


def _expanded(text: str, problems: list[str]) -> Any:
    cell, _, scene = text.partition(" within ")
    varied = _pair(cell)
    within = [_pair(part) for part in scene.split(",")] if scene else []
    fixed = {axis: level for axis, level in within if axis}
    if not varied[0] or len(fixed) < len(within):
        problems.append(
            f"cells has {shown(text)}; write AXIS=LEVEL, as camera_pose=far, or AXIS=LEVEL within AXIS=LEVEL for a "
            "cell in another scene"
        )
        return Unreadable()
    return {"axis": varied[0], "level": varied[1], **({"within": fixed} if fixed else {})}


def _pair(text: str) -> tuple[str, str]:
    """Return axis and level; an empty axis where the text is no such pair."""
    axis, _, level = text.partition("=")
    return (axis.strip(), level.strip()) if axis.strip() and level.strip() else ("", "")
