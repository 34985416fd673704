"""A run that is killed at random moments records what an undisturbed one records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional.kill_run import compare


@pytest.mark.timeout(240)
def test_a_killed_and_resumed_run_equals_an_undisturbed_one(tmp_path: Path) -> None:
    tally = compare(tmp_path, benchmark=None, episodes=12, kills=6, seed=3)
    assert tally.resumed == 6
    assert sum(tally.killed.values()) >= 4
