"""A few thousand mutated frames; `python -m tests.link.wire.fuzz` runs a million."""

from __future__ import annotations

from tests.link.wire.fuzz import fuzz


def test_mutated_frames_harm_nobody() -> None:
    result = fuzz(frames=3000, seconds=20, seed=1, every=25)
    assert result.wrong == []
    assert result.frames >= 500
    assert result.asked > 10
    assert result.outcomes["read as message"] > 50
    assert result.outcomes["refused by message"] > 50
