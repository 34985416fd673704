"""What an expert may read of the simulator: the truth behind the observations, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .scene import Item
from .tasks import Task


@dataclass(frozen=True)
class ArmTruth:
    """One arm.

    Attributes:
        position: Where its end effector is told to be, (3,) meters, world frame.
        quaternion: How it is told to point, wxyz.
        home: Where it starts, (3,) meters.
        hand: Where its end effector is, (3,) meters.
        closed: Whether its fingers are told to close.
        opening: Distance between its pads, meters: 0 to 0.08.
        touches: Item name -> how many of its two pads touch it, 1 or 2; what it does not touch is not in it.
    """

    position: np.ndarray
    quaternion: np.ndarray
    home: np.ndarray
    hand: np.ndarray
    closed: bool
    opening: float
    touches: Mapping[str, int]


@dataclass(frozen=True)
class ItemTruth:
    """One item.

    Attributes:
        item: What it is made of and how it is grasped.
        position: Of its frame, (3,) meters, world frame.
        quaternion: Its orientation, wxyz.
        speed: Meters per second, 0 for what cannot be moved.
    """

    item: Item
    position: np.ndarray
    quaternion: np.ndarray
    speed: float


@dataclass(frozen=True)
class Truth:
    """Everything that an expert may read; never reaches a policy behind the wire.

    Attributes:
        task: What is to be done; names its target and goal among `items`.
        arms: Prefix ("" for a single arm, else "left_" and "right_") -> arm.
        items: Name -> item, all of them.
    """

    task: Task
    arms: Mapping[str, ArmTruth]
    items: Mapping[str, ItemTruth]
