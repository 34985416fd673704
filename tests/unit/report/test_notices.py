from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.report import build
from vlassess.report import summarise
from vlassess.schema.items import WorkItem
from vlassess.schema.summary import Notice
from vlassess_link.data import EpisodeRecord

Change = Callable[[WorkItem], EpisodeRecord]


def found(records: Sequence[EpisodeRecord], items: Sequence[WorkItem], **config: Any) -> dict[str, Notice]:
    """Notices by code."""
    summary = summarise(items, records, build.manifest(items, **config))
    codes = [notice.code for notice in summary.notices]
    assert len(set(codes)) == len(codes)
    return {notice.code: notice for notice in summary.notices}


ITEMS = build.plan()


def test_a_clean_run_has_nothing_to_say() -> None:
    assert found([build.record(item) for item in ITEMS], ITEMS) == {}


@pytest.mark.parametrize(
    ("code", "change", "words"),
    [
        ("policy_errors", lambda i: build.broken(i, "policy"), "Every episode ended in an error of the policy"),
        ("errors_left", lambda i: build.broken(i, "benchmark"), "12 episodes ended in an error of the benchmark (12)"),
        (
            "policy_never_moved",
            lambda i: build.record(i, action_low=(0.0,) * 7, action_high=(0.0,) * 7),
            "Every action that it executed in 12 episodes was the same",
        ),
        (
            "identical_starts",
            lambda i: build.record(i, state_digest="d" + i.episode.task),
            "identical in pick/red, pick/blue, place/bowl",
        ),
        (
            "repeated_starts",
            lambda i: build.record(i, state_digest=f"d{i.episode.index // 2}"),
            "more than once in pick/red, pick/blue, place/bowl",
        ),
        (
            "success_at_first_step",
            lambda i: build.record(i, outcome=build.success(1), steps=1),
            "12 episodes succeeded on the first step in pick/red",
        ),
        ("privileged", lambda i: build.record(i, privileged=True), "upper bound"),
        ("several_identities", lambda i: build.record(i, identity=f"id{i.episode.index % 2}"), "(id0, id1)"),
        ("observed_every_step", lambda i: build.record(i, observations=40, horizon=1), "observed at every step"),
    ],
)
def test_each_check_finds_what_it_is_for(code: str, change: Change, words: str) -> None:
    notices = found([change(item) for item in ITEMS], ITEMS)
    assert set(notices) == {code}
    assert words in notices[code].message


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda i: build.record(i, action_low=(0.0,) * 7, action_high=(0.0,) * 7, steps=1, observations=1),
            id="one step is too few to say that it never moved",
        ),
        pytest.param(
            lambda i: build.record(i, action_low=(float(i.episode.index),), action_high=(float(i.episode.index),)),
            id="another constant action in another episode is a reaction",
        ),
        pytest.param(
            lambda i: build.record(i, state_digest=""), id="a start that was not measured is not an identical one"
        ),
        pytest.param(
            lambda i: build.record(i, identity="unknown" if i.episode.index else "id"),
            id="a policy that was not reached has no other identity",
        ),
        pytest.param(
            lambda i: build.record(i, observations=40 if i.episode.index else 4), id="some episodes observed sparsely"
        ),
    ],
)
def test_checks_do_not_cry_wolf(change: Change) -> None:
    assert found([change(item) for item in ITEMS], ITEMS) == {}


def test_missing_episodes_are_counted() -> None:
    notices = found([build.record(item) for item in ITEMS[:-1]], ITEMS)
    assert "1 of 12 planned episodes is not run" in notices["incomplete"].message


def test_single_policy_errors_are_counted() -> None:
    records = [build.broken(ITEMS[0], "policy"), *(build.failed(item) for item in ITEMS[1:])]
    assert "1 failure of 12 is due to an error" in found(records, ITEMS)["policy_errors"].message


def test_an_overridden_step_limit_is_another_protocol() -> None:
    notices = found([build.record(item) for item in ITEMS], ITEMS, step_limit=50)
    assert "set to 50 for every task: this is another protocol" in notices["step_limit_overridden"].message


def test_records_of_another_plan_are_left_out_and_said() -> None:
    (other,) = build.plan(tasks=[("pick", "green")], episodes=1)
    records = [*(build.record(item) for item in ITEMS), build.failed(other)]
    summary = summarise(ITEMS, records, build.manifest(ITEMS))
    assert summary.counts.failure == 0
    assert [notice.code for notice in summary.notices] == ["records_not_in_plan"]


def test_unknown_parts_of_an_identity_are_named() -> None:
    manifest = build.manifest(ITEMS)
    spec = manifest.policy_specs["main"]
    spec["identity"] = {**spec["identity"], "weights_digest": "unknown", "revision": "unknown"}
    summary = summarise(ITEMS, [build.record(item) for item in ITEMS], manifest)
    assert [notice.code for notice in summary.notices] == ["identity_unknown"]
    assert "revision, weights_digest" in summary.notices[0].message


def test_a_policy_without_cameras_renders_nothing_at_every_step() -> None:
    manifest = build.manifest(ITEMS)
    manifest.policy_specs["main"]["cameras"] = []
    records = [build.record(item, observations=40) for item in ITEMS]
    assert summarise(ITEMS, records, manifest).notices == ()


def test_identical_starts_of_a_cell_are_its_own() -> None:
    items = build.plan(tasks=[("pick", "red")], cells=({}, {"pose": "far"}))
    records = [build.record(item) for item in items]
    records = [replace(record, state_digest="same") if record.perturbation else record for record in records]
    assert "pick/red" in found(records, items)["identical_starts"].message


def test_many_tasks_are_not_all_named() -> None:
    items = build.plan(tasks=[("suite", f"task{n}") for n in range(9)], episodes=2)
    records = [build.record(item, state_digest=item.episode.task) for item in items]
    assert "suite/task4 and 4 more tasks" in found(records, items)["identical_starts"].message


def test_warnings_come_before_notes() -> None:
    records = [build.record(item, privileged=True) for item in ITEMS[:-1]]
    summary = summarise(ITEMS, [replace(record, identity="id") for record in records], build.manifest(ITEMS))
    assert [notice.severity for notice in summary.notices] == ["warning", "note"]


@pytest.mark.parametrize(("shift", "said"), [(1e-3, True), (1e-9, False)])
def test_a_start_that_differs_between_two_policies_is_found_out(shift: float, said: bool) -> None:
    items = build.plan(("a", "b"))
    records = [replace(build.record(item), initial_state={"x": [float(item.episode.index)]}) for item in items]
    first = records[0]
    assert sum(record.pair_key == first.pair_key for record in records) > 1, "nobody shares the start"
    moved = replace(first, initial_state={"x": [first.index + shift]})
    told = found([moved, *records[1:]], items)
    assert ("unequal_starts" in told) is said
    if said:
        assert "1 start differed" in told["unequal_starts"].message
