"""vla-eval: its `Connection` and `PredictModelServer`, in its own interpreter."""

from __future__ import annotations

import importlib.metadata
import sys
import time

import anyio
import numpy as np
from observations import images, report, state
from vla_eval.connection import Connection
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve_async
from vla_eval.protocol.numpy_codec import set_image_format


class Trivial(PredictModelServer):
    """Answers the same action at once."""

    actions = np.zeros((1, 7), np.float32)

    def predict(self, obs, ctx):
        """Answer."""
        return {"actions": self.actions}

    def get_action_spec(self):
        """Declare nothing."""
        return {}

    def get_observation_spec(self):
        """Declare nothing."""
        return {}


async def serve() -> None:
    """Serve until killed."""
    async with anyio.create_task_group() as group:
        port = await group.start(serve_async, Trivial(chunk_size=1), "127.0.0.1", 0)
        print(f"ws://127.0.0.1:{port}", flush=True)


async def ask(url: str, image_format: str) -> None:
    """Measure on request."""
    set_image_format(image_format)
    obs = {"images": images(), "states": state(), "task_description": "go"}
    async with Connection(url, timeout=30) as connection:
        await connection.start_episode({"task": {"name": "task"}})
        print(f"vla-eval {importlib.metadata.version('vla-eval')}, numpy {np.__version__}", flush=True)
        for line in sys.stdin:
            times = [time.perf_counter()]
            for _ in range(int(line)):
                await connection.act(obs)
                times.append(time.perf_counter())
            report(times)


if __name__ == "__main__":
    anyio.run(serve) if sys.argv[1] == "server" else anyio.run(ask, *sys.argv[2:])
