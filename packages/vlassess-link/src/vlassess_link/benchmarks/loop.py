"""The one episode loop: synchronous, observe on demand.

A policy that answers with a chunk needs no new image until the chunk is used up, so the loop makes an
observation once per ``horizon`` steps: rendering is what most simulators spend their time on. Timing,
digests and recording are wrappers around the benchmark and the policy, never flags of the loop.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Deque, Dict, Optional

import numpy as np

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import Episode, EpisodeStart, Outcome, StepOutcome, check_actions
from vlassess_link.errors import BenchmarkFault
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec


def run_episode(episode: Episode, benchmark: Benchmark, policy: Policy, horizon: int) -> Outcome:
    """Run one episode to its end and return how it ended.

    Args:
        episode: What to run; at most ``episode.step_limit`` control steps are taken, never one more.
        benchmark: Reset first, since it may own the instruction.
        policy: Gets an `EpisodeStart` only.
        horizon: Actions of a chunk that are executed before the next observation, at least 1.

    Raises:
        InvalidActionError: an action is not finite or has the wrong shape; it never reached the benchmark.
        Exception: whatever the two sides raise; the caller is the fence.
    """
    raw = benchmark.reset(episode)
    policy.reset(EpisodeStart(episode.episode_id, episode.suite, episode.task, raw.instruction), episode.policy_seed)
    tally = Tally(benchmark.spec)
    actions: Deque[np.ndarray] = deque()
    for step in range(episode.step_limit):
        if not actions:
            chunk = policy.predict(replace(benchmark.make_obs(raw), step=step))
            actions.extend(check_actions(chunk.actions, benchmark.spec.action.size)[:horizon])
        result = benchmark.step(actions.popleft())
        tally.add(benchmark.get_step_result(result))
        if tally.cause is not None or result.ended:
            break
        raw = result.raw
    return tally.outcome(ended_itself=result.ended)


class Tally:
    """Folds the outcomes of single steps into the episode's, as the benchmark's termination says.

    Attributes:
        cause: Why the episode is over, None while it is not.
    """

    def __init__(self, spec: BenchmarkSpec) -> None:
        self._spec = spec
        self._steps = 0
        self._in_a_row = 0
        self._held = False
        self._best = 0.0
        self._stages: Dict[str, int] = {}
        self._success_step: Optional[int] = None
        self._last = StepOutcome(False)
        self.cause: Optional[str] = None

    def add(self, now: StepOutcome) -> None:
        """Add the next step's outcome.

        Raises:
            BenchmarkFault: success is neither true nor false, progress is outside [0, 1], or a metric is not finite.
        """
        if not isinstance(now.success, (bool, np.bool_)):
            raise BenchmarkFault(f"success is {now.success!r} at step {self._steps + 1}; it must be True or False")
        if not 0.0 <= now.progress <= 1.0:
            raise BenchmarkFault(f"progress is {now.progress} at step {self._steps + 1}; it must lie in [0, 1]")
        for name, value in now.metrics.items():
            if not np.isfinite(value):
                raise BenchmarkFault(f"metric {name!r} is {value} at step {self._steps + 1}; it must be finite")
        self._steps += 1
        self._last = now
        self._best = max(self._best, now.progress)
        for stage in now.stages:
            self._stages.setdefault(stage, self._steps)
        self._in_a_row = self._in_a_row + 1 if now.success else 0
        if now.success and self._success_step is None:
            self._success_step = self._steps
        termination = self._spec.termination
        if termination.kind == "on_success" and now.success:
            self.cause = "success"
        elif termination.kind == "hold" and self._in_a_row >= termination.hold_steps:
            self._held = True
            self.cause = "held"

    def outcome(self, ended_itself: bool = False) -> Outcome:
        """Return the episode's outcome after its last step."""
        ever = self._success_step is not None
        last = bool(self._last.success)
        headline = {"ever": ever, "at_end": last, "held": self._held}[self._spec.success]
        at_end = last if self._spec.termination.kind == "at_limit" else None
        return Outcome(
            success=headline,
            cause=self.cause or ("ended" if ended_itself else "limit"),
            progress=float(self._best),
            final_progress=float(self._last.progress),
            stages=dict(self._stages),
            metrics={name: float(value) for name, value in self._last.metrics.items()},
            success_step=self._success_step,
            success_at_end=at_end,
        )
