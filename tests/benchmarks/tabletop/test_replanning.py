"""The expert that is asked again before its chunk is used up: what real time needs of a policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vlassess.stats import clopper_pearson
from vlassess_link import Episode, Policy
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import PluginError
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

REPLANS = RealTime("modelled", Latency(seconds=0.2), skip_past=True, asynchronous=True)


@pytest.fixture
def expert(folder: Path) -> Callable[..., Any]:
    return lambda **params: load_target(f"{folder / 'expert.py'}:ScriptedExpert", Policy, params)


def record_of(tabletop: Tabletop, policy: Any, episode: Episode, rules: RealTime | None = None) -> EpisodeRecord:
    policy.bind(tabletop)
    record = Attempt(Job("item", 1, "expert", episode, None, None, rules), tabletop, policy, Monitor()).run()
    assert record.error is None, record.error
    return record


def test_its_routine_goes_on_by_what_is_executed(
    tabletop: Tabletop, expert: Callable[..., Any], make_episode: Callable[..., Episode]
) -> None:
    short, long = (record_of(tabletop, expert(chunk=chunk, horizon=5), make_episode()) for chunk in (5, 12))
    assert short.counts_as == "success"
    assert (short.actions_digest, short.steps) == (long.actions_digest, long.steps)


def test_asked_beside_its_own_motion_it_needs_no_more_steps_than_the_first_wait(
    tabletop: Tabletop, expert: Callable[..., Any], make_episode: Callable[..., Episode]
) -> None:
    """At 200 ms only the first answer is waited for; one action at a time, the arm holds still after each."""
    sync = record_of(tabletop, expert(), make_episode())
    replanning = record_of(tabletop, expert(chunk=10, horizon=5), make_episode(), REPLANS)
    waiting = record_of(tabletop, expert(), make_episode(), RealTime("modelled", Latency(seconds=0.2)))
    assert replanning.counts_as == "success"
    assert replanning.realtime is not None
    assert replanning.realtime.stale_steps == 4
    assert replanning.steps <= sync.steps + 8
    assert waiting.steps >= 1.5 * sync.steps


@pytest.mark.slow
def test_modelled_time_agrees_with_the_walls_on_success(
    tabletop: Tabletop, expert: Callable[..., Any], make_episode: Callable[..., Episode]
) -> None:
    """Six starts of a policy that copes with 0.2 s and of one that does not, on the machine's clock too."""
    for chunk, limit in ((20, 120), (1, 60)):
        counts = []
        for pace in ("modelled", "wall"):
            rules = RealTime(pace, Latency(seconds=0.2))
            starts = [make_episode(seed=seed, step_limit=limit) for seed in range(6)]
            records = [record_of(tabletop, expert(chunk=chunk), start, rules) for start in starts]
            counts.append(sum(record.counts_as == "success" for record in records))
        bounds = clopper_pearson(counts[1], 6)
        assert bounds is not None
        assert bounds.low <= counts[0] / 6 <= bounds.high, counts


def test_a_horizon_beyond_the_chunk_is_refused(expert: Callable[..., Any]) -> None:
    with pytest.raises(PluginError, match="horizon is 6; it must be from 1 to chunk"):
        expert(chunk=5, horizon=6)
