"""The values that cross every boundary: frozen, typed, with their invariants in the docstrings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import numpy as np

from vlassess_link.delivered import Delivered
from vlassess_link.errors import ORIGINS, ContractError, InvalidActionError
from vlassess_link.seeds import stream

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_FEW = 64  # numbers up to which Python is faster than numpy

RECORD_SCHEMA = 2
"""Version of `EpisodeRecord`; readers accept every earlier one."""


@dataclass(frozen=True)
class Episode:
    """One planned attempt at one task from one start. For the benchmark's eyes only.

    Attributes:
        episode_id: Hash of (pair_key, perturbation, instruction, seed, repeat).
        pair_key: Hash of (benchmark, suite, task, index, initial_state): the same start for everybody.
        benchmark: ``id@version``.
        suite: Suite name.
        task: Task name.
        index: Which start of the task, from 0.
        seed: From (base_seed, pair_key) alone; see `vlassess_link.seeds`.
        policy_seed: The policy's noise seed, from (base_seed, pair_key, repeat).
        step_limit: Control steps after which the episode ends, at least 1.
        initial_state: Id of a stored initial state, None where the seed draws it.
        repeat: Which repeat of the same start, from 0.
        instruction: Replaces the benchmark's text; None: the benchmark owns it.
        perturbation: {axis: level}; empty for the control.
        scene: JSON parameters for the benchmark.
        private: Target, answer, cell, blind label: for scores and privileged policies only.
    """

    episode_id: str
    pair_key: str
    benchmark: str
    suite: str
    task: str
    index: int
    seed: int
    policy_seed: int
    step_limit: int
    initial_state: Optional[str] = None
    repeat: int = 0
    instruction: Optional[str] = None
    perturbation: Mapping[str, str] = field(default_factory=dict)
    scene: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.step_limit < 1:
            raise ContractError(f"step_limit is {self.step_limit}; it must be at least 1")

    def rng(self, name: str) -> np.random.Generator:
        """Return a fresh generator of one of this episode's named streams (`seeds.STREAMS`)."""
        return stream(self.seed, name)


@dataclass(frozen=True)
class EpisodeStart:
    """All that a policy learns when an episode begins; the answer is not in it.

    Attributes:
        episode_id: Opaque.
        suite: Suite name.
        task: Task name.
        instruction: What the robot is told to do.
        mode: "sync", or "realtime".
    """

    episode_id: str
    suite: str
    task: str
    instruction: str
    mode: str = "sync"


@dataclass(frozen=True)
class Observation:
    """What a policy sees at one step.

    Attributes:
        images: Camera name -> HxWx3 RGB, uint8, or float32 on the same scale [0, 255].
        state: Proprioception, 1-D float, of the declared layout; None where there is none.
        instruction: What the robot is told to do.
        extras: Further named arrays that both specs declare.
        step: Control steps executed before it was taken, from 0.
    """

    images: Mapping[str, np.ndarray]
    instruction: str
    state: Optional[np.ndarray] = None
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)
    step: int = 0


@dataclass(frozen=True)
class ActionChunk:
    """A policy's answer: the next T actions.

    Attributes:
        actions: (T, D), float32 or float64 as given, T and D at least 1, all finite.
        extras: Named strings, numbers, arrays (reasoning, logits): never interpreted by the loop.
    """

    actions: np.ndarray
    extras: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Union[ActionChunk, Mapping[str, Any], np.ndarray]) -> ActionChunk:
        """Build a chunk from what a model returns: {"actions": (T, D) or (D,), ...extras} or the array.

        Raises:
            InvalidActionError: not finite, not float, or of another shape.
        """
        if isinstance(answer, ActionChunk):
            check_actions(answer.actions)
            return answer
        given: Dict[str, Any] = dict(answer) if isinstance(answer, (dict, Mapping)) else {"actions": answer}
        if "actions" not in given:
            raise InvalidActionError(f"the answer has no 'actions', only {sorted(given)}")
        try:
            actions = np.asarray(given.pop("actions"))
        except (TypeError, ValueError) as error:
            raise InvalidActionError(f"the actions are no array of numbers: {error}") from None
        if actions.dtype.kind in "iu":
            actions = actions.astype(np.float64)
        return cls(check_actions(actions if actions.ndim > 1 else np.atleast_2d(actions)), given)


