# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24", "msgpack>=1.0.8", "websockets>=15"]
# ///
"""Stands still with an open gripper: a task that it solves measures nothing."""

from __future__ import annotations

import numpy as np

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Layout
from vlassess_link.specs import PolicyIdentity, PolicySpec


class DoNothing(PredictModelServer):
    """Answers zero motion, and -1 (open) for the gripper, which is the last number.

    Args:
        dims: Numbers in one action.
        chunk: Actions in one answer.
    """

    def __init__(self, dims: int = 7, chunk: int = 10) -> None:
        self._actions = np.zeros((chunk, dims))
        self._actions[:, -1] = -1.0
        identity = PolicyIdentity("do-nothing", revision="1", weights_digest="none")
        nothing = Layout(())
        self.spec = PolicySpec(identity, cameras=(), state=nothing, action=nothing, chunk=chunk, horizon=chunk)

    def predict(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        """Stand still."""
        return ActionChunk(self._actions)


if __name__ == "__main__":
    from vlassess_link.policies.server import serve

    serve(DoNothing)
