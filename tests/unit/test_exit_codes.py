from __future__ import annotations

from typing import Any

import pytest

from tests.unit.runs import FAILURE, config_of, error_of, items_of, manifest_of, record_of
from vlassess.exit_codes import COMPLETE, GATE_FAILED, INCOMPLETE, INTERRUPTED, exit_code
from vlassess.report import summarise
from vlassess.schema.config import Gates
from vlassess.schema.items import WorkItem
from vlassess.schema.summary import Summary
from vlassess_link.data import EpisodeRecord

POLICY = {"local": "vlassess_link.testing:FakePolicy"}
TWO = config_of(
    episodes=2,
    tasks=["walk/to-4"],
    policies={"a": {**POLICY, "params": {"chunk": 1}}, "b": {**POLICY, "params": {"chunk": 2}}},
)
ITEMS = items_of(TWO)


def record(item: WorkItem, letter: str) -> list[EpisodeRecord]:
    endings: dict[str, dict[str, Any]] = {
        "s": {},
        "f": {"outcome": FAILURE},
        "p": {"error": error_of("policy", "inference")},
        "b": {"error": error_of("benchmark")},
        "i": {"error": error_of("infrastructure")},
    }
    return [record_of(item, **endings[letter])] if letter in endings else []


def summary_of(a: str, b: str) -> Summary:
    """Letters of each policy's episodes: s, f, p, b, i, or - for a missing one."""
    by_policy = {
        "a": [item for item in ITEMS if item.policy == "a"],
        "b": [item for item in ITEMS if item.policy == "b"],
    }
    letters = {"a": a, "b": b}
    records = [
        each
        for label, items in by_policy.items()
        for item, letter in zip(items, letters[label], strict=True)
        for each in record(item, letter)
    ]
    return summarise(ITEMS, records, manifest_of(TWO))


@pytest.mark.parametrize(
    ("a", "b", "gate", "interrupted", "gave_up", "code"),
    [
        ("ss", "ss", None, False, None, COMPLETE),
        ("ff", "ff", None, False, None, COMPLETE),
        ("sp", "fs", None, False, None, COMPLETE),
        ("pp", "ss", None, False, None, INCOMPLETE),
        ("sb", "ss", None, False, None, INCOMPLETE),
        ("ss", "is", None, False, None, INCOMPLETE),
        ("s-", "ss", None, False, None, INCOMPLETE),
        ("--", "--", None, False, None, INCOMPLETE),
        ("ss", "s-", None, False, "no space left", INCOMPLETE),
        ("ss", "s-", None, True, None, INTERRUPTED),
        ("sb", "s-", None, True, "no space left", INTERRUPTED),
        ("ss", "ss", None, True, None, COMPLETE),
        ("ff", "ss", 0.5, True, None, GATE_FAILED),
        ("sf", "ss", 0.5, False, None, COMPLETE),
        ("ff", "ss", 0.5, False, None, GATE_FAILED),
        ("sp", "ss", 0.75, False, None, GATE_FAILED),
        ("ff", "ss", 0.0, False, None, COMPLETE),
        ("sf", "sf", 1.0, False, None, GATE_FAILED),
        ("ff", "s-", 0.5, False, None, INCOMPLETE),
        ("ff", "sb", 0.5, False, None, INCOMPLETE),
    ],
)
def test_the_exit_code(a: str, b: str, gate: float | None, interrupted: bool, gave_up: str | None, code: int) -> None:
    found, reasons = exit_code(summary_of(a, b), Gates(min_success=gate), interrupted, gave_up)
    assert found == code
    assert bool(reasons) == (code != COMPLETE)


def test_every_reason_is_a_sentence() -> None:
    code, reasons = exit_code(
        summary_of("pp", "b-"), Gates(min_success=0.9), interrupted=False, gave_up="no space left"
    )
    assert code == INCOMPLETE
    assert reasons == (
        "no space left",
        "1 benchmark and 0 infrastructure errors are left after all attempts; resume to try them again",
        "1 of 4 episodes are missing; resume to run them",
        "every episode of policy 'a' ended in the policy's own error",
    )


def test_a_failed_gate_names_policy_rate_and_gate() -> None:
    _, reasons = exit_code(summary_of("sf", "ss"), Gates(min_success=0.75), interrupted=False, gave_up=None)
    assert reasons == ("policy 'a' has a success rate of 0.500, below the gate of 0.75",)


@pytest.mark.parametrize(("a", "code"), [("s-", COMPLETE), ("sb", COMPLETE), ("pp", INCOMPLETE)])
def test_what_a_decided_run_did_not_run_is_no_reason(a: str, code: int) -> None:
    assert exit_code(summary_of(a, "--"), Gates(), False, None, decided=True)[0] == code
    assert exit_code(summary_of(a, "--"), Gates(), False, None)[0] == INCOMPLETE


def test_a_decided_run_can_fail_a_gate() -> None:
    assert exit_code(summary_of("f-", "--"), Gates(min_success=0.5), False, None, decided=True)[0] == GATE_FAILED
