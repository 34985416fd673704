"""Looks at all that LIBERO shows and stands still: what the audit of a factor needs of a policy."""

from __future__ import annotations

import numpy as np

from vlassess_link import ActionChunk, Observation, PolicyIdentity, PolicySpec, PredictModelServer, SessionContext

CHUNK = 10


class Onlooker(PredictModelServer):
    """Is given both cameras, the words and the state."""

    spec = PolicySpec(PolicyIdentity("onlooker", revision="1"), chunk=CHUNK, horizon=CHUNK)

    def predict(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        """Stand still, with the hand open."""
        return ActionChunk(np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], (CHUNK, 1)))
