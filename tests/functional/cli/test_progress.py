from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vlassess.cli.progress import BarListener, LineListener, Tally
from vlassess_link.data import EpisodeRecord, ErrorInfo, Outcome
from vlassess_link.testing import FakeClock

RUN = Path("runs/x")


def record(
    policy: str = "p", success: bool | None = True, origin: str = "policy", message: str = "no"
) -> EpisodeRecord:
    """Return an attempt; ``success`` None is an error of ``origin``."""
    ended: dict[str, Any] = {"error": ErrorInfo(origin, "inference", "Bad", message)}
    if success is not None:
        ended = {"outcome": Outcome(success, "limit", 0.0, 0.0)}
    return EpisodeRecord("i", 1, policy, "e", "k", "pick", "red", 3, 0, 0, **ended)


def console(terminal: bool = False) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=160, color_system=None, highlight=False), out


def test_a_tally_never_gives_a_rate_without_the_number_still_to_go() -> None:
    clock = FakeClock()
    tally = Tally(10, 2, clock)
    assert tally.line() == "2/10 episodes, 8 to go"
    clock.sleep(60)
    for success in (True, True, False):
        tally.add(record("a", success))
    tally.add(record("b", None))
    assert tally.line() == ("6/10 episodes, errors 1, 4/min, 4 to go, about 60 s left, success so far a 2/3, b 0/1")


def test_a_finished_tally_says_nothing_of_what_is_left() -> None:
    clock = FakeClock()
    tally = Tally(1, 0, clock)
    clock.sleep(6)
    tally.add(record())
    assert tally.line() == "1/1 episodes, 10/min, success so far p 1/1"


@pytest.mark.parametrize(("origin", "finished"), [("policy", 1), ("benchmark", 0), ("infrastructure", 0)])
def test_only_final_attempts_are_finished(origin: str, finished: int) -> None:
    tally = Tally(5, 0, FakeClock())
    tally.add(record(success=None, origin=origin))
    assert tally.finished == finished


def test_an_error_is_told_until_it_has_been_told_often() -> None:
    tally = Tally(100, 0, FakeClock())
    told = [tally.add(record(success=None, message="a\nb\x1b[2J")) for _ in range(5)]
    assert told[0] == "policy error in inference: pick/red #3, policy p, attempt 1: a b\\x1b[2J"
    assert told[2] == f"{told[0]}; further ones like it are only counted"
    assert told[3:] == [None, None]
    assert tally.add(record("other", None)) is not None


def test_lines_are_seldom_and_errors_are_at_once() -> None:
    clock = FakeClock()
    shown, out = console()
    with LineListener(shown, clock) as listener:
        listener.planned(RUN, 100, 0)
        listener.workers(2)
        for _ in range(99):
            clock.sleep(0.5)
            listener.record(record())
        listener.record(record(success=None))
        listener.note("a worker was replaced")
    lines = out.getvalue().splitlines()
    assert lines[0] == "runs/x: 100 episodes"
    assert lines[-3].startswith("policy error in inference")
    assert lines[-2] == "a worker was replaced"
    assert lines[-1].startswith("100/100 episodes, errors 1")
    assert len(lines) == 1 + 9 + 3


def test_a_run_that_never_began_has_no_state() -> None:
    shown, out = console()
    with LineListener(shown, FakeClock()):
        pass
    assert out.getvalue() == ""


def test_the_bar_shows_the_same_and_markup_is_text() -> None:
    shown, out = console(terminal=True)
    with BarListener(shown) as listener:
        listener.note("before [bold]")
        listener.planned(RUN, 2, 1)
        listener.workers(1)
        listener.record(record("[red]", True))
        listener.record(record("p", None))
    text = out.getvalue()
    for word in (
        "before [bold]",
        "runs/x: 2 episodes, 1 of them finished before",
        "policy error",
        "[red] 1/1",
        "1 worker",
    ):
        assert word in text
