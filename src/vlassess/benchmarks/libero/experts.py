"""A scripted expert of LIBERO's picking and placing: it reads the simulator's state, and is an upper bound only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vlassess_link import ActionChunk, EpisodeStart, Observation, Policy, PolicyIdentity, PolicySpec
from vlassess_link.errors import ContractError

from .adapter import SETTLING_ACTION, action_layout
from .geometry import Scene
from .routine import Move, action_towards, pick_and_place


@runtime_checkable
class Readable(Protocol):
    """What the expert needs of a benchmark."""

    def privileged(self) -> Any:
        """Return the simulator; its ``env`` is read."""


class Expert(Policy):
    """Grasps by geometry and moves by waypoints; nothing is learned. Privileged."""

    def __init__(self) -> None:
        self.spec = PolicySpec(
            PolicyIdentity("libero-expert", revision="1", weights_digest="none"),
            cameras=(),
            action=action_layout(),
            privileged=True,
        )
        self._benchmark: Readable | None = None
        self._scene: Scene | None = None
        self._moves: Iterator[Move] = iter(())
        self._move: Move | None = None
        self._steps = 0

    def bind(self, benchmark: Any) -> None:
        """Take the benchmark that is read.

        Raises:
            ContractError: it has no `privileged()`.
        """
        if not isinstance(benchmark, Readable):
            raise ContractError(f"the LIBERO expert was bound to {type(benchmark).__name__}; it reads libero-v1 only")
        self._benchmark = benchmark

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Plan anew; there is no noise to seed."""
        if self._benchmark is None:
            raise ContractError("the LIBERO expert reads the simulator: run it as a local policy, which is bound")
        env = self._benchmark.privileged().env
        self._scene = Scene(env)
        self._moves = plan(self._scene, env.parsed_problem["goal_state"])
        self._move = next(self._moves, None)
        self._steps = 0

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the next action; a finished plan stays where it is.

        Raises:
            ContractError: `bind` was not called.
        """
        if self._scene is None:
            raise ContractError("the LIBERO expert was asked before its first reset")
        while self._move is not None and self._is_over(self._move, self._scene):
            self._move = next(self._moves, None)
            self._steps = 0
        self._steps += 1
        action = np.array(SETTLING_ACTION) if self._move is None else action_towards(self._scene, self._move)
        return ActionChunk(action[None])

    def _is_over(self, move: Move, scene: Scene) -> bool:
        if self._steps >= move.steps:
            return True
        if move.hold:
            return self._steps >= move.hold
        return bool(np.linalg.norm(move.point - scene.hand[0]) <= move.within)


def plan(scene: Scene, goal: list[list[str]]) -> Iterator[Move]:
    """Yield the moves for all parts of a goal, in its order; a part that this expert has no program for has none."""
    for part in goal:
        if part[0] in ("on", "in"):
            yield from pick_and_place(scene, part[1], part[2], part[0] == "in")