def check_actions(actions: np.ndarray, size: Optional[int] = None, whose: str = "the benchmark takes") -> np.ndarray:
    """Return ``actions`` if they are a legal (T, D) chunk.

    Args:
        actions: The chunk.
        size: D, None for any.
        whose: Who says so, for the error.

    Raises:
        InvalidActionError: wrong dtype, shape or size, or a value that is not finite; names the place.
    """
    if not isinstance(actions, np.ndarray):
        raise InvalidActionError(f"actions are a {type(actions).__name__}; they must be a numpy array")
    if actions.dtype not in _FLOATS:
        raise InvalidActionError(f"actions have dtype {actions.dtype}; they must be float32 or float64")
    if actions.ndim != 2 or 0 in actions.shape:
        raise InvalidActionError(f"actions have shape {actions.shape}; it must be (T, D) with T and D at least 1")
    if size is not None and actions.shape[1] != size:
        raise InvalidActionError(f"actions have {actions.shape[1]} components; {whose} {size}")
    if not (all(map(math.isfinite, actions.flat)) if actions.size <= _FEW else np.isfinite(actions).all()):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(actions))[0])
        raise InvalidActionError(f"action {row} of the chunk has {actions[row, column]} in component {column}")
    return actions


@dataclass(frozen=True)
class RawObservation:
    """What reset() or step() leaves behind, before anything is rendered.

    Attributes:
        native: Whatever the benchmark's make_obs() needs.
        instruction: What the robot is told to do.
        state: Full simulator state, name -> float array. Required from reset(), where it proves that two
            episodes share their start; empty from step().
    """

    native: Any
    instruction: str
    state: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class StepResult:
    """What one control step gave.

    Attributes:
        raw: For make_obs().
        native: Whatever get_step_result() needs.
        ended: The simulator cannot go on (an object fell, the environment terminated itself).
    """

    raw: RawObservation
    native: Any = None
    ended: bool = False


