"""The episode loop in real time: the environment advances at its control rate whether or not an action came.

The sibling of `loop`. At each control step the next action of the newest answer is executed, and where there is none,
the benchmark's hold action. An action takes effect at a step only if it is there when the step begins. With a
latency of 0 an episode is the same as in the synchronous loop, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import List, Optional, Tuple

import numpy as np

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.loop import Tally
from vlassess_link.benchmarks.pacing import Late, Pace, RealTime, percentiles
from vlassess_link.data import Episode, EpisodeStart, Outcome, RawObservation, RealTimeStats, check_actions
from vlassess_link.errors import ContractError
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec

MODE = "realtime"


@dataclass
class Trace:
    """What a real-time episode leaves behind beside its outcome; complete up to any moment.

    Attributes:
        pace: Wall or modelled.
        steps: Control steps executed.
        stale: How many of them had no action and got the hold action.
        skipped: Actions that came too late for their step and were skipped.
        seconds: Of each answer.
        elapsed: From the beginning of the first step to that of the last, seconds.
    """

    pace: str
    steps: int = 0
    stale: int = 0
    skipped: int = 0
    seconds: List[float] = field(default_factory=list)
    elapsed: float = 0.0

    def stepped(self, elapsed: float, stale: bool) -> None:
        """Say that a control step begins."""
        self.steps += 1
        self.stale += stale
        self.elapsed = elapsed

    def stats(self) -> RealTimeStats:
        """Return it as a record has it."""
        p50, p95, p99 = percentiles(self.seconds)
        return RealTimeStats(
            pace=self.pace,
            stale_steps=self.stale,
            stale_share=self.stale / self.steps if self.steps else None,
            skipped_actions=self.skipped,
            control_rate_hz=(self.steps - 1) / self.elapsed if self.elapsed > 0.0 else None,
            answers=len(self.seconds),
            latency_p50=p50,
            latency_p95=p95,
            latency_p99=p99,
        )


class ChunkBuffer:
    """The actions of the newest answer, those that are due next first.

    Args:
        rules: Whether late actions are skipped, and whether the rest of a chunk bridges the time to the next one.
        horizon: Actions of a chunk after which the policy is asked again; asynchronously, skipped ones count too.
        trace: Told what is skipped.
    """

    def __init__(self, rules: RealTime, horizon: int, trace: Trace) -> None:
        self._rules = rules
        self._horizon = horizon
        self._trace = trace
        self._actions: Optional[np.ndarray] = None
        self._next = 0
        self._executed = 0

    @property
    def wanting(self) -> bool:
        """Whether it is time to ask again."""
        if self._actions is None or self._next >= len(self._actions):
            return True
        return (self._next if self._rules.asynchronous else self._executed) >= self._horizon

    def put(self, late: Late, size: int, step: int) -> None:
        """Take an answer that is there at control step ``step``.

        The last action of a chunk is never skipped: a policy whose chunks are shorter than its latency would
        otherwise never act.

        Raises:
            InvalidActionError: it holds no legal actions.
        """
        self._actions = check_actions(late.chunk.actions, size)
        self._next = min(step - late.step, len(self._actions) - 1) if self._rules.skip_past else 0
        self._executed = 0
        self._trace.skipped += self._next
        self._trace.seconds.append(late.seconds)

    def pop(self) -> Optional[np.ndarray]:
        """Return the action that is due, None where there is none."""
        if self._actions is None or self._next >= len(self._actions):
            return None
        if self._executed >= self._horizon and not self._rules.asynchronous:
            return None
        action: np.ndarray = self._actions[self._next]
        self._next += 1
        self._executed += 1
        return action


class Feeder:
    """Asks for actions in time and gives the one that is due.

    Args:
        benchmark: Whose observations the policy is asked with.
        pace: Asks it.
        buffer: Holds what it answered.
        rules: Whether the first answer is waited for.
    """

    def __init__(self, benchmark: Benchmark, pace: Pace, buffer: ChunkBuffer, rules: RealTime) -> None:
        self._benchmark = benchmark
        self._pace = pace
        self._buffer = buffer
        self._await_first = rules.await_first

    def action_for(self, step: int, raw: RawObservation) -> Optional[np.ndarray]:
        """Return the action for a control step that begins now; None where there is none.

        Raises:
            InvalidActionError: an answer holds no legal actions.
            Exception: whatever the two sides raise.
        """
        self._take(self._pace.answer(), step)
        if self._buffer.wanting and not self._pace.asked:
            self._pace.ask(replace(self._benchmark.make_obs(raw), step=step))
            waits = self._await_first and step == 0
            self._take(self._pace.await_answer() if waits else self._pace.answer(), step)
        return self._buffer.pop()

    def _take(self, late: Optional[Late], step: int) -> None:
        if late is not None:
            self._buffer.put(late, self._benchmark.spec.action.size, step)


def run_realtime(
    episode: Episode, benchmark: Benchmark, policy: Policy, horizon: int, timing: Tuple[RealTime, Pace, Trace]
) -> Outcome:
    """Run one episode in real time and return how it ended.

    Args:
        episode: What to run; at most ``episode.step_limit`` control steps are taken, never one more.
        benchmark: Reset first; its spec has the hold action and the control rate.
        policy: Gets an `EpisodeStart` with the mode "realtime"; from then on the pace asks it.
        horizon: Actions of a chunk after which the policy is asked again, at least 1.
        timing: The rules, the time, and what is told of both.

    Raises:
        ContractError: the benchmark has no hold action.
        InvalidActionError: an action is not finite or has the wrong shape; it never reached the benchmark.
        Exception: whatever the two sides raise; the caller is the fence.
    """
    rules, pace, trace = timing
    hold = hold_action(benchmark.spec)
    raw = benchmark.reset(episode)
    start = EpisodeStart(episode.episode_id, episode.suite, episode.task, raw.instruction, MODE)
    policy.reset(start, episode.policy_seed)
    tally = Tally(benchmark.spec)
    feeder = Feeder(benchmark, pace, ChunkBuffer(rules, horizon, trace), rules)
    due = begun = pace.now()
    for step in range(episode.step_limit):
        pace.wait_until(due)
        # A simulator that is slower than its control rate is late, and never hurries to make up for it.
        due = max(due, pace.now())
        action = feeder.action_for(step, raw)
        if step == 0:
            due = begun = pace.now()
        due += 1.0 / benchmark.spec.control_rate_hz
        trace.stepped(pace.now() - begun, stale=action is None)
        result = benchmark.step(hold if action is None else action)
        tally.add(benchmark.get_step_result(result))
        if tally.cause is not None or result.ended:
            break
        raw = result.raw
    return tally.outcome(ended_itself=result.ended)


def hold_action(spec: BenchmarkSpec) -> np.ndarray:
    """Return what is sent while no action is there, (D,).

    Raises:
        ContractError: the benchmark declares none; only it knows what is safe.
    """
    if spec.hold_action is None:
        raise ContractError(
            f"{spec.name} declares no hold action, so it cannot run in real time: nobody but the benchmark knows what "
            "holds still; declare `hold_action` in its spec"
        )
    return np.array(spec.hold_action, np.float64)
