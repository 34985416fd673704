"""Runs where lerobot is: loads a data set with it, walks over every frame, and compares with the arrays beside it.

Usage: ``inside_lerobot.py DATASET EXPECTED.npz``; prints JSON. The arrays are ``EPISODE/FEATURE``, pictures as uint8.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.datasets.utils import dataset_to_policy_features


def main(root: str, expected_file: str) -> None:
    """Compare, and say how far apart the two are at most."""
    expected = np.load(expected_file, allow_pickle=False)
    dataset = LeRobotDataset("local/demonstrations", root=root)
    features = [name for name in dataset.features if f"0/{name}" in expected.files]
    told: dict[str, Any] = {
        "frames": len(dataset),
        "episodes": dataset.num_episodes,
        "fps": dataset.fps,
        "tasks": dataset.meta.tasks.index.tolist(),
        "cameras": dataset.meta.camera_keys,
        "statistics": {name: sorted(stats) for name, stats in dataset.meta.stats.items()},
        "policy": {name: str(one.type) for name, one in dataset_to_policy_features(dataset.features).items()},
        "difference": {name: 0.0 for name in features},
        "mse": {name: 0.0 for name in dataset.meta.camera_keys},
        "task_of": {},
    }
    seen = set()
    for index in range(len(dataset)):
        item = dataset[index]
        episode, frame = int(item["episode_index"]), int(item["frame_index"])
        seen.add((episode, frame))
        told["task_of"][str(episode)] = item["task"]
        for name in features:
            found = as_recorded(item[name], name in told["cameras"])
            apart = np.abs(found - expected[f"{episode}/{name}"][frame].astype(np.float64))
            told["difference"][name] = max(told["difference"][name], float(apart.max()))
            if name in told["cameras"]:
                told["mse"][name] = max(told["mse"][name], float((apart**2).mean()))
    told["seen"] = len(seen)
    told["windows"] = windows(root, dataset)
    print(json.dumps(told))


def as_recorded(value: torch.Tensor, picture: bool) -> np.ndarray:
    """Return an item's value as it was recorded: pictures (height, width, 3) from 0 to 255."""
    numbers: np.ndarray = value.numpy().astype(np.float64)
    return np.round(numbers.transpose(1, 2, 0) * 255) if picture else np.atleast_1d(numbers)


def windows(root: str, dataset: LeRobotDataset) -> dict[str, Any]:
    """Return what a training loop asks for: some episodes, chunks of actions, two pictures."""
    step = 1 / dataset.fps
    wanted = {"action": [i * step for i in range(4)], **{key: [-step, 0.0] for key in dataset.meta.camera_keys}}
    last = dataset.num_episodes - 1
    some = LeRobotDataset("local/demonstrations", root=root, episodes=[0, last], delta_timestamps=wanted)
    item = some[len(some) - 1]
    batch = next(iter(torch.utils.data.DataLoader(some, batch_size=4)))
    return {
        "frames": len(some),
        "episode": int(item["episode_index"]),
        "shapes": {name: list(item[name].shape) for name in wanted},
        "padded": item["action_is_pad"].tolist(),
        "batch": list(batch["action"].shape),
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
