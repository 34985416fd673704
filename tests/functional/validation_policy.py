"""Small policies whose answers depend on their pictures, for campaigns of a few seconds."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np

from vlassess_link import ActionChunk, Observation, PolicyIdentity, PolicySpec, PredictModelServer, SessionContext
from vlassess_link.policies.model import Answer
from vlassess_link.spaces import end_effector_delta

VIEWS = ("front", "wrist")


class Looking(PredictModelServer):
    """Moves where the light is: a smooth function of both pictures."""

    dtypes: tuple[str, ...] = ("uint8", "float32")
    name = "looking"

    def __init__(self, seed: int = 3, delay: float = 0.0) -> None:
        self.spec = PolicySpec(
            PolicyIdentity(self.name, revision=str(seed)),
            cameras=VIEWS,
            image_size=(24, 24),
            image_dtypes=self.dtypes,
            action=end_effector_delta(),
        )
        self._weights = np.random.default_rng(seed).normal(size=(2 * 36, 7)) / 6
        self._weights[:, 6] *= 2.0
        self._delay = delay

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Answer each row by itself, so that rows do not depend on each other."""
        time.sleep(self._delay)
        return [self._answer(one, own) for one, own in zip(obs, ctx, strict=True)]

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        seen = [obs.images[view].astype(np.float64).reshape(6, 4, 6, 4, 3).mean(axis=(1, 3, 4)) for view in VIEWS]
        features = np.concatenate([one.ravel() for one in seen]) / 255.0
        return ActionChunk(np.tanh(features @ self._weights)[None])


class Rounded(Looking):
    """Takes whole grey levels only."""

    dtypes = ("uint8",)
    name = "rounded"

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        assert all(image.dtype == np.uint8 for image in obs.images.values())
        return super()._answer(obs, ctx)


class Restless(Looking):
    """Answers one question in two ways."""

    name = "restless"
    _calls = itertools.count()

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        return ActionChunk(super()._answer(obs, ctx).actions + 0.05 * (next(self._calls) % 2))


class Crowded(Looking):
    """Answers otherwise when others stand beside it."""

    name = "crowded"

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Let the neighbours in."""
        shift = 0.1 if len(obs) > 1 else 0.0
        answers = [self._answer(one, own) for one, own in zip(obs, ctx, strict=True)]
        return [ActionChunk(answer.actions + shift) for answer in answers]


class Mortal(Looking):
    """Kills its process after so many answers, so that nothing can be tidied up."""

    name = "looking"

    def __init__(self, seed: int = 3, lives: int = 0) -> None:
        super().__init__(seed)
        self._lives = int(os.environ.get("LIVES", lives)) or 10**9

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        self._lives -= 1
        if not self._lives:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._answer(obs, ctx)


class Flickering(Looking):
    """Has no answer to dark pictures: raises, says what is no number, or leaves the gripper out."""

    name = "flickering"

    def __init__(self, how: str, below: float = 60.0) -> None:
        super().__init__()
        self._how, self._below = how, below

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        actions = super()._answer(obs, ctx).actions
        if obs.images["front"].mean() >= self._below:
            return ActionChunk(actions)
        if self._how == "raises":
            raise ValueError("it is too dark")
        if self._how == "nan":
            actions[0, 2] = np.nan
        return ActionChunk(actions[:, :6] if self._how == "short" else actions)


class Falling(Looking):
    """Ends its process after so many answers, the first few times that it is started."""

    name = "looking"

    def __init__(self, ends: str, answers: int = 120, times: int = 1) -> None:
        super().__init__()
        self._ends, self._left, self._times = Path(ends), answers, times

    def _answer(self, obs: Observation, ctx: SessionContext) -> ActionChunk:
        self._left -= 1
        if self._left < 0 and len(list(self._ends.iterdir())) < self._times:
            (self._ends / str(os.getpid())).touch()
            os._exit(7)
        return super()._answer(obs, ctx)
