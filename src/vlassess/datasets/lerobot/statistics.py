"""Statistics of features, as LeRobotDataset has them: by episode in ``meta/episodes``, over all in ``stats.json``.

Both are computed from every frame and every pixel. (lerobot samples pictures, estimates quantiles by histograms, and
takes means of the episodes' quantiles for those of the whole.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

QUANTILES: Mapping[str, float] = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
LEVELS = np.arange(256) / 255.0

Stats = dict[str, np.ndarray]


def vector_stats(values: np.ndarray) -> Stats:
    """Return the statistics of (n, D) numbers, each (D,), and ``count`` (1,).

    The standard deviation is that of the population (divided by n); quantiles interpolate linearly.
    """
    numbers = np.asarray(values, np.float64)
    found = {
        "min": numbers.min(axis=0),
        "max": numbers.max(axis=0),
        "mean": numbers.mean(axis=0),
        "std": numbers.std(axis=0),
        "count": np.array([len(numbers)]),
    }
    quantiles = np.quantile(numbers, list(QUANTILES.values()), axis=0)
    return {**found, **dict(zip(QUANTILES, quantiles, strict=True))}


class PictureStats:
    """Counts how often each channel has each of its 256 values: enough for every statistic, exactly.

    Attributes:
        pictures: How many were counted.
    """

    def __init__(self) -> None:
        self.pictures = 0
        self._counts = np.zeros((3, 256), np.int64)

    def add(self, image: np.ndarray) -> None:
        """Count a picture, (height, width, 3) uint8."""
        self._counts += [np.bincount(image[:, :, channel].ravel(), minlength=256) for channel in range(3)]
        self.pictures += 1

    def merge(self, other: PictureStats) -> None:
        """Count what another one has counted."""
        self._counts += other._counts
        self.pictures += other.pictures

    def stats(self) -> Stats:
        """Return the statistics of values in [0, 1], each (3, 1, 1), and ``count`` (1,), of pictures."""
        total = self._counts.sum(axis=1)
        mean = self._counts @ LEVELS / total
        square = self._counts @ LEVELS**2 / total
        there = self._counts > 0
        found = {
            "min": LEVELS[there.argmax(axis=1)],
            "max": LEVELS[255 - there[:, ::-1].argmax(axis=1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(square - mean**2, 0.0)),
        }
        reached = np.cumsum(self._counts, axis=1)
        for name, share in QUANTILES.items():
            found[name] = LEVELS[(reached >= share * total[:, None]).argmax(axis=1)]
        shaped = {name: value.reshape(3, 1, 1) for name, value in found.items()}
        return {**shaped, "count": np.array([self.pictures])}


def as_json(stats: Mapping[str, Stats]) -> dict[str, dict[str, Any]]:
    """Return statistics as JSON types."""
    return {name: {kind: value.tolist() for kind, value in found.items()} for name, found in stats.items()}


def as_columns(stats: Mapping[str, Stats]) -> dict[str, Any]:
    """Return statistics of one episode as the columns of ``meta/episodes``."""
    return {f"stats/{name}/{kind}": value.tolist() for name, found in stats.items() for kind, value in found.items()}


def over_all(parts: Mapping[str, Sequence[np.ndarray]], pictures: Mapping[str, PictureStats]) -> dict[str, Stats]:
    """Return the statistics of the whole data set."""
    vectors = {name: vector_stats(np.concatenate(arrays)) for name, arrays in parts.items()}
    return {**vectors, **{name: counted.stats() for name, counted in pictures.items()}}
