from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.link.episodes import episode_of
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.policies.onlooker import Onlooker, still_action
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.testing import FakeBenchmark


def test_it_holds_still_as_the_benchmark_says() -> None:
    spec = dataclasses.replace(FakeBenchmark().spec, hold_action=(0.25,))
    assert still_action(spec).tolist() == [0.25]


@pytest.mark.parametrize(
    ("layout", "action"),
    [
        (end_effector_delta(), [0.0] * 7),
        (
            Layout((Component("q", "joints", 2, low=0.5, high=1.0), Component("g", "gripper", 1, high=-0.5))),
            [0.5, 0.5, -0.5],
        ),
        (Layout((Component("x", "other", 1),)), [0.0]),
    ],
)
def test_without_a_hold_action_it_stays_inside_the_bounds(layout: Layout, action: list[float]) -> None:
    spec = dataclasses.replace(FakeBenchmark().spec, action=layout, hold_action=None)
    assert still_action(spec).tolist() == action


def test_it_looks_once_and_leaves_a_record() -> None:
    benchmark, policy = FakeBenchmark(), Onlooker(["front"])
    policy.bind(benchmark)
    record = Attempt(Job("item", 1, "onlooker", episode_of(limit=1)), benchmark, policy, Monitor()).run()
    assert record.error is None
    assert (record.steps, record.observations, benchmark.renders) == (1, 1, 1)
    assert np.array_equal(benchmark.received, [[0.0]])
    assert record.privileged
