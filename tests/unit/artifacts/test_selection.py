from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.runs import POLICY, config_of, items_of
from vlassess.artifacts.selection import filmed
from vlassess.schema.config import ArtifactsConfig
from vlassess.schema.items import WorkItem


def items(tasks: int = 3, episodes: int = 4) -> tuple[WorkItem, ...]:
    policies = {label: {"local": POLICY, "params": {"chunk": chunk}} for label, chunk in (("a", 1), ("b", 2))}
    return items_of(config_of(benchmark_params={"tasks": tasks}, policies=policies, episodes=episodes))


@pytest.mark.parametrize(("video", "all_of_them"), [("off", False), ("on", True), ("failures", True)])
def test_all_or_none(video: str, all_of_them: bool) -> None:
    chosen = filmed(items(), ArtifactsConfig.model_validate({"video": video}))
    assert chosen == (frozenset(item.item_id for item in items()) if all_of_them else frozenset())


@given(tasks=st.integers(1, 4), episodes=st.integers(1, 5), sample=st.integers(1, 30))
def test_a_sample_is_of_one_size_spread_and_the_same_for_every_policy(tasks: int, episodes: int, sample: int) -> None:
    plan = items(tasks, episodes)
    chosen = filmed(plan, ArtifactsConfig(video="sample", sample=sample))

    by_policy = {
        label: {item.episode.episode_id for item in plan if item.item_id in chosen and item.policy == label}
        for label in ("a", "b")
    }
    assert by_policy["a"] == by_policy["b"]
    assert len(by_policy["a"]) == min(sample, tasks * episodes)
    per_task = Counter(item.episode.task for item in plan if item.item_id in chosen and item.policy == "a")
    counts = [per_task[item.episode.task] for item in plan]
    assert max(counts) - min(counts) <= 1
