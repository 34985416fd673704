"""Ill-mannered benchmarks and a privileged policy, loaded by workers from this file."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link.data import ActionChunk, Episode, EpisodeStart, Observation, RawObservation, StepResult
from vlassess_link.policies.base import Policy
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.testing import FakeBenchmark

sys.stdout.write("noise at import\n")


class Noisy(FakeBenchmark):
    """Prints by every way there is."""

    def reset(self, episode: Episode) -> RawObservation:
        """Print from Python and from a child."""
        sys.stdout.write("noise in reset\n")
        subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
        return super().reset(episode)

    def step(self, action: np.ndarray) -> StepResult:
        """Print past Python."""
        os.write(1, b"noise in step\n")
        return super().step(action)


class Stuck(FakeBenchmark):
    """Hangs in C without letting go of the interpreter, in the episodes ``stuck_indices``."""

    def __init__(self, stuck_indices: list[int], **params: Any) -> None:
        super().__init__(**params)
        self._stuck_indices = stuck_indices
        self._stuck = False

    def reset(self, episode: Episode) -> RawObservation:
        """Remember whether to hang."""
        self._stuck = episode.index in self._stuck_indices
        return super().reset(episode)

    def step(self, action: np.ndarray) -> StepResult:
        """Hang."""
        if self._stuck:
            ctypes.PyDLL(None).sleep(60)
        return super().step(action)


class Impatient(FakeBenchmark):
    """Raises what Ctrl-C raises, in its second step; without ``raises`` it is a Ctrl-C, sent to its own process."""

    def __init__(self, raises: bool = True) -> None:
        super().__init__(termination="at_limit")
        self._raises = raises

    def step(self, action: np.ndarray) -> StepResult:
        """Interrupt."""
        if len(self.received) == 1:
            if self._raises:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)
        return super().step(action)


class Closing(FakeBenchmark):
    """Takes its time to close, and leaves a file."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        """Leave a file."""
        ctypes.CDLL(None).usleep(200_000)
        Path(self._file).write_text("closed", encoding="utf-8")


class Seer(Policy):
    """Reads the simulator's state and goes where it must."""

    def __init__(self) -> None:
        self.spec = PolicySpec(PolicyIdentity("seer"), privileged=True)
        self._benchmark: Any = None

    def bind(self, benchmark: Any) -> None:
        """Keep the simulator."""
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Nothing to do."""

    def predict(self, obs: Observation) -> ActionChunk:
        """Go to the goal at once."""
        return ActionChunk(np.array([[float(start_to_goal(self._benchmark))]]))


def start_to_goal(benchmark: Any) -> float:
    """Return the way that is left."""
    left: float = benchmark._goal - benchmark._x
    return left
