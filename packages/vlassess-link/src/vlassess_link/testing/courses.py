"""What a benchmark does from a start under given actions: the same in two processes, or the benchmark is at fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

import vlassess_link
from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.benchmarks.watched import checked
from vlassess_link.data import Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.digest import ArrayDigest, arrays_digest, content_id
from vlassess_link.jsonable import to_json
from vlassess_link.seeds import episode_seed, noise, policy_seed
from vlassess_link.spaces import Layout
from vlassess_link.specs import BenchmarkSpec, TaskSpec
from vlassess_link.testing.kit import Broken

PROCESS_SECONDS = 600.0
"""Most that a course in a process of its own may take."""


def episode_for(spec: BenchmarkSpec, task: TaskSpec, index: int = 0, **changes: Any) -> Episode:
    """Return an episode as a plan with base seed 0 has it; ``changes`` replace fields."""
    state = task.initial_states[index % len(task.initial_states)] if task.initial_states else None
    pair_key = content_id([spec.ref, task.suite, task.name, index, state])
    seed = episode_seed(0, pair_key)
    episode = Episode(
        episode_id=content_id([pair_key, {}, None, seed, 0]),
        pair_key=pair_key,
        benchmark=spec.ref,
        suite=task.suite,
        task=task.name,
        index=index,
        seed=seed,
        policy_seed=policy_seed(0, pair_key, 0),
        step_limit=task.step_limit,
        initial_state=state,
    )
    return replace(episode, **changes)


def still(spec: BenchmarkSpec) -> np.ndarray:
    """Return an action that asks for nothing: the hold action, else zeros within the bounds."""
    if spec.hold_action is not None:
        return np.array(spec.hold_action, np.float64)
    return np.clip(np.zeros(spec.action.size), *bounds(spec.action))


def lively(spec: BenchmarkSpec, seed: int, steps: int) -> np.ndarray:
    """Return (steps, D) legal actions that move everything, the same for the same seed."""
    low, high = bounds(spec.action)
    return noise(seed, 0).uniform(low, high, (steps, spec.action.size)).astype(np.float64)


def bounds(layout: Layout, otherwise: float = 1.0) -> Tuple[np.ndarray, np.ndarray]:
    """Return the least and greatest legal value of each number, minus and plus ``otherwise`` where none is declared."""
    parts = [(part.size, part.low, part.high) for part in layout.components]
    low = [np.full(size, -otherwise if least is None else least) for size, least, _ in parts]
    high = [np.full(size, otherwise if greatest is None else greatest) for size, _, greatest in parts]
    return np.concatenate(low), np.concatenate(high)


def whole_view(spec: BenchmarkSpec) -> View:
    """Return every camera at its default size."""
    return View({camera.name: (int(camera.sizes[0][0]), int(camera.sizes[0][1])) for camera in spec.cameras})


@dataclass(frozen=True)
class Course:
    """What was seen of an episode's beginning.

    Attributes:
        state: The initial state, as `reset` reports it.
        first: The observation after reset.
        last: The observation after the last step.
        told: Success, progress and metrics after each step.
        ended: The simulator said that it cannot go on.
    """

    state: Mapping[str, np.ndarray]
    first: Observation
    last: Observation
    told: List[Dict[str, Any]] = field(default_factory=list)
    ended: bool = False

    @property
    def digests(self) -> Dict[str, str]:
        """What must be equal when the course is the same: digests of state, first and last sight, and outcomes."""
        told = ArrayDigest()
        told.update_text("told", json.dumps(self.told, sort_keys=True))
        return {
            "initial state": arrays_digest({name: np.asarray(value) for name, value in self.state.items()}),
            "first observation": seen(self.first),
            "last observation": seen(self.last),
            "outcomes": told.hexdigest(),
        }


def seen(obs: Observation) -> str:
    """Return the digest of everything in an observation but its step."""
    digest = ArrayDigest()
    digest.update_text("instruction", obs.instruction)
    named = {**{f"image {name}": image for name, image in obs.images.items()}, **dict(obs.extras)}
    for name in sorted(named):
        digest.update(name, np.asarray(named[name]))
    if obs.state is not None:
        digest.update("state", obs.state)
    return digest.hexdigest()


def run_course(
    benchmark: Benchmark,
    episode: Episode,
    actions: np.ndarray,
    view: Optional[View] = None,
    look: Callable[[Benchmark, RawObservation], None] = lambda benchmark, raw: None,
) -> Course:
    """Reset and apply the actions, as far as the simulator goes on.

    Args:
        benchmark: To run; its view is set.
        episode: From where.
        actions: (steps, D).
        view: What is rendered at the beginning and the end; None: everything at its default size.
        look: Called before each step.

    Raises:
        BenchmarkFault: a method returns something else than the contract says.
        Broken: an observation holds something else than arrays.
    """
    benchmark.view = whole_view(benchmark.spec) if view is None else view
    raw = checked(benchmark.reset(episode), RawObservation, "reset")
    state = {name: np.array(value) for name, value in raw.state.items()}
    first = last = copied(checked(benchmark.make_obs(raw), Observation, "make_obs"))
    told: List[Dict[str, Any]] = []
    ended = False
    for action in actions:
        look(benchmark, raw)
        result = checked(benchmark.step(action.copy()), StepResult, "step")
        now = checked(benchmark.get_step_result(result), StepOutcome, "get_step_result")
        metrics = {name: float(value) for name, value in now.metrics.items()}
        told.append({"success": bool(now.success), "progress": float(now.progress), "metrics": metrics})
        raw, ended = result.raw, result.ended
        if ended:
            break
    if told and not ended:
        last = copied(checked(benchmark.make_obs(raw), Observation, "make_obs"))
    return Course(state, first, last, told, ended)


def copied(obs: Observation) -> Observation:
    """Return an observation that the benchmark can no longer change.

    Raises:
        Broken: it holds something else than arrays.
    """
    given = {**{f"image {name!r}": image for name, image in obs.images.items()}, "state": obs.state}
    for what, array in {**given, **{f"extra {name!r}": value for name, value in obs.extras.items()}}.items():
        if array is not None and not isinstance(array, np.ndarray):
            raise Broken(f"the {what} of an observation is a {type(array).__name__}; it must be a numpy array")
    images = {name: np.array(image) for name, image in obs.images.items()}
    extras = {name: np.array(array) for name, array in obs.extras.items()}
    return replace(obs, images=images, extras=extras, state=None if obs.state is None else np.array(obs.state))


def courses_elsewhere(target: str, params: Mapping[str, Any], episodes: List[Episode], steps: int) -> List[Any]:
    """Return the digests of each episode's course, run one after the other in a new process of this interpreter.

    Raises:
        Broken: the process failed; quotes its last words.
    """
    asked = {"target": target, "params": dict(params), "episodes": to_json(episodes), "steps": steps}
    package = os.path.dirname(os.path.dirname(os.path.abspath(vlassess_link.__file__)))
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "vlassess_link.testing", "courses"],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONPATH": path},
            timeout=PROCESS_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"in another process {target} did not end within {PROCESS_SECONDS:g} s; mend what hangs") from None
    if done.returncode != 0 or not done.stdout.strip():
        words = " ".join(done.stderr.strip().splitlines()[-2:]) or "it said nothing"
        raise Broken(f"another process ended with {done.returncode} when it ran {target}: {words}")
    found: List[Any] = json.loads(done.stdout.splitlines()[-1])
    return found
