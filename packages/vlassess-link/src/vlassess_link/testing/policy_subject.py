"""A policy under examination, and the observations that it is shown."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, view_for
from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import ContractError
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import ModelSession, PredictModelServer, SessionContext, announced_spec
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.seeds import noise
from vlassess_link.spaces import Layout
from vlassess_link.specs import PolicySpec
from vlassess_link.testing.courses import copied, episode_for, lively
from vlassess_link.wire.access import PLAIN, Access

EPISODES = 3
ANSWERS = 3
"""How many answers are asked for in each episode."""
DEADLINE = 120.0
INSTRUCTIONS = ("pick up the red block", "put the blue block into the bowl", "push the green block to the left")
CAMERAS = ("front", "wrist")
SIDE = 64


@dataclass(frozen=True)
class Scene:
    """One episode that a policy is shown.

    Attributes:
        start: What it learns at its beginning.
        observations: One for each answer, `horizon` steps apart.
        index: Which one it is; a privileged policy is shown the benchmark itself instead.
    """

    start: EpisodeStart
    observations: tuple[Observation, ...]
    index: int = 0

    def spaced(self, steps: int) -> Scene:
        """Return the same observations, ``steps`` control steps apart."""
        shown = tuple(dataclasses.replace(obs, step=i * steps) for i, obs in enumerate(self.observations))
        return dataclasses.replace(self, observations=shown)


class SessionPolicy(Policy):
    """A session of a model in this process; other sessions share the model."""

    def __init__(self, model: PredictModelServer, name: str) -> None:
        self.spec = announced_spec(model)
        self.session = ModelSession(model, name)

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self.session.start_episode(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Ask the model."""
        return self.session.predict(obs)

    def query(self, observations: Any, noise_seed: int) -> list[ActionChunk]:
        """Ask the model without a session."""
        return self.session.query(observations, noise_seed)


class Loaded(PredictModelServer):
    """A loaded model for a server, which is neither loaded nor closed again."""

    def __init__(self, model: PredictModelServer) -> None:
        self._model = model
        self.spec = model.spec
        self.max_batch_size = model.max_batch_size

    @property
    def batched(self) -> bool:
        """Whether the model has a `predict_batch` of its own."""
        return self._model.batched

    def start_episode(self, ctx: SessionContext) -> None:
        """Ask the model."""
        self._model.start_episode(ctx)

    def predict(self, obs: Observation, ctx: SessionContext) -> Any:
        """Ask the model."""
        return self._model.predict(obs, ctx)

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Any]:
        """Ask the model."""
        return self._model.predict_batch(obs, ctx)

    def query(self, observations: Any, noise_seed: int) -> list[Any]:
        """Ask the model."""
        return self._model.query(observations, noise_seed)


@dataclass
class PolicySubject:
    """A policy under examination.

    Attributes:
        spec: What it declares.
        open: Returns a fresh session; of a policy that is one object, the object.
        model: The model in this process; None: it is elsewhere, or no `PredictModelServer`.
        scenes: The episodes that it is shown.
        benchmark: Whose observations they are; None: they are made from the spec.
        several: It can have several sessions.
    """

    spec: PolicySpec
    open: Callable[[], Policy]
    model: PredictModelServer | None = None
    scenes: tuple[Scene, ...] = field(default=())
    benchmark: Benchmark | None = None
    several: bool = True

    def __post_init__(self) -> None:
        self.scenes = self.scenes or scenes_for(self.spec, self.benchmark)

    @property
    def repeatable(self) -> bool:
        """Whether the same observations and noise seed must give the same actions."""
        return not self.spec.stochastic or self.spec.uses_noise_seed

    def play(self, policy: Policy, scene: Scene, seed: int = 1, answers: int = ANSWERS) -> list[np.ndarray]:
        """Run the beginning of an episode and return the chunks; observations are the same each time."""
        if self.spec.privileged:
            return self._play_live(policy, scene, seed, answers)
        policy.reset(scene.start, seed)
        return [policy.predict(copied(obs)).actions for obs in scene.observations[:answers]]

    def _play_live(self, policy: Policy, scene: Scene, seed: int, answers: int) -> list[np.ndarray]:
        benchmark = self.benchmark
        if benchmark is None:
            raise ContractError("a privileged policy reads a benchmark: give the one that it belongs to")
        task = benchmark.spec.tasks[scene.index % len(benchmark.spec.tasks)]
        benchmark.view = view_for(benchmark.spec, self.spec)
        raw = benchmark.reset(episode_for(benchmark.spec, task, scene.index))
        policy.bind(benchmark)
        policy.reset(scene.start, seed)
        chunks = []
        for number in range(answers):
            obs = dataclasses.replace(benchmark.make_obs(raw), step=number * self.spec.horizon)
            chunks.append(policy.predict(obs).actions)
            for action in chunks[-1][: self.spec.horizon]:
                raw = benchmark.step(action.copy()).raw
        return chunks


