"""What checks come to: sections of lines, for people and programs alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "warning", "FAILED"]


@dataclass(frozen=True)
class Line:
    """One thing that was found.

    Attributes:
        state: "ok"; "note" (as it should be, and worth knowing); "warning" (nobody can say); "FAILED".
        text: One sentence.
    """

    state: State
    text: str


@dataclass(frozen=True)
class Section:
    """What one part of a check found.

    Attributes:
        title: What was checked.
        lines: What was found, at least one.
    """

    title: str
    lines: tuple[Line, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(line.state != "FAILED" for line in self.lines)
