"""Pixels of one convention into another: colour order, orientation, centre crop, size.

Turning and reordering is exact. Resizing is by a named method, in numpy alone, since simulators' interpreters may
lack an image library and two libraries' "bilinear" are two different things:

- `bilinear` and `lanczos` are Pillow's, bit for bit on uint8: the filter is widened where the image shrinks, so
  that nothing is skipped (also called antialiased). Widths come first, as in every Pillow before 13.
- `area` is the mean over the area that a pixel covers, parts of pixels included: OpenCV's INTER_AREA.
- `linear` looks at two neighbours along each axis, however much the image shrinks: OpenCV's INTER_LINEAR.
"""

from __future__ import annotations

import functools
import math
from typing import Callable, Optional, Tuple

import numpy as np

from vlassess_link.specs import CameraSpec, ImageConvention, PolicySpec

RESIZES: Tuple[str, ...] = ("area", "bilinear", "linear", "lanczos")
PRECISION_BITS = 22
"""Bits behind the point of Pillow's weights."""

Size = Tuple[int, int]
Function = Callable[[np.ndarray], np.ndarray]


def rendered_size(camera: CameraSpec, policy: PolicySpec) -> Optional[Size]:
    """Return the (height, width) that a camera is rendered at for a policy.

    That is the policy's size where the camera offers it; the camera's default where the policy names none, or a
    method to resize by. None where the policy's size cannot be had.
    """
    sizes = [(int(size[0]), int(size[1])) for size in camera.sizes]
    if policy.image_size is None:
        return sizes[0]
    wanted = (int(policy.image_size[0]), int(policy.image_size[1]))
    if wanted in sizes:
        return wanted
    return sizes[0] if policy.image.resize in RESIZES else None


def oriented(image: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return an (H, W, 3) image of one of `specs.ORIENTATIONS` in another."""
    rows = (source in ("rotated_180", "flipped_rows")) != (target in ("rotated_180", "flipped_rows"))
    columns = (source == "rotated_180") != (target == "rotated_180")
    turned: np.ndarray = image[:: -1 if rows else 1, :: -1 if columns else 1]
    return turned


def converted(image: np.ndarray, source: ImageConvention, target: ImageConvention, size: Size) -> np.ndarray:
    """Return an image of convention ``source`` in ``target``, at (height, width) ``size``: orientation, crop, colour.

    A crop is of the middle, and resized back in the same step, by the target's method.
    """
    turned = oriented(image, source.orientation, target.orientation)
    share = target.crop / source.crop
    if image.shape[:2] != size or share != 1.0:
        turned = resized(turned, size, target.resize or "bilinear", share)
    return np.ascontiguousarray(turned if source.colour == target.colour else turned[..., ::-1])


def resized(image: np.ndarray, size: Size, method: str, crop: float = 1.0) -> np.ndarray:
    """Return the middle of an image, ``crop`` of each side, at another size; the dtype stays.

    Args:
        image: (H, W, C); uint8 is rounded to the nearest, as the method's own library does, float32 is not rounded.
        size: (height, width).
        method: One of `RESIZES`.
        crop: Share of each side that is kept.
    """
    if method in ("bilinear", "lanczos") and image.dtype == np.uint8:
        return _as_pillow(image, size, method, crop)
    result = image.astype(np.float64)
    for axis in (1, 0):
        result = _along(result, _weights(image.shape[axis], size[axis], method, crop), axis)
    if image.dtype == np.uint8:
        return np.clip(np.rint(result), 0, 255).astype(np.uint8)
    return result.astype(image.dtype)


def _as_pillow(image: np.ndarray, size: Size, method: str, crop: float) -> np.ndarray:
    """Resize with Pillow's whole-numbered weights, rounded after each axis; sums below 2**53 are exact in float64."""
    result = image
    for axis in (1, 0):
        if result.shape[axis] == size[axis] and crop == 1.0:
            continue
        exact = _weights(image.shape[axis], size[axis], method, crop) * (1 << PRECISION_BITS)
        weights = np.trunc(exact + np.copysign(0.5, exact))
        sums = _along(result.astype(np.float64), weights, axis) + (1 << (PRECISION_BITS - 1))
        result = np.clip(np.floor(sums / (1 << PRECISION_BITS)), 0, 255).astype(np.uint8)
    return result


def _along(image: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(np.tensordot(weights, image, axes=(1, axis)), 0, axis)


@functools.lru_cache(maxsize=512)
def _weights(old: int, new: int, method: str, crop: float) -> np.ndarray:
    """Return (new, old): what each old pixel gives to each new one."""
    # In float32, as Pillow keeps a box.
    first, last = np.float32(0.5 * (1.0 - crop) * old), np.float32(old - 0.5 * (1.0 - crop) * old)
    begin, scale = float(first), float(last - first) / new
    make = {"area": _area_row, "linear": _linear_row}.get(method)
    rows = [
        make(old, begin + i * scale, scale) if make is not None else _filter_row(old, (begin, i), scale, method)
        for i in range(new)
    ]
    weights = np.array(rows)
    weights.setflags(write=False)
    return weights


def _area_row(old: int, begin: float, scale: float) -> np.ndarray:
    edges = np.arange(old)
    covered = np.clip(np.minimum(edges + 1, begin + scale) - np.maximum(edges, begin), 0.0, None)
    row: np.ndarray = covered / covered.sum()
    return row


def _linear_row(old: int, begin: float, scale: float) -> np.ndarray:
    where = min(max(begin + 0.5 * scale - 0.5, 0.0), old - 1.0)
    left = min(int(where), max(old - 2, 0))
    row = np.zeros(old)
    row[left] = 1.0 - (where - left)
    if old > 1:
        row[left + 1] = where - left
    return row


def _filter_row(old: int, place: Tuple[float, int], scale: float, method: str) -> np.ndarray:
    """Return row ``place[1]`` of Pillow's weights for a box from ``place[0]`` on, in its order, bit for bit."""
    widened = max(scale, 1.0)
    reach = {"bilinear": 1.0, "lanczos": 3.0}[method] * widened
    centre = place[0] + (place[1] + 0.5) * scale
    low = max(int(centre - reach + 0.5), 0)
    high = min(int(centre + reach + 0.5), old)
    kernel = _triangle if method == "bilinear" else _lanczos
    weights = [kernel((x - centre + 0.5) * (1.0 / widened)) for x in range(low, high)]
    total = 0.0
    for weight in weights:
        total += weight
    row = np.zeros(old)
    row[low:high] = [weight * (1.0 / total) for weight in weights]
    return row


def _triangle(x: float) -> float:
    return max(1.0 - abs(x), 0.0)


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3.0) if -3.0 <= x < 3.0 else 0.0


def _sinc(x: float) -> float:
    return 1.0 if x == 0.0 else math.sin(x * math.pi) / (x * math.pi)
