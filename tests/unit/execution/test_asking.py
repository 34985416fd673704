"""A policy in a worker of its own is asked questions: what it says, what it raises, and a worker that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vlassess.execution import LocalAnswers, worker_launch
from vlassess_link.errors import InfrastructureFault, PluginError, PredictError

MODEL = """
import os, time
import numpy as np
from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer

class Model(PredictModelServer):
    spec = PolicySpec(PolicyIdentity("model"), cameras=())

    def predict(self, obs, ctx):
        return {"actions": np.zeros(2)}

    def answer(self, question, options):
        print("thinking")
        if question == "raise":
            raise ValueError("no idea")
        if question == "number":
            return 3
        if question == "end":
            os._exit(9)
        if question == "hang":
            time.sleep(60)
        return max(options, key=options.get)
"""


@contextmanager
def asked(tmp_path: Path, local: str = "", **source: object) -> Iterator[LocalAnswers]:
    (tmp_path / "model.py").write_text(MODEL)
    launch = worker_launch("vlassess_link.testing:FakeBenchmark", {}, {}, {})
    policy = LocalAnswers(
        launch,
        {"local": local or f"{tmp_path / 'model.py'}:Model", "params": {}, **source},
        {"load": 30.0, "inference": 1.0},
        tmp_path / "log",
    )
    try:
        yield policy
    finally:
        policy.close()


def test_what_a_policy_answers_and_raises(tmp_path: Path) -> None:
    with asked(tmp_path) as policy:
        assert policy.answer("which?", {"A": "1", "B": "2"}) == "B"
        with pytest.raises(PredictError, match=r"ValueError in Model\.answer: no idea"):
            policy.answer("raise", {"A": "1"})
        with pytest.raises(PredictError, match="returned a int; it must return a key"):
            policy.answer("number", {"A": "1"})
        assert policy.answer("which?", {"A": "3", "B": "2"}) == "A"


def test_a_worker_that_ends_is_told_from_a_policy_that_fails(tmp_path: Path) -> None:
    with asked(tmp_path) as policy, pytest.raises(InfrastructureFault, match=r"ended \(9\): thinking"):
        policy.answer("end", {"A": "1"})
    with asked(tmp_path) as policy, pytest.raises(InfrastructureFault, match="inference took longer than its deadline"):
        policy.answer("hang", {"A": "1"})


def test_what_cannot_be_loaded_or_asked_is_said(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="no_such"), asked(tmp_path, "no_such.module:Model"):
        pass
    with (
        asked(tmp_path, "vlassess_link.testing:FakePolicy") as policy,
        pytest.raises(PredictError, match=r"FakePolicy has no answer\(self, question, options\)"),
    ):
        policy.answer("which?", {"A": "1"})


def test_an_ensemble_passes_the_question_on(tmp_path: Path) -> None:
    chunked = MODEL.replace("cameras=())", "cameras=(), chunk=4)")
    (tmp_path / "chunked.py").write_text(chunked)
    with asked(tmp_path, f"{tmp_path / 'chunked.py'}:Model", ensemble="newest") as policy:
        assert policy.answer("which?", {"A": "1", "B": "2"}) == "B"
