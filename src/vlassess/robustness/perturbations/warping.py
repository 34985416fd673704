"""Bilinear resampling of a picture with black around it: continuous in every entry of the mapping.

Equal to ``scipy.ndimage.map_coordinates(order=1, mode="grid-constant")`` for each channel; its mode "constant" jumps
where a sample leaves the picture, so it is not continuous.
"""

from __future__ import annotations

import threading

import numpy as np

from vlassess.robustness.perturbations.pictures import Pixels

BLOCK = 8192
"""Pixels that are resampled at once: what they need stays in the processor's cache."""
JUST_BELOW = 1.0 - 2.0**-20


class _Desk:
    """Room for one block of pixels."""

    def __init__(self, rows: int, width: int) -> None:
        shape = (rows, width)
        self.first_x, self.first_y = np.empty(shape), np.empty(shape)
        self.x, self.y = np.empty(shape), np.empty(shape)
        self.left, self.top = np.empty(shape), np.empty(shape)
        self.index = np.empty(shape, np.int64)
        self.right, self.down = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.to_right, self.to_bottom = (np.empty((rows * width, 4), np.float32) for _ in range(2))
        self.corners = np.empty((4, rows * width), np.complex128)


_OWN = threading.local()
"""The desks of each thread: making one costs as much as a resampling."""


def _desk(rows: int, width: int) -> _Desk:
    desks: dict[tuple[int, int], _Desk] = _OWN.__dict__.setdefault("desks", {})
    if (rows, width) not in desks:
        desks[rows, width] = _Desk(rows, width)
    return desks[rows, width]


class Sampler:
    """A picture that can be resampled again and again.

    Args:
        picture: (height, width, 3) float32.
    """

    def __init__(self, picture: Pixels) -> None:
        self.height, self.width = picture.shape[:2]
        padded = np.zeros((self.height + 2, self.width + 2, 4), np.float32)
        padded[1:-1, 1:-1, :3] = picture
        # A pixel of four floats is copied as one number of 16 bytes.
        self._pixels = padded.reshape(-1, 4).view(np.complex128)[:, 0]
        self._rows = min(max(1, BLOCK // self.width), self.height)

    def resample(self, matrix: np.ndarray, shift: tuple[float, float], out: Pixels) -> None:
        """Write into ``out``, (height, width, 3), the picture seen through an affine mapping about its centre.

        Args:
            matrix: (2, 2); a result's pixel at (x, y) from the centre shows the picture at ``matrix @ (x, y) + shift``.
            shift: (x, y) in pixels.
            out: Overwritten.
        """
        x, y = (np.arange(size) - (size - 1) / 2 for size in (self.width, self.height))
        (xx, xy), (yx, yy) = np.asarray(matrix, np.float64).tolist()
        desk, rows = _desk(self._rows, self.width), self._rows
        np.add(xx * x + ((self.width - 1) / 2 + 1), (xy * y[:rows] + shift[0])[:, None], out=desk.first_x)
        np.add(yx * x + ((self.height - 1) / 2 + 1), (yy * y[:rows] + shift[1])[:, None], out=desk.first_y)
        for first in range(0, self.height, rows):
            count = min(rows, self.height - first)
            # Every block is the first one, moved: adding one number to all is several times as fast as rows to columns.
            np.add(desk.first_x[:count], xy * first, out=desk.x[:count])
            np.add(desk.first_y[:count], yy * first, out=desk.y[:count])
            self._block(desk, count, out[first : first + count])

    def _block(self, desk: _Desk, count: int, out: Pixels) -> None:
        x, y, left, top = desk.x[:count], desk.y[:count], desk.left[:count], desk.top[:count]
        right, down, index = desk.right[:count], desk.down[:count], desk.index[:count]
        for place, whole, rest, most in ((x, left, right, self.width), (y, top, down, self.height)):
            np.clip(place, 0.0, most + JUST_BELOW, out=place)
            np.floor(place, out=whole)
            np.subtract(place, whole, out=place)
            np.copyto(rest, place, casting="same_kind")
        top *= self.width + 2
        top += left
        np.copyto(index, top, casting="unsafe")
        upper, upper_right, lower, lower_right = self._gathered(index.ravel(), desk)
        to_right, to_bottom = _four_times(right, desk.to_right), _four_times(down, desk.to_bottom)
        for here, beside in ((upper, upper_right), (lower, lower_right)):
            beside -= here
            beside *= to_right
            here += beside
        lower -= upper
        lower *= to_bottom
        _sum_of_three(upper.reshape(-1, 4), lower.reshape(-1, 4), out.reshape(-1, 3))

    def _gathered(self, index: np.ndarray, desk: _Desk) -> list[np.ndarray]:
        found = []
        for corner, offset in enumerate((0, 1, self.width + 2, self.width + 3)):
            into = desk.corners[corner, : len(index)]
            np.take(self._pixels[offset:], index, out=into, mode="clip")
            found.append(into.view(np.float32))
        return found


def _four_times(weights: Pixels, into: Pixels) -> Pixels:
    """Return every number four times, once for each float of a pixel: rows of four times one number take longer."""
    flat = weights.ravel()
    for column in range(4):
        into[: len(flat), column] = flat
    return into[: len(flat)].ravel()


def _sum_of_three(one: Pixels, other: Pixels, out: Pixels) -> None:
    """Add the first three of every four numbers, the first two as one complex number: half as many sums."""
    pairs: np.ndarray = np.ndarray((len(out),), np.complex64, out, 0, (out.strides[0],))
    np.add(one.view(np.complex64)[:, 0], other.view(np.complex64)[:, 0], out=pairs)
    np.add(one[:, 2], other[:, 2], out=out[:, 2])
