"""Benchmarks that break the contract in exactly one way; each is found by the check of its name."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.data import ActionChunk, Episode, EpisodeStart, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.policies.base import Policy
from vlassess_link.specs import Axis, Level, PolicyIdentity, PolicySpec, Termination
from vlassess_link.testing import FakeBenchmark

COUNT = [0]
"""A global, as careless benchmarks have them."""


class Good(FakeBenchmark):
    """Stored states, an axis that keeps the start, and a second task."""

    def __init__(self, **params: Any) -> None:
        super().__init__(tasks=2, step_limit=12, **params)
        axis = Axis("light", (Level("dim"), Level("dark")), ("camera:front",))
        tasks = (dataclasses.replace(self.spec.tasks[0], initial_states=("a", "b", "c")), self.spec.tasks[1])
        self.spec = dataclasses.replace(self.spec, tasks=tasks, axes=(axis,))
        self._light = 1.0

    def reset(self, episode: Episode) -> RawObservation:
        self._light = {"dim": 0.7, "dark": 0.4}.get(episode.perturbation.get("light", ""), 1.0)
        if episode.initial_state is not None:
            episode = dataclasses.replace(episode, seed=ord(episode.initial_state))
        return super().reset(episode)

    def make_obs(self, raw: RawObservation) -> Observation:
        obs = super().make_obs(raw)
        images = {name: (200 * self._light - image * 0.5).astype(np.uint8) for name, image in obs.images.items()}
        return dataclasses.replace(obs, images=images)


class Walker(Policy):
    """Walks until it is there, then stays."""

    def __init__(self) -> None:
        self.spec = PolicySpec(PolicyIdentity("walker"), cameras=())

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        self.goal = float(start.task.split("-")[1])

    def predict(self, obs: Observation) -> ActionChunk:
        assert obs.state is not None
        return ActionChunk(np.array([[1.0 if obs.state[0] < self.goal else 0.0]]))


class Remembers(Good):
    """The start depends on what ran before."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        COUNT[0] += 1
        self._x += 0.01 * COUNT[0]
        return dataclasses.replace(raw, native=self._x, state={**raw.state, "x": np.array([self._x])})


class OneStart(Good):
    """Every seed gives the same start."""

    def reset(self, episode: Episode) -> RawObservation:
        return super().reset(dataclasses.replace(episode, seed=1, initial_state=None))


class OnlyReports(Good):
    """Reports the state that was drawn, and never sets it."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        self._x = 0.5
        return dataclasses.replace(raw, native=0.5)


class DrawsStored(Good):
    """Stored states are moved a little by the seed."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        self._x += 1e-6 * float(episode.rng("layout").random())
        return dataclasses.replace(raw, native=self._x, state={**raw.state, "x": np.array([self._x])})


class Falls(Good):
    """Is still moving when it is handed over."""

    def step(self, action: np.ndarray) -> StepResult:
        return super().step(action - 0.02)


class IgnoresView(Good):
    """Renders everything, whatever is asked for."""

    def make_obs(self, raw: RawObservation) -> Observation:
        self.view = None
        return super().make_obs(raw)


class WrongDtype(Good):
    """Pictures in [0, 1]."""

    def make_obs(self, raw: RawObservation) -> Observation:
        obs = super().make_obs(raw)
        return dataclasses.replace(obs, images={name: image / np.float32(255) for name, image in obs.images.items()})


class WrongState(Good):
    """One number too many."""

    def make_obs(self, raw: RawObservation) -> Observation:
        return dataclasses.replace(super().make_obs(raw), state=np.zeros(2, np.float32))


class LooksAndMoves(Good):
    """Rendering steps the simulator."""

    def make_obs(self, raw: RawObservation) -> Observation:
        self._x += 1e-4
        return super().make_obs(raw)


class OwnWords(Good):
    """Says its own instruction in pictures' company."""

    def make_obs(self, raw: RawObservation) -> Observation:
        return dataclasses.replace(super().make_obs(raw), instruction=self.spec.tasks[0].instruction or "")


class Done(Good):
    """Starts behind the goal."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        self._x += 10.0
        return dataclasses.replace(raw, native=self._x, state={**raw.state, "x": np.array([self._x])})


class OwnLimit(Good):
    """Ends itself one step too early, as a wrapper of its own would."""

    def reset(self, episode: Episode) -> RawObservation:
        self._left = episode.step_limit - 1
        return super().reset(episode)

    def step(self, action: np.ndarray) -> StepResult:
        self._left -= 1
        return dataclasses.replace(super().step(action), ended=self._left == 0)


class Salted(Good):
    """Depends on the process, as what is keyed by `id()` or a salted hash does."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        self._x += os.getpid() / 1e9
        return dataclasses.replace(raw, native=self._x, state={**raw.state, "x": np.array([self._x])})


class EndsAtSuccess(FakeBenchmark):
    """Declares that it ends at the limit, and ends at success."""

    def __init__(self) -> None:
        super().__init__(termination="at_limit")

    def step(self, action: np.ndarray) -> StepResult:
        result = super().step(action)
        return dataclasses.replace(result, ended=self.get_step_result(result).success)


class CannotHold(EndsAtSuccess):
    """Declares that success is held, and ends at the first."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, termination=Termination("hold", 3), success="held")


class NoMetric(Good):
    """Declares a primary metric that is nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = dataclasses.replace(self.spec, primary_metric="length")


class MovesToo(Good):
    """The light moves the start."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        self._x += 0.001 if episode.perturbation else 0.0
        return dataclasses.replace(raw, native=self._x, state={**raw.state, "x": np.array([self._x])})


class NoEffect(Good):
    """The light is always the same."""

    def reset(self, episode: Episode) -> RawObservation:
        return super().reset(dataclasses.replace(episode, perturbation={}))


class Stays(Good):
    """The light stays as the last level had it."""

    def reset(self, episode: Episode) -> RawObservation:
        before = self._light
        raw = super().reset(episode)
        self._light = self._light if episode.perturbation else before
        return raw


class Flickers(Good):
    """The light of a level is another one each time."""

    def reset(self, episode: Episode) -> RawObservation:
        raw = super().reset(episode)
        COUNT[0] += 1
        self._light -= 0.01 * (COUNT[0] % 7) if episode.perturbation else 0.0
        return raw


class FeelsLight(Good):
    """The light is seen, and felt by proprioception too."""

    def make_obs(self, raw: RawObservation) -> Observation:
        obs = super().make_obs(raw)
        return dataclasses.replace(obs, state=np.array([raw.native + 1.0 - self._light], np.float32))


class Raises(Good):
    """Cannot score."""

    def get_step_result(self, result: StepResult) -> StepOutcome:
        raise RuntimeError("no score today")


TWINS: Mapping[str, tuple[type[Benchmark], ...]] = {
    "reset_is_deterministic": (Remembers, Raises),
    "seeds_differ": (OneStart,),
    "reported_state_is_there": (OnlyReports,),
    "stored_states_are_set": (DrawsStored,),
    "start_is_stable": (Falls,),
    "observation_matches_spec": (IgnoresView, WrongDtype, WrongState),
    "looking_changes_nothing": (LooksAndMoves,),
    "instruction_is_the_episodes": (OwnWords,),
    "no_success_at_reset": (Done,),
    "step_limit_is_exact": (OwnLimit,),
    "processes_agree": (Salted,),
    "termination_is_as_declared": (EndsAtSuccess, CannotHold),
    "primary_metric_is_told": (NoMetric,),
    "axes_touch_what_they_say": (MovesToo, NoEffect, Stays, Flickers, FeelsLight),
}
"""Check -> the benchmarks that it must find out."""
