from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.report import build
from vlassess.report import summarise, summary_csv, summary_json
from vlassess.report.exports import CSV_COLUMNS, groups
from vlassess.schema.items import WorkItem
from vlassess.schema.summary import GroupSummary, PolicySummary, Summary
from vlassess.stats import clopper_pearson, wilson
from vlassess_link.data import EpisodeRecord

Records = Sequence[EpisodeRecord]


def only(items: Sequence[WorkItem], records: Records, **config: Any) -> PolicySummary:
    """The summary of the one policy of a run."""
    (policy,) = summarise(items, records, build.manifest(items, **config)).policies
    return policy


def task(policy: PolicySummary, name: str) -> GroupSummary:
    return next(group for group in policy.tasks if group.task == name)


@pytest.fixture
def items() -> tuple[WorkItem, ...]:
    """Three tasks of two suites, four episodes each."""
    return build.plan()


@pytest.fixture
def mixed(items: tuple[WorkItem, ...]) -> list[EpisodeRecord]:
    """Of the first task one of each ending; the second succeeds, of the third nothing was run."""
    first, second = items[:4], items[4:8]
    return [
        build.record(first[0]),
        build.broken(first[1], "policy"),
        build.broken(first[2], "benchmark"),
        build.broken(first[3], "infrastructure"),
        *(build.record(item) for item in second),
    ]


def test_every_ending_is_counted_apart(items: tuple[WorkItem, ...], mixed: list[EpisodeRecord]) -> None:
    policy = only(items, mixed)
    assert task(policy, "red").counts.model_dump() == {
        "planned": 4,
        "success": 1,
        "failure": 1,
        "policy_error": 1,
        "benchmark_error": 1,
        "infrastructure_error": 1,
        "missing": 0,
    }
    assert task(policy, "bowl").counts.missing == 4
    assert (policy.counts.planned, policy.counts.scored, policy.counts.error) == (12, 6, 2)
    assert not policy.counts.complete


def test_rate_has_policy_errors_as_failures_and_bounds_for_the_rest(
    items: tuple[WorkItem, ...], mixed: list[EpisodeRecord]
) -> None:
    rate = task(only(items, mixed), "red").rate
    assert (rate.n, rate.value) == (2, 0.5)
    assert rate.clopper_pearson == clopper_pearson(1, 2)
    assert rate.wilson == wilson(1, 2)
    assert (rate.errors_fail, rate.errors_succeed) == (0.25, 0.75)


def test_undefined_is_none(items: tuple[WorkItem, ...], mixed: list[EpisodeRecord]) -> None:
    bowl = task(only(items, mixed), "bowl")
    assert bowl.rate.model_dump() == {
        "n": 0,
        "value": None,
        "clopper_pearson": None,
        "wilson": None,
        "errors_fail": None,
        "errors_succeed": None,
    }
    assert (bowl.progress.value, bowl.steps.mean, bowl.steps.median) == (None, None, None)
    assert bowl.task_mean is None
    nothing = only(items, [])
    assert nothing.overall.task_mean is not None
    assert nothing.overall.task_mean.value is None
    assert nothing.throughput.episodes_per_minute is None
    assert nothing.overall.seconds == {}


def test_pooled_rate_and_mean_of_task_rates_differ(items: tuple[WorkItem, ...], mixed: list[EpisodeRecord]) -> None:
    policy = only(items, mixed)
    pick = policy.suites[0]
    assert pick.rate.value == 5 / 6
    assert pick.task_mean is not None
    assert (pick.task_mean.n, pick.task_mean.value) == (2, 0.75)
    assert [group.suite for group in policy.suites] == ["pick", "place"]
    assert policy.overall.rate == pick.rate


@pytest.mark.parametrize(
    ("endings", "expected"),
    [
        (["infrastructure", "success"], "success"),
        (["success", "infrastructure"], "success"),
        (["policy", "benchmark"], "failure"),
        (["benchmark", "infrastructure"], "infrastructure_error"),
        (["failure", "success"], "success"),
    ],
)
def test_the_last_final_attempt_counts_else_the_last(endings: list[str], expected: str) -> None:
    (item,) = build.plan(tasks=[("pick", "red")], episodes=1)
    made = {"success": build.record, "failure": build.failed}
    records = [
        made[ending](item, attempt) if ending in made else build.broken(item, ending, attempt)
        for attempt, ending in enumerate(endings, start=1)
    ]
    for order in (records, records[::-1]):
        assert getattr(only([item], order).counts, expected) == 1


