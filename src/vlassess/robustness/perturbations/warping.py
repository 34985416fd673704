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
        self.x, self.y = np.empty(shape), np.empty(shape)
        self.left, self.top = np.empty(shape), np.empty(shape)
        self.index = np.empty(shape, np.int64)
        self.right, self.down = np.empty(shape, np.float32), np.empty(shape, np.float32)
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
        x_of_x, x_of_y = xx * x + ((self.width - 1) / 2 + 1), xy * y + shift[0]
        y_of_x, y_of_y = yx * x + ((self.height - 1) / 2 + 1), yy * y + shift[1]
        desk = _desk(self._rows, self.width)
        for first in range(0, self.height, self._rows):
            rows = slice(first, min(first + self._rows, self.height))
            count = rows.stop - first
            np.add(x_of_x[None], x_of_y[rows, None], out=desk.x[:count])
            np.add(y_of_x[None], y_of_y[rows, None], out=desk.y[:count])
            self._block(desk, count, out[rows])

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
        # Weights are written out four times: multiplying rows of four by one number each takes longer.
        to_right, to_bottom = np.repeat(right.ravel(), 4), np.repeat(down.ravel(), 4)
        for here, beside in ((upper, upper_right), (lower, lower_right)):
            beside -= here
            beside *= to_right
            here += beside
        lower -= upper
        lower *= to_bottom
        upper += lower
        _without_fourth(upper.reshape(-1, 4), out.reshape(-1, 3))

    def _gathered(self, index: np.ndarray, desk: _Desk) -> list[np.ndarray]:
        found = []
        for corner, offset in enumerate((0, 1, self.width + 2, self.width + 3)):
            into = desk.corners[corner, : len(index)]
            np.take(self._pixels[offset:], index, out=into, mode="clip")
            found.append(into.view(np.float32))
        return found


def _without_fourth(rows: Pixels, out: Pixels) -> None:
    """Copy the first three of every four numbers, the first two as one: half as many copies."""
    pairs: np.ndarray = np.ndarray((len(out),), np.complex64, out, 0, (out.strides[0],))
    pairs[...] = rows.view(np.complex64)[:, 0]
    out[:, 2] = rows[:, 2]
