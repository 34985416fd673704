"""``vlassess check``: what both sides declare, before anything is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import FAKES, Invoke

POLICIES = """
from dataclasses import replace

import numpy as np

from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import ImageConvention


class Turned(PredictModelServer):
    spec = PolicySpec(
        PolicyIdentity("turned"),
        image=ImageConvention("bgr", "rotated_180"),
        state=Layout((Component("x", "other", 1),)),
        action=Layout((Component("dx", "other", 1),)),
    )

    def predict(self, obs, ctx):
        return {"actions": np.ones(1)}


class Wrong(Turned):
    spec = replace(Turned.spec, cameras=("wrist",), state=Layout((Component("pose", "position", 3),)))
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    file = tmp_path / "policies.py"
    file.write_text(POLICIES, encoding="utf-8")
    return file


def test_a_config_is_checked_without_an_episode(invoke: Invoke, policies: Path, tmp_path: Path) -> None:
    said = invoke(
        "check", "walk.yaml", "--set", "benchmark.params={}", "--set", f"policies={{a: {{local: {policies}:Turned}}}}"
    )
    assert said.code == 0, said.err
    assert "policy 'a' with fake-v1: convertible" in said.out
    assert "converted: camera 'front': upright becomes rotated_180" in said.out
    assert "converted: camera 'front': rgb becomes bgr" in said.out
    assert "cannot be checked: state 'x': a side does not declare the source" in said.out
    assert not list((tmp_path / "runs").glob("walk*"))


def test_what_does_not_fit_fails_with_every_reason(invoke: Invoke, policies: Path) -> None:
    said = invoke("check", "walk.yaml", "--set", f"policies={{a: {{local: {policies}:Wrong}}}}", "--json")
    assert said.code == 4
    found = json.loads(said.out)
    assert found["ok"] is False
    failed = [line["text"] for line in found["sections"][0]["lines"] if line["state"] == "FAILED"]
    assert len(failed) == 2
    run = invoke("run", "walk.yaml", "--set", f"policies={{a: {{local: {policies}:Wrong}}}}")
    assert run.code == 2
    assert all(reason in run.err for reason in failed)


def test_a_policy_alone_is_served_and_asked(invoke: Invoke, policies: Path) -> None:
    said = invoke("check", "policy", f"{policies}:Turned")
    assert said.code == 0, said.err
    assert "conventions of the policy 'turned'" in said.out
    assert "action 'dx': 1 number, other" in said.out
    assert "it declares no control rate" in said.out
    assert "conformance of the policy 'turned'" in said.out
    assert "ok       reset_forgets: Nothing of an episode leaks into the next one." in said.out


def test_a_policy_that_breaks_its_contract_fails(invoke: Invoke) -> None:
    twins = Path(__file__).parents[2] / "link" / "testing" / "policy_twins.py"
    said = invoke("check", "policy", f"{twins}:KeepsQueue", "--json")
    assert said.code == 4
    lines = [line for section in json.loads(said.out)["sections"] for line in section["lines"]]
    assert "reset_forgets" in {line["text"].partition(":")[0] for line in lines if line["state"] == "FAILED"}


BROKEN = """
import os

from vlassess_link import PredictModelServer
from vlassess_link.testing import FakeBenchmark


class Dies(FakeBenchmark):
    def step(self, action):
        os._exit(9)


class Interrupts(FakeBenchmark):
    def reset(self, episode):
        os.write(1, bytes([255, 10]))
        raise KeyboardInterrupt


class Nameless(PredictModelServer):
    spec = None
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("benchmark", "broken.py:Dies"), "it ended the process (exit code 9)"),
        (("benchmark", "broken.py:Interrupts"), "whatever ran before. KeyboardInterrupt"),
    ],
)
def test_what_dies_fails_its_check(invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    said = invoke("check", *arguments)
    assert said.code == 4, said.err
    assert words in said.out
    assert "Traceback" not in said.out + said.err


def test_a_policy_of_a_benchmark_is_shown_the_benchmark(invoke: Invoke) -> None:
    said = invoke("check", "policy", "expert", "--benchmark", "tabletop-v1")
    assert said.code == 0, said.err
    assert "ok       same_in_same_out" in said.out
    assert "conventions" not in said.out


def test_a_benchmark_alone_is_loaded_and_asked(invoke: Invoke) -> None:
    said = invoke("check", "benchmark", "tabletop-v1")
    assert said.code == 0, said.err
    assert "state 'eef_rotation': 3 numbers, rotation, absolute, base, axis_angle_2pi, radian" in said.out
    assert "everything that a mismatch could hide in is declared" in said.out
    vague = invoke("check", "benchmark", f"{FAKES}:FakeBenchmark")
    assert vague.code == 0
    assert "action 'dx' does not declare range" in vague.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("check", "polcy", "random"), 2, "`policy` or `benchmark`"),
        (("check", "policy", "randm"), 2, "did you mean 'random'?"),
        (("check", "policy", "random", "--set", "seed=1"), 2, "leave it out"),
        (("check", "benchmark", "tabletop-v1", "--benchmark", "tabletop-v1"), 2, "leave it out"),
        (("check", "policy", "broken.py:Nameless"), 3, "`spec` of Nameless is missing"),
        (("check", "policy", "http://localhost:1"), 2, "is no address; it must begin with ws:// or wss://"),
        (("check", "benchmark", "ws://localhost:1"), 2, "is an address, and a benchmark has none"),
        (("check", "policy", "ws://localhost:1", "--seconds", "1"), 3, "localhost:1"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(
    invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    said = invoke(*arguments)
    assert said.code == code
    assert words in said.err
    assert "Traceback" not in said.err