def scenes_for(spec: PolicySpec, benchmark: Benchmark | None) -> tuple[Scene, ...]:
    """Return what the policy is shown: a benchmark's observations, or such as its spec allows."""
    if benchmark is None:
        return tuple(_made_up(spec, index) for index in range(EPISODES))
    return tuple(_seen(spec, benchmark, index) for index in range(EPISODES))


def _seen(spec: PolicySpec, benchmark: Benchmark, index: int) -> Scene:
    task = benchmark.spec.tasks[index % len(benchmark.spec.tasks)]
    benchmark.view = view_for(benchmark.spec, spec)
    raw = benchmark.reset(episode_for(benchmark.spec, task, index))
    start = EpisodeStart(f"kit-{index}", task.suite, task.name, raw.instruction)
    shown = []
    for number in range(ANSWERS):
        obs = copied(benchmark.make_obs(raw))
        extras = {name: array for name, array in obs.extras.items() if name in spec.extras}
        shown.append(dataclasses.replace(obs, extras=extras, step=number * spec.horizon))
        for action in lively(benchmark.spec, index, spec.horizon) if number < ANSWERS - 1 else ():
            raw = benchmark.step(action).raw
    return Scene(start, tuple(shown), index)


def _made_up(spec: PolicySpec, index: int) -> Scene:
    words = INSTRUCTIONS[index % len(INSTRUCTIONS)]
    rng = noise(index, 0)
    height, width = spec.image_size or (SIDE, SIDE)
    shown = []
    for number in range(ANSWERS):
        images = {
            name: rng.integers(0, 256, (height, width, 3)).astype(spec.image_dtypes[0])
            for name in (CAMERAS if spec.cameras is None else spec.cameras)
        }
        state = _state(spec.state, rng) if spec.state is not None and spec.state.components else None
        shown.append(Observation(images, words, state, step=number * spec.horizon))
    return Scene(EpisodeStart(f"kit-{index}", "kit", f"task-{index}", words), tuple(shown), index)


def _state(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    parts = []
    for part in layout.components:
        low, high = (-1.0 if part.low is None else part.low), (1.0 if part.high is None else part.high)
        values = rng.uniform(low, high, part.size)
        parts.append(values / np.linalg.norm(values) if (part.rotation or "").startswith("quaternion") else values)
    return np.concatenate(parts).astype(np.float32)


@contextlib.contextmanager
def policy_subject(
    policy: str,
    params: Mapping[str, Any] | None = None,
    benchmark: Benchmark | None = None,
    access: Access = PLAIN,
    seconds: float = DEADLINE,
) -> Iterator[PolicySubject]:
    """Load, or connect to, the policy that a text names, and release it at the end.

    Args:
        policy: ``ws://host:port``, ``file.py:Class`` or ``module:Class``.
        params: Of its constructor.
        benchmark: Whose observations it is shown; None: such as its spec allows.
        access: Token and trusted certificates of a policy with a url.
        seconds: Of a policy with a url: most that connecting, and then an answer, may take.

    Raises:
        PluginError: the target cannot be loaded; says why.
        PolicyUnavailable: nobody answers at the url.
    """
    if policy.startswith(("ws://", "wss://")):
        opened: list[Policy] = []

        def connect() -> Policy:
            opened.append(RemotePolicy(policy, min(seconds, DEADLINE), min(seconds, DEADLINE), access))
            return opened[-1]

        try:
            yield PolicySubject(connect().spec, connect, None, benchmark=benchmark)
        finally:
            for one in opened:
                one.close()
        return
    loaded: Any = load_target(policy, (Policy, PredictModelServer), dict(params or {}))
    if isinstance(loaded, PredictModelServer):
        loaded.load()
        subject = subject_of_model(loaded, benchmark)
    else:
        subject = PolicySubject(loaded.spec, lambda: loaded, None, benchmark=benchmark, several=False)
    try:
        yield subject
    finally:
        loaded.close()


def subject_of_model(model: PredictModelServer, benchmark: Benchmark | None = None) -> PolicySubject:
    """Return a loaded model in this process as a subject."""
    return PolicySubject(announced_spec(model), lambda: SessionPolicy(model, "kit"), model, benchmark=benchmark)
