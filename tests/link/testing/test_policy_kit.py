"""The kit passes what keeps the contract, and each check fails on a policy that is broken in just its way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.link.testing import policy_twins
from tests.link.testing.policy_twins import TWINS, GoodBatch, GoodNoise, GoodPolicy
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.testing.__main__ import main
from vlassess_link.testing.policy_kit import CHECKS, examine_policy, run_policy_kit
from vlassess_link.testing.policy_subject import subject_of_model
from vlassess_link.wire.server import PolicyServer

SEER = "tests/link/simulators.py:Seer"


@pytest.mark.parametrize("cls", [GoodPolicy, GoodNoise, GoodBatch])
def test_what_keeps_the_contract_passes(cls: type[GoodPolicy]) -> None:
    report = run_policy_kit(subject_of_model(cls()))
    assert [f"{result.name}: {result.reason}" for result in report.results if result.status == "failed"] == []
    one_of_them = {"same_in_same_out", "noise_seed_is_honoured", "batch_agrees", "openpi_agrees"}
    assert {result.name for result in report.results if result.status == "skipped"} <= one_of_them


@pytest.mark.parametrize(("check", "cls"), [(name, cls) for name, classes in TWINS.items() for cls in classes])
def test_each_check_finds_its_broken_twin(check: str, cls: type[PredictModelServer]) -> None:
    (result,) = run_policy_kit(subject_of_model(cls()), [check]).results
    assert result.status == "failed", result.reason
    assert result.reason
    assert not result.traceback


def test_every_check_has_a_twin() -> None:
    assert set(TWINS) == {check.name for check in CHECKS}


@pytest.mark.parametrize(("cls", "broken"), [(GoodBatch, set()), (policy_twins.KeepsByTurns, {"sessions_are_apart"})])
def test_a_policy_behind_a_url(cls: type[GoodPolicy], broken: set[str]) -> None:
    with PolicyServer(cls()) as server:
        report = examine_policy(server.url)
    found = {result.name: result.status for result in report.results}
    assert broken <= {name for name, status in found.items() if status == "failed"} <= broken | {"query_is_stateless"}
    assert found["socket_agrees"] == found["openpi_agrees"] == "skipped"
    assert found["reset_forgets"] == "passed"


def test_a_benchmark_shows_its_own_observations() -> None:
    benchmark = {"target": "vlassess_link.testing:FakeBenchmark", "params": {"image": 8}}
    report = examine_policy("vlassess_link.testing:FakePolicy", {"chunk": 2}, benchmark)
    assert report.ok, report.text()


def test_a_privileged_policy_is_shown_the_benchmark_itself() -> None:
    report = examine_policy(SEER, {}, {"target": "vlassess_link.testing:FakeBenchmark"}, ["reset_forgets"])
    assert [result.status for result in report.results] == ["passed"]
    alone = examine_policy(SEER, {}, None, ["reset_forgets"]).results[0]
    assert alone.status == "failed"
    assert "give the one that it belongs to" in alone.reason


def test_what_a_policy_raises_fails_the_check_with_its_traceback() -> None:
    class Raises(GoodPolicy):
        def predict(self, obs: Any, ctx: Any) -> Any:
            raise ValueError("no actions today")

    result = run_policy_kit(subject_of_model(Raises()), ["chunk_is_as_declared"]).results[0]
    assert result.status == "failed"
    assert "no actions today" in result.reason
    assert "Traceback" in result.traceback


def test_observations_are_made_from_the_spec() -> None:
    subject = subject_of_model(GoodPolicy(image_size=(20, 30), image_dtypes=("float32",)))
    shown = subject.scenes[0].observations
    assert [obs.step for obs in shown] == [0, 2, 4]
    assert shown[0].images["front"].shape == (20, 30, 3)
    assert shown[0].images["front"].dtype == np.float32
    assert shown[0].state is not None
    assert shown[0].state.shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--params-json", "["), "is no JSON"),
        (("--params-json", "[1]"), "is no JSON object"),
        (("--benchmark", "{}"), "is not as"),
    ],
)
def test_arguments_that_are_no_json_are_refused(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["policy", "a:B", *arguments])
    assert words in capsys.readouterr().err


def test_the_command_examines_a_policy(capfd: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "reset_forgets", "--only", "chunk_is_as_declared"]
    assert main(["policy", "tests.link.testing.policy_twins:KeepsQueue", *only]) == 1
    report = json.loads(capfd.readouterr().out)
    assert {result["name"]: result["status"] for result in report["results"]} == {
        "chunk_is_as_declared": "passed",
        "reset_forgets": "failed",
    }