def test_means_are_over_outcomes_only(items: tuple[WorkItem, ...]) -> None:
    records = [
        build.record(items[0], outcome=build.success(10), steps=10),
        build.failed(items[1], outcome=build.failure(0.25), steps=100),
        build.failed(items[2], outcome=build.failure(0.25), steps=40),
        build.broken(items[3], "policy", steps=3),
    ]
    red = task(only(items, records), "red")
    assert (red.progress.n, red.progress.value) == (3, 0.5)
    assert (red.steps.n, red.steps.mean, red.steps.median) == (3, 50.0, 40.0)
    assert red.rate.n == 4


def test_primary_metric_is_shown_where_it_is_not_success(items: tuple[WorkItem, ...]) -> None:
    records = [
        build.record(items[0], outcome=build.success(10, length=5.0)),
        build.failed(items[1], outcome=build.failure(0.2, length=2.0)),
        build.failed(items[2], outcome=build.failure(0.2)),
    ]
    assert task(only(items, records), "red").primary_metric is None
    metric = task(only(items, records, primary="length"), "red").primary_metric
    assert metric is not None
    assert (metric.n, metric.value) == (2, 3.5)


def test_a_metric_that_is_not_finite_is_left_out_and_not_counted(items: tuple[WorkItem, ...]) -> None:
    records = [
        build.record(items[0], outcome=build.success(10, length=math.nan)),
        build.record(items[1], outcome=build.success(10, length=4.0)),
    ]
    metric = task(only(items, records, primary="length"), "red").primary_metric
    assert metric is not None
    assert (metric.n, metric.value) == (1, 4.0)


def test_perturbed_episodes_do_not_enter_the_headline() -> None:
    items = build.plan(tasks=[("pick", "red")], cells=({}, {"camera": "far"}, {"light": "dim"}))
    records = [build.failed(item) if item.episode.perturbation else build.record(item) for item in items]
    policy = only(items, records)
    assert (policy.basis, policy.overall.rate.value, policy.overall.counts.planned) == ("control", 1.0, 4)
    assert [(cell.perturbation, cell.rate.value) for cell in policy.cells] == [
        ({"camera": "far"}, 0.0),
        ({"light": "dim"}, 0.0),
    ]
    assert [(cell.task, cell.perturbation) for cell in policy.cell_tasks] == [
        ("red", {"camera": "far"}),
        ("red", {"light": "dim"}),
    ]
    assert policy.counts.planned == 12


def test_without_a_control_the_cells_are_pooled_and_it_is_said() -> None:
    items = build.plan(cells=({"camera": "far"},))
    summary = summarise(items, [build.record(item) for item in items], build.manifest(items))
    assert (summary.policies[0].basis, summary.policies[0].overall.rate.n) == ("all", 12)
    assert "no_control" in {notice.code for notice in summary.notices}


def test_throughput_leaves_the_pause_before_a_resume_out(items: tuple[WorkItem, ...]) -> None:
    begins = [0, 1, 86_400, 86_402]
    records = [
        build.record(item, started=(build.BEGIN + timedelta(seconds=begin)).isoformat(), seconds={"total": 4.0})
        for item, begin in zip(items, begins, strict=False)
    ]
    speed = only(items, records).throughput
    assert speed.running_seconds == pytest.approx(5 + 6)
    assert speed.episodes_per_minute == pytest.approx(60 * 4 / 11)


@pytest.mark.parametrize("started", ["", "yesterday"])
def test_an_unknown_start_is_no_start(items: tuple[WorkItem, ...], started: str) -> None:
    assert only(items, [build.record(items[0], started=started)]).throughput.episodes_per_minute is None