@dataclass(frozen=True)
class StepOutcome:
    """How things stand after one control step.

    Attributes:
        success: The task's condition holds now.
        progress: Share of the task done now, in [0, 1].
        stages: Names of stages that are reached now.
        metrics: Named numbers now; the last step's are the episode's.
    """

    success: bool
    progress: float = 0.0
    stages: Tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How an episode ended.

    Attributes:
        success: The headline, by the benchmark's declared semantics.
        cause: Why it ended: "success", "limit", "held" or "ended" (the simulator could not go on).
        progress: Best share of the task so far, in [0, 1].
        final_progress: Share of the task at the end, in [0, 1].
        stages: Stage -> the step (from 1) that first reached it.
        metrics: Named numbers; the benchmark declares which is primary.
        success_step: The first step (from 1) with success, None for never.
        success_at_end: Whether success held at the end; None where termination hides it.
    """

    success: bool
    cause: str
    progress: float
    final_progress: float
    stages: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    success_step: Optional[int] = None
    success_at_end: Optional[bool] = None


@dataclass(frozen=True)
class ErrorInfo:
    """What ended an attempt before its outcome.

    Attributes:
        origin: Who is charged, one of `errors.ORIGINS`.
        phase: What was going on: "load", "connect", "reset", "step", "render", "inference", "artifact".
        kind: The exception's class name.
        message: One sentence.
        traceback: For people; empty where there is none.
    """

    origin: str
    phase: str
    kind: str
    message: str
    traceback: str = ""

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ContractError(f"origin is {self.origin!r}; it must be one of {', '.join(ORIGINS)}")


@dataclass(frozen=True)
class RealTimeStats:
    """What time did to an episode that ran in real time.

    Attributes:
        pace: "wall", or "modelled".
        stale_steps: Control steps that had no action and got the hold action.
        stale_share: Their share of all control steps; None: there was none.
        skipped_actions: Actions that came too late for their step and were skipped.
        control_rate_hz: Control steps per second that passed; None where no time passed.
        answers: Answers that came in time to be used.
        latency_p50, latency_p95, latency_p99: Seconds from observation to answer; None: no answer came.
    """

    pace: str
    stale_steps: int = 0
    stale_share: Optional[float] = None
    skipped_actions: int = 0
    control_rate_hz: Optional[float] = None
    answers: int = 0
    latency_p50: Optional[float] = None
    latency_p95: Optional[float] = None
    latency_p99: Optional[float] = None


@dataclass(frozen=True)
class EpisodeRecord:
    """One line of ``episodes.jsonl``: one attempt. Exactly one of `outcome` and `error` is set.

    Attributes:
        item_id: The work item (policy label and episode).
        attempt: From 1, counted over all coordinators of the run.
        policy: The policy's label in the run.
        identity: Digest of the policy's identity, "unknown" where it was never reached.
        privileged: The policy read the simulator's state.
        episode_id, pair_key, suite, task, index, repeat, seed, policy_seed, perturbation: As planned.
        instruction: As delivered.
        steps: Control steps executed.
        outcome: How it ended.
        error: What ended it instead.
        initial_state: The measured initial state, name -> numbers.
        state_digest: Of the initial state.
        inputs_digest: Of every delivered state, instruction and extra.
        images_digest: Of every delivered image; information only, since drivers differ.
        actions_digest: Of every executed action.
        action_low, action_high: Least and greatest executed value of each action component.
        clipped: How many executed actions were outside the benchmark's bounds and were clipped, as its layout allows.
        observations: How many observations were made and delivered.
        horizon: Actions executed per observation.
        seconds: Wall seconds by phase, and "total".
        started: UTC, ISO 8601.
        host, worker: Where it ran, and in which worker, for people.
        schema: `RECORD_SCHEMA` of the writer.
        realtime: What time did to it; None: it did not run in real time.
        delivered: What reached the policy as the episode began (schema 2); None: it was never asked.
        disturbed: How many steps executed another action than the policy's, as the run's `disturbance` asks (schema 2).
        reasoning: Beginning of the first text `reasoning` that came with the policy's actions; empty: none (schema 2).
    """

    item_id: str
    attempt: int
    policy: str
    episode_id: str
    pair_key: str
    suite: str
    task: str
    index: int
    seed: int
    policy_seed: int
    repeat: int = 0
    perturbation: Mapping[str, str] = field(default_factory=dict)
    instruction: Optional[str] = None
    identity: str = "unknown"
    privileged: bool = False
    steps: int = 0
    outcome: Optional[Outcome] = None
    error: Optional[ErrorInfo] = None
    initial_state: Mapping[str, Any] = field(default_factory=dict)
    state_digest: str = ""
    inputs_digest: str = ""
    images_digest: str = ""
    actions_digest: str = ""
    action_low: Tuple[float, ...] = ()
    action_high: Tuple[float, ...] = ()
    observations: int = 0
    horizon: int = 1
    clipped: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    started: str = ""
    host: str = ""
    worker: str = ""
    schema: int = RECORD_SCHEMA
    realtime: Optional[RealTimeStats] = None
    delivered: Optional[Delivered] = None
    disturbed: int = 0
    reasoning: str = ""

    def __post_init__(self) -> None:
        if (self.outcome is None) == (self.error is None):
            raise ContractError(f"record of item {self.item_id}: exactly one of outcome and error must be set")

    @property
    def counts_as(self) -> str:
        """One of "success", "failure" (a policy's error is one) and "error"."""
        if self.outcome is not None:
            return "success" if self.outcome.success else "failure"
        return "failure" if self.error is not None and self.error.origin == "policy" else "error"

    @property
    def final(self) -> bool:
        """Whether no further attempt may change it: it has an outcome, or the policy is charged."""
        return self.counts_as != "error"


COMPARED = (
    "item_id",
    "policy",
    "episode_id",
    "pair_key",
    "suite",
    "task",
    "index",
    "seed",
    "policy_seed",
    "repeat",
    "perturbation",
    "instruction",
    "identity",
    "privileged",
    "steps",
    "outcome",
    "state_digest",
    "inputs_digest",
    "actions_digest",
    "observations",
    "horizon",
)
"""Fields of `EpisodeRecord` that must agree when two records are equal: not times, attempts or host."""
