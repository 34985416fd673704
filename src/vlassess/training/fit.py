"""Fits the network to labelled frames, step by step, so that it can be stopped anywhere and gone on with."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from vlassess.training.batches import Batch
from vlassess.training.network import MiniVlaNetwork, Shape
from vlassess.training.recipe import Schedule

_FORGETTING = 0.999
_GRIPPER = 0.25

Source = Callable[[np.random.Generator], Batch]
"""Draws a batch."""


@dataclass(frozen=True)
class Losses:
    """What one step cost: mean distance of moves, of the gripper's decision, and of where things are."""

    moves: float
    gripper: float
    places: float


class Learner:
    """A network, its running mean (which is what is exported) and its optimiser.

    Batches are a function of (seed, step), so one that goes on takes the same as one that never stopped.

    Args:
        network: What learns; it is changed.
        schedule: How long and how fast.
        trained: Parameters that learn; None for all.
    """

    def __init__(self, network: MiniVlaNetwork, schedule: Schedule, trained: list[Any] | None = None) -> None:
        self.network = network.to(memory_format=torch.channels_last)
        self.mean = copy.deepcopy(self.network).eval()
        self.schedule = schedule
        self.step = 0
        self._optimiser = torch.optim.AdamW(
            trained if trained is not None else network.parameters(), lr=schedule.rate, weight_decay=1e-3, fused=True
        )

    @classmethod
    def new(cls, shape: Shape, schedule: Schedule) -> Learner:
        """Return one whose initial weights come from the schedule's seed."""
        torch.manual_seed(schedule.seed)
        return cls(MiniVlaNetwork(shape), schedule)

    def learn(self, source: Source) -> Losses:
        """Take one step."""
        batch = source(np.random.default_rng((self.schedule.seed, self.step)))
        for group in self._optimiser.param_groups:
            group["lr"] = self.schedule.rate_at(self.step)
        with torch.autocast("cpu", torch.bfloat16, enabled=quick_halves()):
            losses = _losses(self.network, batch)
        total = losses[0] + _GRIPPER * losses[1] + self.schedule.places * losses[2]
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self._optimiser.step()
        self.step += 1
        self._remember()
        return Losses(*(float(loss) for loss in losses))

    def save(self, path: Path) -> None:
        """Write everything that going on needs; the file is there whole or not at all."""
        state = {
            "step": self.step,
            "network": self.network.state_dict(),
            "mean": self.mean.state_dict(),
            "optimiser": self._optimiser.state_dict(),
        }
        scratch = path.with_suffix(".partial")
        torch.save(state, scratch)
        scratch.replace(path)

    def restore(self, path: Path) -> None:
        """Go on where `save` was called."""
        state = torch.load(path, weights_only=True)
        self.step = state["step"]
        self.network.load_state_dict(state["network"])
        self.mean.load_state_dict(state["mean"])
        self._optimiser.load_state_dict(state["optimiser"])

    def _remember(self) -> None:
        keep = min(_FORGETTING, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.mean.parameters()), list(self.network.parameters()), 1.0 - keep)


def quick_halves() -> bool:
    """Return whether this processor multiplies bfloat16 matrices faster than single precision."""
    return bool(torch.cpu._is_amx_tile_supported())


def _losses(network: MiniVlaNetwork, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    moves, grips, places = network(batch.agent, batch.wrist, batch.state, batch.tokens)
    near = torch.linspace(1.0, 0.5, moves.shape[1])
    near = near / near.mean()
    move_loss = functional.smooth_l1_loss(moves, batch.moves, beta=0.1, reduction="none").mean(2)
    grip_loss = functional.binary_cross_entropy_with_logits(grips, batch.closes, reduction="none")
    matters = torch.ones_like(places)
    matters[:, 3:5] = batch.has_goal
    place_loss = functional.smooth_l1_loss(places, batch.places, beta=0.1, reduction="none") * matters
    return (move_loss * near).mean(), (grip_loss * near).mean(), place_loss.mean()
