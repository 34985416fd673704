"""Small ReLU networks whose minimum is exact: every linear piece is enumerated (one or two parameters)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from vlassess.robustness.hilbert import FloatArray
from vlassess.robustness.objectives.known import Known, shifted

SLIVER = 1e-12
"""Distance to a neuron's line at which a corner counts as lying on it."""


@dataclass(frozen=True)
class ReluNetwork:
    """A fully connected network with ReLU between the layers and one output.

    Attributes:
        weights: Of each layer, (inputs, outputs).
        biases: Of each layer, (outputs,).
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the output at places (n, N), (n,)."""
        hidden = points
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        result: FloatArray = (hidden @ self.weights[-1] + self.biases[-1])[:, 0]
        return result

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the unit box in which the network is linear."""
        dimension = self.weights[0].shape[0]
        corners = np.array([[0.0], [1.0]]) if dimension == 1 else np.array([[0.0, 0.0], [1, 0], [1, 1], [0, 1]])
        found = [Piece(corners, np.eye(dimension), np.zeros(dimension))]
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            found = [Piece(one.corners, one.slope @ weight, one.offset @ weight + bias) for one in found]
            if number < len(self.weights) - 1:
                found = [part for one in found for part in _rectified(one)]
        return found


@dataclass(frozen=True)
class Piece:
    """A convex piece and the linear function on it.

    Attributes:
        corners: In order around it, (k, N).
        slope: (N, outputs).
        offset: (outputs,).
    """

    corners: FloatArray
    slope: FloatArray
    offset: FloatArray


def relu_network(dimension: int, seed: int, minimum: float, widths: tuple[int, ...] = (10, 6)) -> Known:
    """Return a random network of one or two parameters, shifted to the given minimum, with its exact constants."""
    rng = np.random.default_rng([seed, dimension, 6])
    sizes = (dimension, *widths, 1)
    weights = [rng.normal(size=pair) * np.sqrt(2.0 / pair[0]) for pair in itertools.pairwise(sizes)]
    weights[0] *= 3.0
    biases = [rng.normal(size=size) for size in sizes[1:]]
    biases[0] = -(rng.random((widths[0], dimension)) * weights[0].T).sum(axis=1)
    network = ReluNetwork(tuple(weights), tuple(biases))
    pieces = network.pieces()
    corners = np.concatenate([piece.corners for piece in pieces])
    values = network(corners)
    steepest = max(float(np.linalg.norm(piece.slope[:, 0])) for piece in pieces)
    scale = 1.0 / max(float(np.ptp(values)), 1e-3)
    lowest = int(values.argmin())
    return shifted(
        Known(
            dimension,
            lambda points: network(points) * scale,
            float(values[lowest]) * scale,
            tuple(corners[lowest].tolist()),
            exact=True,
            lipschitz=steepest * scale * (1.0 + 1e-9) + 1e-9,
        ),
        minimum,
    )


def _rectified(piece: Piece) -> list[Piece]:
    """Divide a piece along every neuron's zero line and set to zero what is negative."""
    parts = [piece.corners]
    for neuron in range(piece.slope.shape[1]):
        parts = [half for part in parts for half in _halves(part, piece.slope[:, neuron], piece.offset[neuron])]
    found = []
    for part in parts:
        active = part.mean(axis=0) @ piece.slope + piece.offset > 0.0
        found.append(Piece(part, piece.slope * active, piece.offset * active))
    return found


def _halves(corners: FloatArray, slope: FloatArray, offset: float) -> list[FloatArray]:
    """Cut a convex polygon (or a segment) along a line; parts without an inside are left out."""
    heights = corners @ slope + offset
    if heights.min() >= -SLIVER or heights.max() <= SLIVER:
        return [corners]
    halves: list[list[FloatArray]] = [[], []]
    pairs = range(len(corners)) if len(corners) > 2 else range(1)
    for at in range(len(corners)):
        for side, sign in enumerate((1.0, -1.0)):
            if sign * heights[at] >= 0.0:
                halves[side].append(corners[at])
        after = (at + 1) % len(corners)
        if at in pairs and heights[at] * heights[after] < 0.0:
            share = heights[at] / (heights[at] - heights[after])
            crossing = corners[at] + share * (corners[after] - corners[at])
            halves[0].append(crossing)
            halves[1].append(crossing)
    return [np.array(half) for half in halves if len(half) > corners.shape[1]]