@pytest.mark.parametrize("started", ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00", "2026-03-01T13:00:00.5+01:00"])
def test_every_way_to_write_utc_is_read(items: tuple[WorkItem, ...], started: str) -> None:
    records = [build.record(items[0], started=started), build.record(items[1])]
    speed = only(items, records).throughput.running_seconds
    assert speed == pytest.approx(4.0, abs=0.6)


def test_seconds_count_every_attempt(items: tuple[WorkItem, ...]) -> None:
    records = [
        build.broken(items[0], "benchmark", 1, seconds={"reset": 2.0, "total": 3.0}),
        build.record(items[0], 2, seconds={"reset": 1.0, "step": 4.0, "total": 6.0}),
    ]
    assert only(items, records).overall.seconds == {"reset": 3.0, "total": 9.0, "step": 4.0}


def test_distinct_starts_are_counted_per_task(items: tuple[WorkItem, ...]) -> None:
    records = [build.record(item, state_digest="same" if item.episode.index < 2 else "other") for item in items[:4]]
    policy = only(items, records)
    assert task(policy, "red").distinct_starts == 2
    assert policy.overall.distinct_starts is None


def test_policies_are_kept_apart() -> None:
    items = build.plan(("a", "b"))
    records = [build.record(item) if item.policy == "a" else build.failed(item) for item in items]
    summary = summarise(items, records, build.manifest(items))
    assert [(policy.label, policy.overall.rate.value) for policy in summary.policies] == [("a", 1.0), ("b", 0.0)]
    assert summary.counts.success == summary.counts.failure == 12


@given(st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_counts_add_up_and_order_does_not_matter(seed: int, shuffle: Any) -> None:
    items = build.plan(("a", "b"), cells=({}, {"camera": "far"}))
    records = build.realistic(items, seed)
    summary = summarise(items, records, build.manifest(items))
    for policy in summary.policies:
        for group in groups(policy):
            counts = group.counts
            assert counts.scored + counts.error + counts.missing == counts.planned
            assert counts.policy_error <= counts.failure
        parts = [policy.overall, *policy.cells]
        assert sum(part.counts.planned for part in parts) == policy.counts.planned
        assert sum(part.counts.success for part in policy.tasks) == policy.overall.counts.success
    mixed = list(records)
    shuffle.shuffle(mixed)
    again = summarise(items, mixed, build.manifest(items))
    assert [policy.overall.rate for policy in again.policies] == [policy.overall.rate for policy in summary.policies]
    assert again.counts == summary.counts


def test_json_is_strict_and_complete(items: tuple[WorkItem, ...], mixed: list[EpisodeRecord]) -> None:
    summary = summarise(items, mixed, build.manifest(items))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in strict JSON")

    text = summary_json(summary)
    assert Summary.model_validate(json.loads(text, parse_constant=refuse)) == summary
    assert text.endswith("}\n")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_summary_refuses_what_is_not_finite(
    items: tuple[WorkItem, ...], mixed: list[EpisodeRecord], value: float
) -> None:
    whole = summarise(items, mixed, build.manifest(items)).model_dump()
    whole["policies"][0]["overall"]["rate"]["wilson"] = (0.0, value)
    with pytest.raises(ValidationError, match="finite number"):
        Summary.model_validate(whole)


def test_csv_has_one_row_per_policy_and_group() -> None:
    items = build.plan(("a", "b"), cells=({}, {"camera": "far"}))
    summary = summarise(items, [build.record(item) for item in items if item.policy == "a"], build.manifest(items))
    rows = list(csv.DictReader(io.StringIO(summary_csv(summary))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row["level"] for row in rows if row["policy"] == "a"] == [
        *["task"] * 3,
        *["suite"] * 2,
        "overall",
        "cell",
        *["task"] * 3,
    ]
    by_policy = {row["policy"]: row for row in rows if row["level"] == "overall"}
    assert (by_policy["a"]["rate"], by_policy["a"]["n"]) == ("1.0", "12")
    assert float(by_policy["a"]["clopper_pearson_low"]) == pytest.approx(0.7353, abs=1e-4)
    assert (by_policy["b"]["rate"], by_policy["b"]["missing"]) == ("", "12")
    assert rows[-1]["perturbation"] == "camera=far"


def test_texts_that_no_file_can_hold_are_written_out() -> None:
    items = build.plan(tasks=[("su\ud800ite", "x\x1b[31m\n")])
    records = [build.record(item, identity="i\udfff") for item in items]
    records = [replace(record, suite="su\ud800ite", task="x\x1b[31m\n") for record in records]
    summary = summarise(items, records, build.manifest(items))
    assert summary.policies[0].tasks[0].suite == r"su\ud800ite"
    assert summary.policies[0].tasks[0].task == r"x\x1b[31m "
    assert summary_csv(summary).encode()
    assert json.loads(summary_json(summary))
