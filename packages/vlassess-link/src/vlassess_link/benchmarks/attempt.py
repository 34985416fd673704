"""One attempt at one episode: the fence around the loop, and what it leaves in the record."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import platform
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, view_for
from vlassess_link.benchmarks.beside import pace_beside
from vlassess_link.benchmarks.charging import PHASES, error_info
from vlassess_link.benchmarks.converted import BoundedBenchmark, ConvertedPolicy
from vlassess_link.benchmarks.disturbed import Disturbance, DisturbedBenchmark
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.benchmarks.pacing import RealTime
from vlassess_link.benchmarks.realtime import Trace, run_realtime
from vlassess_link.benchmarks.recording import (
    ArtifactRequest,
    RecordedBenchmark,
    RecordedPolicy,
    Recorder,
    recorded_view,
)
from vlassess_link.benchmarks.watched import Monitor, WatchedBenchmark, WatchedPolicy
from vlassess_link.conventions.compare import plan
from vlassess_link.conventions.layouts import state_parts
from vlassess_link.data import Episode, EpisodeRecord, Outcome
from vlassess_link.digest import arrays_digest
from vlassess_link.errors import ContractError
from vlassess_link.policies.base import Policy
from vlassess_link.specs import PolicySpec


@dataclass(frozen=True)
class Job:
    """What the coordinator asks for.

    Attributes:
        item_id: The work item.
        attempt: From 1.
        label: The policy's label in the run.
        episode: What to run.
        horizon: Replaces the policy's own; None: as its spec says.
        artifacts: What to record beside it; None: nothing.
        realtime: How it runs in real time; None: the simulator waits for the policy.
        disturbance: What is added to actions before they are executed; None: nothing.
    """

    item_id: str
    attempt: int
    label: str
    episode: Episode
    horizon: Optional[int] = None
    artifacts: Optional[ArtifactRequest] = None
    realtime: Optional[RealTime] = None
    disturbance: Optional[Disturbance] = None


class Attempt:
    """One attempt; `run` returns its record whatever happens.

    Args:
        job: What to run.
        benchmark: Whose view is set.
        policy: Asked in its own conventions.
        monitor: Told what goes on.
        interruptible: A person may end the process with Ctrl-C, so a KeyboardInterrupt ends the attempt without a
            record. Else only a side's own code can have raised it, and that side is charged, as with SystemExit.
    """

    def __init__(
        self, job: Job, benchmark: Benchmark, policy: Policy, monitor: Monitor, interruptible: bool = True
    ) -> None:
        monitor.clear()
        self._fence = (Exception, SystemExit) if interruptible else (Exception, SystemExit, KeyboardInterrupt)
        self._job = job
        self._raw_benchmark = benchmark
        self._monitor = monitor
        self._benchmark = WatchedBenchmark(benchmark, monitor)
        self._recorder = Recorder(job.artifacts, monitor.enter, lambda: monitor.seconds) if job.artifacts else None
        delivered = RecordedPolicy(policy, self._recorder) if self._recorder else policy
        self._policy = WatchedPolicy(delivered, monitor, state_parts(policy.spec, benchmark.spec))
        self._clipped: Callable[[], int] = lambda: 0
        self._disturbed: Callable[[], int] = lambda: 0
        self._trace: Optional[Trace] = None
        self._horizon = effective_horizon(policy.spec, job.horizon)
        self._started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        self._begin: float = monitor.clock()

    @property
    def recording_problem(self) -> Optional[str]:
        """Why less was recorded than was asked for; None where nothing was wrong."""
        return self._recorder.problem if self._recorder is not None else None

    def run(self) -> EpisodeRecord:
        """Run the episode; what either side raises becomes the record's error.

        Raises:
            KeyboardInterrupt: where it is interruptible.
        """
        before = self._monitor.enter("reset")
        ending: Dict[str, Any] = {}
        recorded: Optional[RecordedBenchmark] = None
        try:
            policy = self._converted()
            view = view_for(self._benchmark.spec, policy.spec)
            policy.view = view
            self._raw_benchmark.view = recorded_view(view, self._benchmark.spec, self._job.artifacts)
            recorded = self._recorded(blind=not view.cameras)
            bounded = BoundedBenchmark(self._disturbing(recorded or self._benchmark))
            self._clipped = lambda: bounded.clipped
            ending["outcome"] = self._loop(bounded, policy)
        except self._fence as error:
            ending["error"] = error_info(error, self._monitor.phase)
        finally:
            self._monitor.enter(before)
        if recorded is not None:
            recorded.finish()
        return self.record(**ending)

    def _converted(self) -> ConvertedPolicy:
        found = plan(self._policy.spec, self._benchmark.spec)
        if found.fit.reasons:
            # A run has refused this before its first episode, so the other side has changed since.
            raise ContractError(f"the two sides do not fit: {'; '.join(found.fit.reasons)}")
        return ConvertedPolicy(self._policy, self._benchmark.spec, found, self._monitor.enter)

    def _loop(self, benchmark: Benchmark, policy: Policy) -> Outcome:
        rules, episode = self._job.realtime, self._job.episode
        if rules is None:
            return run_episode(episode, benchmark, policy, self._horizon)
        self._trace = Trace(rules.pace)
        with contextlib.closing(pace_beside(rules, policy, episode.policy_seed, self._monitor)) as pace:
            return run_realtime(episode, benchmark, policy, self._horizon, (rules, pace, self._trace))

    def _recorded(self, blind: bool) -> Optional[RecordedBenchmark]:
        if self._recorder is None:
            return None
        return RecordedBenchmark(self._benchmark, self._raw_benchmark, self._recorder, blind)

    def _disturbing(self, benchmark: Benchmark) -> Benchmark:
        rules = self._job.disturbance
        if rules is None:
            return benchmark
        found = DisturbedBenchmark(benchmark, rules, self._recorder.meant if self._recorder is not None else None)
        self._disturbed = lambda: found.disturbed
        return found

    def record(self, **ending: Any) -> EpisodeRecord:
        """Return the record of the attempt so far with its ``outcome`` or ``error``."""
        watched, episode = self._benchmark, self._job.episode
        seconds = {name: round(value, 6) for name, value in self._monitor.seconds.items() if name in PHASES}
        seconds["total"] = round(self._monitor.clock() - self._begin, 6)
        return dataclasses.replace(
            unstarted_record(self._job, **ending),
            instruction=watched.instruction if watched.instruction is not None else episode.instruction,
            identity=self._policy.spec.identity.digest,
            privileged=self._policy.spec.privileged,
            steps=watched.steps,
            initial_state={name: value.tolist() for name, value in watched.initial_state.items()},
            state_digest=arrays_digest(watched.initial_state) if watched.initial_state else "",
            inputs_digest=self._policy.inputs_digest,
            images_digest=self._policy.images_digest,
            actions_digest=watched.actions_digest,
            action_low=_floats(watched.low),
            action_high=_floats(watched.high),
            observations=self._policy.observations,
            horizon=self._horizon,
            clipped=self._clipped(),
            disturbed=self._disturbed(),
            seconds=seconds,
            started=self._started,
            realtime=self._trace.stats() if self._trace is not None else None,
            delivered=self._policy.delivered,
            reasoning=self._policy.reasoning,
        )


def unstarted_record(job: Job, **ending: Any) -> EpisodeRecord:
    """Return the record of an attempt that never reached the loop."""
    episode = job.episode
    return EpisodeRecord(
        item_id=job.item_id,
        attempt=job.attempt,
        policy=job.label,
        episode_id=episode.episode_id,
        pair_key=episode.pair_key,
        suite=episode.suite,
        task=episode.task,
        index=episode.index,
        seed=episode.seed,
        policy_seed=episode.policy_seed,
        repeat=episode.repeat,
        perturbation=dict(episode.perturbation),
        instruction=episode.instruction,
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds"),
        host=platform.node(),
        **ending,
    )


def effective_horizon(spec: PolicySpec, override: Optional[int]) -> int:
    """Return how many actions of a chunk are executed: 1 for a policy that must see every step."""
    return 1 if spec.observe == "every_step" else (override or spec.horizon)


def _floats(values: Optional[np.ndarray]) -> Tuple[float, ...]:
    return () if values is None else tuple(float(value) for value in values)
