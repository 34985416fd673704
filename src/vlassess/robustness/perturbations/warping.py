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
        self.column, self.index = np.empty(shape, np.int64), np.empty(shape, np.int64)
        self.right, self.down = np.empty((*shape, 1), np.float32), np.empty((*shape, 1), np.float32)
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
        x, y, column, index = desk.x[:count], desk.y[:count], desk.column[:count], desk.index[:count]
        right, down = desk.right[:count], desk.down[:count]
        for place, most in ((x, self.width), (y, self.height)):
            np.maximum(place, 0.0, out=place)
            np.minimum(place, most + JUST_BELOW, out=place)
        np.copyto(column, x, casting="unsafe")
        np.copyto(index, y, casting="unsafe")
        np.subtract(x, column, out=right[..., 0], casting="same_kind")
        np.subtract(y, index, out=down[..., 0], casting="same_kind")
        index *= self.width + 2
        index += column
        upper, upper_right, lower, lower_right = self._gathered(index.ravel(), desk, count)
        for left, beside in ((upper, upper_right), (lower, lower_right)):
            beside -= left
            beside *= right
            left += beside
        lower -= upper
        lower *= down
        upper += lower
        out[...] = upper[..., :3]

    def _gathered(self, index: np.ndarray, desk: _Desk, count: int) -> list[np.ndarray]:
        found = []
        for corner, offset in enumerate((0, 1, self.width + 2, self.width + 3)):
            into = desk.corners[corner, : len(index)]
            np.take(self._pixels[offset:], index, out=into, mode="clip")
            found.append(into.view(np.float32).reshape(count, self.width, 4))
        return found
