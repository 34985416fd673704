"""Decisions of the batcher on a clock that only the tests move."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess_link.policies.batching import Batcher, LatencyModel
from vlassess_link.testing import FakeClock

LATENCIES = {1: 0.0182, 2: 0.0185, 4: 0.0200, 8: 0.0239, 16: 0.0287}


def seconds_of(size: int) -> float:
    return float(np.interp(size, list(LATENCIES), list(LATENCIES.values())))


def learned(clock: FakeClock, max_batch: int = 16) -> Batcher:
    batcher = Batcher(max_batch, clock)
    for size in range(1, 17):
        batcher.ran(size, seconds_of(size))
    return batcher


def think(batcher: Batcher, clock: FakeClock, session: str, seconds: float, times: int = 20) -> None:
    """Let a session ask, be answered and think, over and over; it ends thinking."""
    for _ in range(times):
        batcher.arrived(session)
        batcher.answered(session)
        clock.sleep(seconds)
    batcher.arrived(session)
    batcher.answered(session)


def test_latencies_are_interpolated_and_an_outlier_does_not_count() -> None:
    model = LatencyModel()
    assert not model.known
    assert model.seconds(4) == 0.0
    for seconds in (9.0, 0.02, 0.02, 0.021, 0.02):
        model.add(1, seconds)
    assert model.seconds(1) == 0.02
    assert model.seconds(8) == 0.02  # nothing says that more costs more
    model.add(4, 0.026)
    assert model.seconds(2) == pytest.approx(0.022)
    assert model.seconds(8) == pytest.approx(0.034)
    model.add(8, 0.050)
    assert model.seconds(8) == 0.050
    assert model.seconds(6) == pytest.approx(0.038)


def test_a_single_client_is_never_waited_for() -> None:
    clock = FakeClock()
    batcher = learned(clock)
    for _ in range(50):
        batcher.arrived("only")
        assert batcher.wait_until(1) is None
        clock.sleep(0.0182)
        batcher.answered("only")
        clock.sleep(0.001)


@pytest.mark.parametrize(("pause", "waits"), [(0.001, True), (0.004, True), (0.030, False), (0.5, False)])
def test_a_session_is_waited_for_if_it_comes_sooner_than_its_joining_saves(pause: float, waits: bool) -> None:
    clock = FakeClock()
    batcher = learned(clock)
    think(batcher, clock, "other", pause)
    batcher.arrived("one")
    until = batcher.wait_until(1)
    assert (until is not None) == waits
    if until is not None:
        assert clock.now + pause <= until <= clock.now + pause + 0.01


def test_nobody_waits_for_a_session_in_reset_or_one_that_left() -> None:
    clock = FakeClock()
    batcher = learned(clock)
    for name, end in (("reset", batcher.paused), ("gone", batcher.left)):
        think(batcher, clock, name, 0.001)
        end(name)
    batcher.arrived("one")
    assert batcher.wait_until(1) is None


def test_the_pause_of_a_reset_is_no_think_time() -> None:
    clock = FakeClock()
    batcher = learned(clock)
    think(batcher, clock, "other", 0.001)
    batcher.paused("other")
    clock.sleep(30.0)
    batcher.arrived("other")
    batcher.answered("other")
    batcher.arrived("one")
    until = batcher.wait_until(1)
    assert until is not None
    assert until < clock.now + 0.01


def test_a_session_that_does_not_come_is_given_up() -> None:
    clock = FakeClock()
    batcher = learned(clock)
    think(batcher, clock, "other", 0.002)
    batcher.arrived("one")
    until = batcher.wait_until(1)
    assert until is not None
    clock.now = until
    assert batcher.wait_until(1) is None


def test_a_full_batch_runs_at_once() -> None:
    clock = FakeClock()
    batcher = learned(clock, max_batch=4)
    think(batcher, clock, "other", 0.0005)
    assert batcher.wait_until(4) is None


def test_a_model_that_gains_nothing_from_batches_never_waits() -> None:
    clock = FakeClock()
    batcher = Batcher(16, clock)
    for size in range(1, 17):
        batcher.ran(size, 0.02 * size)
    think(batcher, clock, "other", 0.001)
    batcher.arrived("one")
    assert batcher.wait_until(1) is None


@settings(deadline=None, max_examples=60)
@given(
    pauses=st.lists(st.floats(0.0, 0.3), min_size=1, max_size=12),
    moments=st.lists(st.floats(0.0, 0.02), min_size=1, max_size=60),
)
def test_every_wait_ends_and_is_short(pauses: list[float], moments: list[float]) -> None:
    clock = FakeClock()
    batcher = learned(clock)
    for number, pause in enumerate(pauses):
        think(batcher, clock, f"{number}", pause, times=3)
    batcher.arrived("one")
    begun, waiting, names = clock.now, 1, [f"{number}" for number in range(len(pauses))]
    for moment in itertools.cycle(moments):
        until = batcher.wait_until(waiting)
        if until is None:
            break
        assert clock.now < until
        clock.now = min(clock.now + moment, until)
        if names and moment > 0.01:
            batcher.arrived(names.pop())
            waiting += 1
        if clock.now < until:
            clock.now = until
    assert clock.now - begun <= seconds_of(16) + 1e-9


def closed_loop(clients: int, pause: Callable[[], float], seconds: float = 12.0) -> list[int]:
    """Return how many answers each client of a simulated server got."""
    clock = FakeClock()
    batcher = Batcher(16, clock)
    number = itertools.count()
    events: list[tuple[float, int, str, list[int]]] = []
    for client in range(clients):
        heapq.heappush(events, (pause(), next(number), "arrives", [client]))
    waiting: list[int] = []
    counts, busy = [0] * clients, False
    while events[0][0] <= seconds:
        clock.now, _, what, who = heapq.heappop(events)
        if what == "arrives":
            waiting += who
            batcher.arrived(str(who[0]))
        elif what == "ends":
            busy = False
            batcher.ran(len(who), seconds_of(len(who)))
            for client in who:
                counts[client] += 1
                batcher.answered(str(client))
                heapq.heappush(events, (clock.now + pause(), next(number), "arrives", [client]))
        if busy or not waiting:
            continue
        until = batcher.wait_until(min(16, len(waiting)))
        if until is not None:
            heapq.heappush(events, (until, next(number), "wakes", []))
            continue
        batch, waiting, busy = waiting[:16], waiting[16:], True
        heapq.heappush(events, (clock.now + seconds_of(len(batch)), next(number), "ends", batch))
    return counts


@pytest.mark.parametrize("clients", [1, 8, 16, 50])
@pytest.mark.parametrize("mean", [0.0005, 0.5])
def test_throughput_is_near_what_any_server_could_reach(clients: int, mean: float) -> None:
    rng = np.random.default_rng(0)
    counts = closed_loop(clients, lambda: mean * float(rng.uniform(0.9, 1.1)))
    best = max(size / seconds_of(size) for size in range(1, min(16, clients) + 1))
    assert sum(counts) / 12.0 >= 0.93 * min(clients / (mean + seconds_of(1)), best)
    assert min(counts) >= 0.8 * max(counts) - 2  # nobody starves
