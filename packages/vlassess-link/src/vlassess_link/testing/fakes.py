"""A benchmark, a policy and a clock that cost nothing and fail on request."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Mapping, Optional, Sequence

import numpy as np

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import (
    Axis,
    BenchmarkSpec,
    CameraSpec,
    Level,
    PolicyIdentity,
    PolicySpec,
    TaskSpec,
    Termination,
)

BENCHMARK_FAULTS = ("reset_raises", "reset_hangs", "step_raises", "step_hangs", "dies", "render_raises", "nan_state")
POLICY_FAULTS = ("nan", "inf", "shape", "dtype", "raises", "hangs", "dies", "reset_raises")


class FakeClock:
    """A clock that moves only when it is told to.

    Attributes:
        now: Seconds.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class FakeBenchmark(Benchmark):
    """A walk along a line: the action (1 number) is added to x, and x >= goal is success.

    The start is drawn from the layout stream in [0, 1), the goal is the task's number plus 4.

    Args:
        tasks: Tasks of its one suite "walk".
        step_limit: Of every task.
        step_seconds: Real seconds that a step sleeps.
        image: Side of its one camera's images in pixels; 0: it has no camera.
        fault: One of `BENCHMARK_FAULTS`, or None.
        fault_indices: Episode indices that the fault hits; None: all.
        fault_once_file: The fault strikes only while this file does not exist, and makes it.
        termination: Kind of termination; "hold" holds for 3 steps.
    """

    def __init__(
        self,
        tasks: int = 2,
        step_limit: int = 20,
        step_seconds: float = 0.0,
        image: int = 4,
        termination: str = "on_success",
        **faults: Any,
    ) -> None:
        hold = Termination(termination, 3 if termination == "hold" else 0)
        success = {"on_success": "ever", "at_limit": "at_end", "hold": "held"}[termination]
        cameras = (CameraSpec("front", ((image, image),)),) if image else ()
        self.spec = BenchmarkSpec(
            id="fake",
            version="1",
            tasks=tuple(TaskSpec("walk", f"to-{4 + n}", step_limit, f"go to {4 + n}") for n in range(tasks)),
            action=Layout((Component("dx", "other", 1),)),
            cameras=cameras,
            state=Layout((Component("x", "other", 1),)),
            termination=hold,
            success=success,
            axes=(Axis("start", (Level("far", {"shift": -2.0}),), ("x",), "unpaired"),),
            hold_action=(0.0,),
            licence="Apache-2.0",
        )
        self.renders = 0
        self.received: list[np.ndarray] = []
        self._step_seconds = step_seconds
        self._fault: Optional[str] = faults.pop("fault", None)
        self._fault_indices: Optional[Sequence[int]] = faults.pop("fault_indices", None)
        self._fault_once: Optional[str] = faults.pop("fault_once_file", None)
        if faults:
            raise TypeError(f"FakeBenchmark has no parameter {sorted(faults)[0]!r}")
        self._armed = False
        self._x = 0.0
        self._goal = 4.0
        self._instruction = ""

    def reset(self, episode: Episode) -> RawObservation:
        """Draw the start."""
        self._armed = self._fault_indices is None or episode.index in self._fault_indices
        self._strike("reset")
        self._goal = float(episode.task.split("-")[1])
        shift = -2.0 if episode.perturbation.get("start") == "far" else 0.0
        self._x = float(episode.rng("layout").random()) + shift
        self._instruction = episode.instruction or f"go to {self._goal:g}"
        x = float("nan") if self._armed and self._fault == "nan_state" else self._x
        return RawObservation(self._x, self._instruction, {"x": np.array([x]), "goal": np.array([self._goal])})

    def step(self, action: np.ndarray) -> StepResult:
        """Move."""
        self._strike("step")
        if self._step_seconds:
            time.sleep(self._step_seconds)
        self.received.append(action)
        self._x += float(action[0])
        return StepResult(RawObservation(self._x, self._instruction), self._x)

    def make_obs(self, raw: RawObservation) -> Observation:
        """Paint x as a brightness."""
        self._strike("render")
        self.renders += 1
        images: Dict[str, np.ndarray] = {}
        view = self.view.cameras if self.view is not None else {c.name: c.sizes[0] for c in self.spec.cameras}
        for name, size in view.items():
            side = size[0]
            images[name] = np.full((side, side, 3), int(np.clip(raw.native * 10, 0, 255)), np.uint8)
        return Observation(images, raw.instruction, np.array([raw.native], np.float32))

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Compare x with the goal."""
        share = float(np.clip(result.native / self._goal, 0.0, 1.0))
        stages = ("halfway",) if share >= 0.5 else ()
        return StepOutcome(result.native >= self._goal, share, stages, {"distance": self._goal - result.native})

    def _strike(self, where: str) -> None:
        if not self._armed or self._fault is None or not (self._fault.startswith(where) or self._fault == "dies"):
            return
        if self._fault == "dies" and where != "step":
            return
        if self._fault_once is not None:
            if os.path.exists(self._fault_once):
                return
            with open(self._fault_once, "w", encoding="utf-8"):
                pass
        if self._fault.endswith("raises"):
            raise ValueError(f"the fake was told to raise in {where}")
        if self._fault.endswith("hangs"):
            time.sleep(3600)
        os._exit(9)


class FakePolicy(PredictModelServer):
    """Walks forward: answers `chunk` actions of `stride` each, or breaks the contract on request.

    Args:
        chunk: Actions per answer.
        stride: Value of each action.
        noise: Standard deviation of the noise added to each action, drawn from the session's noise seed.
        fault: One of `POLICY_FAULTS`, or None.
        fault_step: The fault strikes from this control step on.
        seconds: Real seconds that predict sleeps.
        name: Its identity's name.
    """

    def __init__(
        self,
        chunk: int = 1,
        stride: float = 1.0,
        noise: float = 0.0,
        fault: Optional[str] = None,
        fault_step: int = 0,
        **others: Any,
    ) -> None:
        self._stride, self._noise, self._fault, self._fault_step = stride, noise, fault, fault_step
        self._seconds = float(others.pop("seconds", 0.0))
        identity = PolicyIdentity(others.pop("name", "fake"), revision="1")
        if others:
            raise TypeError(f"FakePolicy has no parameter {sorted(others)[0]!r}")
        self.spec = PolicySpec(
            identity,
            chunk=chunk,
            horizon=chunk,
            action=Layout((Component("dx", "other", 1),)),
            stochastic=noise > 0,
            uses_noise_seed=True,
        )

    def start_episode(self, ctx: SessionContext) -> None:
        """Fail here if told to."""
        if self._fault == "reset_raises":
            raise ValueError("the fake was told to raise in start_episode")

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        """Walk."""
        if self._seconds:
            time.sleep(self._seconds)
        actions = np.full((self.spec.chunk, 1), self._stride)
        if self._noise:
            actions = actions + self._noise * ctx.rng().standard_normal(actions.shape)
        if self._fault is not None and obs.step >= self._fault_step:
            actions = self._broken(actions)
        return {"actions": actions}

    def _broken(self, actions: np.ndarray) -> np.ndarray:
        if self._fault == "raises":
            raise ValueError("the fake was told to raise in predict")
        if self._fault == "hangs":
            time.sleep(3600)
        if self._fault == "dies":
            os._exit(9)
        broken: Dict[str, np.ndarray] = {
            "nan": np.full_like(actions, np.nan),
            "inf": np.full_like(actions, np.inf),
            "shape": np.zeros((len(actions), 5)),
            "dtype": actions.astype(complex),
        }
        return broken.get(str(self._fault), actions)
