"""A scripted expert: it reads the simulator and moves item by item as a person would program it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, Policy, PolicyIdentity, PolicySpec
from vlassess_link._version import __version__
from vlassess_link.errors import ContractError

from .declared import IDS, POSITION_SCALE, ROTATION_SCALE, action_layout
from .routine import Job, Plan, advanced, begun, homewards, resumed
from .truth import Truth

_SCALE = np.array((*(POSITION_SCALE,) * 3, *(ROTATION_SCALE,) * 3, 1.0))


@runtime_checkable
class Readable(Protocol):
    """What the expert needs of a benchmark."""

    def privileged(self) -> Truth:
        """Return the present truth."""


class ScriptedExpert(Policy):
    """Does the task in almost every episode; privileged, an upper bound only.

    It looks at the truth before every answer and goes back to where it can go on: it may be disturbed.

    Args:
        chunk: Actions in one answer. Beyond the first they are planned on the expected motion of the hand.
        horizon: After how many of them it is asked again: its routine goes on by so many; None: after all.
    """

    embodiment = "single"

    def __init__(self, chunk: int = 1, horizon: int | None = None) -> None:
        self.spec = PolicySpec(
            PolicyIdentity(f"{IDS[self.embodiment]}-expert", revision=__version__, weights_digest="none"),
            cameras=(),
            action=action_layout(self.embodiment),
            chunk=chunk,
            horizon=chunk if horizon is None else horizon,
            privileged=True,
        )
        self._benchmark: Readable | None = None
        self._job: Job | None = None
        self._plan: Plan | None = None

    def bind(self, benchmark: Any) -> None:
        """Take the benchmark that is read.

        Raises:
            ContractError: it has no `privileged()`.
        """
        if not isinstance(benchmark, Readable):
            raise ContractError(
                f"the tabletop expert was bound to {type(benchmark).__name__}; it reads tabletop benchmarks only"
            )
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin the routine anew; there is no noise to seed."""
        self._job = self._plan = None

    def choose(self, truth: Truth) -> Job:
        """Return what is brought where in this episode; override it for an expert that does something else."""
        return job_of(truth)

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next ``chunk`` actions of the routine.

        Raises:
            ContractError: `bind` was not called.
        """
        if self._benchmark is None:
            raise ContractError("the tabletop expert reads the simulator: run it as a local policy, which is bound")
        truth = self._benchmark.privileged()
        if self._job is None or self._plan is None:
            self._job = self.choose(truth)
            self._plan = begun(truth.arms[self._job.arm])
        plan, steps = resumed(truth, self._job, self._plan), []
        for number in range(1, self.spec.chunk + 1):
            plan, step = advanced(truth, self._job, plan)
            steps.append(step)
            if number == self.spec.horizon:
                self._plan = plan
        parts = [
            np.array(steps) if prefix == self._job.arm else homewards(arm, self.spec.chunk)
            for prefix, arm in truth.arms.items()
        ]
        return ActionChunk(np.concatenate([part / _SCALE for part in parts], axis=1))


class BimanualExpert(ScriptedExpert):
    """The same for two arms: the one on the target's side works, the other one stays at home."""

    embodiment = "bimanual"


def job_of(truth: Truth) -> Job:
    """Return what the task asks for, given to the arm whose home is nearest to the target, from side to side."""
    target = truth.items[truth.task.target].position
    arm = min(truth.arms, key=lambda prefix: abs(float(truth.arms[prefix].home[1] - target[1])))
    return Job(arm, truth.task.target, truth.task.goal)
