"""``vlassess tune`` from the command line: a sleeping benchmark, a policy whose speed is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.functional.cli.conftest import Invoke
from vlassess.config import load_config
from vlassess_link import Observation, PolicyIdentity, PolicySpec, SessionContext
from vlassess_link.jsonable import to_json
from vlassess_link.policies.instant import Instant, read, save

POLICY = """
import time
import numpy as np
from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer

class Slow(PredictModelServer):
    spec = PolicySpec(PolicyIdentity("slow"))

    def predict_batch(self, obs, ctx):
        time.sleep(0.040 + 0.001 * len(obs))
        return [{"actions": np.full((1, 1), 0.001)} for _ in obs]
"""
CONFIG = """
name: tuned
benchmark: {target: "vlassess_link.testing:FakeBenchmark", params: {step_seconds: 0.05, step_limit: 40}}
policies:
  slow: {serve: slow.py}
  inside: {local: "vlassess_link.testing:FakePolicy"}
episodes: 2
"""


def test_both_curves_are_measured_and_a_config_is_written(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(POLICY)
    (tmp_path / "my.yaml").write_text(CONFIG)
    said = invoke("tune", "my.yaml", "--seconds", "0.5", "--max-workers", "2", "--max-batch", "2", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    # One worker sleeps 50 ms a step; the policy answers 1 in 41 ms and 2 in 42 ms.
    assert 12 < found["demand"]["1"] <= 20.5
    assert 17 < found["supply"]["1"] <= 25
    assert 1.5 < found["supply"]["2"] / found["supply"]["1"] < 2.3
    assert found["operating_point"]["max_batch"] == 2
    tuned = load_config(str(tmp_path / "tuning" / "tuned.yaml"))
    before = load_config(str(tmp_path / "my.yaml"))
    assert tuned.execution.workers == found["operating_point"]["workers"]
    assert tuned.policies["slow"].max_batch == 2
    assert tuned.benchmark == before.benchmark
    assert tuned.policies["inside"] == before.policies["inside"]
    assert (tmp_path / "tuning" / "tuning.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "tuning" / "tuning.html").read_text()
    assert "data:image/png;base64," in page
    assert "slow on fake-v1" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--policy", "vlassess_link.testing:FakePolicy", "--label", "other"],
            "no policy with a server is labelled 'other'",
        ),
        (
            ["--set", 'policies={a: {local: "vlassess_link.testing:FakePolicy"}}'],
            "the config has 0 policies with a server",
        ),
    ],
)
def test_one_policy_with_a_server_is_tuned(invoke: Invoke, tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "slow.py").write_text(POLICY)
    (tmp_path / "my.yaml").write_text(CONFIG)
    said = invoke("tune", "my.yaml", *arguments)
    assert said.code == 2
    assert says in said.err


def test_the_first_observation_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "first.npz"
    spec = PolicySpec(PolicyIdentity("real"), chunk=3, horizon=3)
    model = Instant(to_json(spec), [0.0, -1.0], str(path))
    images = {"front": np.arange(12, dtype=np.uint8).reshape(2, 2, 3)}
    first = Observation(images, "go there", np.array([0.5]), {"depth": np.ones(2)})
    answer = model.predict(first, SessionContext("s"))
    model.predict(Observation({}, "another"), SessionContext("s"))
    assert answer["actions"].tolist() == [[0.0, -1.0]] * 3
    back = read(path)
    assert back.instruction == "go there"
    for one, other in ((back.images["front"], images["front"]), (back.state, first.state), (back.extras["depth"], 1.0)):
        np.testing.assert_array_equal(one, other)
    save(Observation({}, "nothing"), path)
    assert (read(path).images, read(path).state) == ({}, None)
