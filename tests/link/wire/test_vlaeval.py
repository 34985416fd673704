"""Against the real vla-eval 0.8.0, in its own interpreter: its client and our server, our client and its server.

`make test-peers` builds it. VLASSESS_VLAEVAL_PYTHON names another one; with VLASSESS_VLAEVAL_SOURCE it imports
vla_eval from that folder instead, as from a checkout of another version.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.link.models import START, Counter, observation
from tools import peers
from vlassess_link.errors import InvalidActionError, PredictError
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.server import PolicyServer

WANTED = os.environ.get("VLASSESS_PEERS") == "1"
PYTHON = os.environ.get(peers.VARIABLES["vla-eval"]) or (peers.built("vla-eval") if WANTED else "")

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="NOT TESTED AGAINST VLA-EVAL: its environment is large; run `make test-peers`"
)

ITS_CLIENT = """
import json, sys
import anyio, numpy as np
from vla_eval.connection import Connection
from vla_eval.protocol.numpy_codec import set_image_format

async def main(url, image_format):
    set_image_format(image_format)
    out = {"actions": [], "errors": []}
    async with Connection(url, timeout=10) as conn:
        out["server_info"] = {k: conn.server_info[k] for k in ("protocol_version", "model_server", "capabilities")}
        for episode in range(2):
            await conn.start_episode({"task": {"name": "to-4", "suite": "walk", "ids": [1, 2]}})
            for step in range(4):
                try:
                    action = await conn.act({
                        "images": {"front": np.full((4, 6, 3), 9, np.uint8)},
                        "task_description": "go to 4",
                        "states": np.array([float(sys.argv[3]), 0.0], np.float32),
                    })
                    out["actions"].append([str(action["actions"].dtype), action["actions"].tolist()])
                except RuntimeError as error:
                    out["errors"].append(str(error))
                    break
            await conn.end_episode({"metrics": {"success": True}})
    print(json.dumps(out))

anyio.run(main, sys.argv[1], sys.argv[2])
"""

ITS_SERVER = """
import inspect, json, socket, sys
import anyio, numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve_async

class Peer(PredictModelServer):
    def predict(self, obs, ctx):
        image = obs["images"]["front"]
        state = obs["states"]
        if state[0] == 666:
            raise ValueError("the number of the beast")
        row = np.array([image.mean(), state[0], ctx.step, float(image.shape == (4, 6, 3)), state[0] == 999])
        if state[0] == 999:
            row[4] = np.nan
        return {"actions": np.tile(row, (3, 1)) + np.arange(3)[:, None] * 10}
    def get_action_spec(self):
        return {}
    def get_observation_spec(self):
        return {}

async def main():
    async with anyio.create_task_group() as group:
        peer = Peer(chunk_size=json.loads(sys.argv[1]))
        if "task_status" in inspect.signature(serve_async).parameters:
            print(await group.start(serve_async, peer, "127.0.0.1", 0), flush=True)
            return
        with socket.create_server(("127.0.0.1", 0)) as free:  # before 0.8 it does not say its port
            port = free.getsockname()[1]
        group.start_soon(serve_async, peer, "127.0.0.1", port)
        print(port, flush=True)

anyio.run(main)
"""


def environment() -> dict[str, str]:
    source = os.environ.get("VLASSESS_VLAEVAL_SOURCE")
    return {**os.environ, **({"PYTHONPATH": source} if source else {})}


def its_client(server: PolicyServer, image_format: str, state: float) -> dict[str, Any]:
    command = [PYTHON, "-c", ITS_CLIENT, server.url, image_format, str(state)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(params=[3, None], ids=["chunked", "unchunked"])
def its_server(request: pytest.FixtureRequest) -> Iterator[tuple[str, int | None]]:
    command = [PYTHON, "-c", ITS_SERVER, json.dumps(request.param)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        yield f"ws://127.0.0.1:{process.stdout.readline().strip()}", request.param
        process.kill()


def test_its_client_is_served_one_action_at_a_time() -> None:
    model = Counter(chunk=3, horizon=3)
    with PolicyServer(model) as server:
        out = its_client(server, "raw", 5.0)
    assert out["server_info"]["protocol_version"] == 1
    assert out["server_info"]["model_server"] == "counter"
    assert out["errors"] == []
    assert {dtype for dtype, _ in out["actions"]} == {"float64"}
    expected = [[9 + k, 5 + k, calls + k] for _ in range(2) for k, calls in ((0, 1), (1, 1), (2, 1), (0, 2))]
    assert [row[:3] for _, row in out["actions"]] == expected
    assert model.seen[0].instruction == "go to 4"
    assert model.seen[0].images["front"].shape == (4, 6, 3)


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_its_compressed_images_are_read(form: str) -> None:
    model = Counter(chunk=1)
    with PolicyServer(model) as server:
        out = its_client(server, form, 5.0)
        with urllib.request.urlopen(server.url.replace("ws", "http") + "/config", timeout=5) as answer:
            assert "config" in json.loads(answer.read())
    assert out["errors"] == []
    assert len(out["actions"]) == 8
    assert {(obs.images["front"].shape, obs.images["front"].dtype.name) for obs in model.seen} == {((4, 6, 3), "uint8")}
    assert {int(obs.images["front"].max()) for obs in model.seen} == {9}


def test_its_client_learns_of_a_policy_that_raises() -> None:
    with PolicyServer(Counter()) as server:
        out = its_client(server, "raw", 666.0)
    assert [("the number of the beast" in error) for error in out["errors"]] == [True, True]


def test_its_server_is_a_policy(its_server: tuple[str, int | None]) -> None:
    url, chunk = its_server
    policy = RemotePolicy(url, 20.0, 10.0)
    assert policy.spec.identity.name == "Peer"
    assert policy.spec.identity.revision.startswith("vla-eval 0.")
    assert (policy.spec.chunk, policy.spec.observe) == (1, "every_step")
    for _ in range(2):
        policy.reset(START, 1)
        if chunk is None:
            with pytest.raises(InvalidActionError, match="without announcing chunks"):
                policy.predict(observation(5))
            continue
        rows = [policy.predict(observation(5, step)).actions for step in range(4)]
        assert {(row.shape, str(row.dtype)) for row in rows} == {((1, 5), "float32")}
        np.testing.assert_array_equal(np.concatenate(rows)[:, 2], [0, 10, 20, 3])
        np.testing.assert_array_equal(rows[0], [[5, 5, 0, 1, 0]])
    policy.reset(START, 1)
    with pytest.raises(PredictError, match="the number of the beast"):
        policy.predict(observation(666))
    policy.reset(START, 1)
    with pytest.raises(InvalidActionError, match=r"nan|without"):
        policy.predict(observation(999))
    policy.close()
