"""Scripted experts of the Fetch tasks: they read block and goal, and are an upper bound only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, Policy, PolicyIdentity, PolicySpec
from vlassess_link.errors import ContractError

GAIN = 1.0 / 0.05
"""Action units per meter: an action of 1.0 moves the hand by 5 cm."""
HOVER = 0.08
NEAR = 0.012
HELD = 0.026
"""Each finger's opening, in meters, below which the block is between the fingers."""


@runtime_checkable
class Readable(Protocol):
    """What the expert needs of a benchmark."""

    def privileged(self) -> Any:
        """Return what the environment last returned; its ``obs`` is read."""


class Expert(Policy):
    """Reaches, or picks and places, as a person would program it; privileged."""

    def __init__(self) -> None:
        self.spec = PolicySpec(
            PolicyIdentity("fetch-expert", revision="1", weights_digest="none"), cameras=(), privileged=True
        )
        self._benchmark: Readable | None = None

    def bind(self, benchmark: Any) -> None:
        """Take the benchmark that is read.

        Raises:
            ContractError: it has no `privileged()`.
        """
        if not isinstance(benchmark, Readable):
            raise ContractError(f"the Fetch expert was bound to {type(benchmark).__name__}; it reads fetch-v1 only")
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Do nothing: every action follows from the present state, and there is no noise to seed."""

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next action.

        Raises:
            ContractError: `bind` was not called.
        """
        if self._benchmark is None:
            raise ContractError("the Fetch expert reads the simulator: run it as a local policy, which is bound")
        return ActionChunk(next_action(self._benchmark.privileged().obs)[None])


def next_action(observed: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the action for one observation of FetchReach or FetchPickAndPlace."""
    state, goal = observed["observation"], observed["desired_goal"]
    hand = state[:3]
    if state.size == 10:
        return _towards(hand, goal, 0.0)
    block, fingers = state[3:6], state[9:11]
    over = float(np.linalg.norm((block - hand)[:2])) < NEAR
    if over and float(np.linalg.norm(block - hand)) < NEAR:
        closed = float(fingers.max()) < HELD
        return _towards(hand, goal if closed else hand, -1.0)
    return _towards(hand, block if over else block + np.array((0.0, 0.0, HOVER)), 1.0)


def _towards(hand: np.ndarray, place: np.ndarray, gripper: float) -> np.ndarray:
    return np.append(np.clip((place - hand) * GAIN * 0.5, -1.0, 1.0), gripper)
