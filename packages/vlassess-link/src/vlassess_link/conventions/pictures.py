"""Names what makes one image of another: turned, reordered, cropped, resized in another way, on another scale."""

from __future__ import annotations

import itertools
import math
from typing import Iterator, Mapping, Optional, Tuple

import numpy as np

from vlassess_link.conventions.images import RESIZES, resized

TURNS = {
    "": (1, 1),
    "turned by 180 degrees": (-1, -1),
    "upside down (rows flipped)": (-1, 1),
    "mirrored (columns flipped)": (1, -1),
}
CROPS = (0.9, math.sqrt(0.9), 0.95, 0.875, 0.85, 0.8)
"""Sides of centre crops that models are trained with."""
SCALES: Tuple[Tuple[str, float, float], ...] = (
    ("normalised to [0, 1] (twice, if A's was)", 1 / 255, 0.0),
    ("normalised to [-1, 1] (twice, if A's was)", 2 / 255, -1.0),
    ("times 255", 255.0, 0.0),
)
CHANNELS = (1, 3, 4)
COARSE = 12
GOOD, MUCH_BETTER = 2.5, 0.3
"""An image is explained when what is left differs by so few of 255 on average, and by this share of before."""


def is_image(array: np.ndarray) -> bool:
    """Return whether an array can be a picture: (height, width, 1, 3 or 4) or with the channels first."""
    if array.ndim != 3 or array.size == 0 or array.dtype.kind not in "iuf":
        return False
    return array.shape[2] in CHANNELS or array.shape[0] in CHANNELS


def explain_image(
    one: np.ndarray, other: np.ndarray, rendered: Optional[np.ndarray], neighbours: Mapping[str, np.ndarray]
) -> Optional[str]:
    """Return what B's image is of A's, as a sentence without its subject; None: no known cause.

    Args:
        one: A's.
        other: B's.
        rendered: The image before it was converted, of either, where it is known.
        neighbours: A's other images.
    """
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return None if np.isfinite(other).all() else "is not finite everywhere"
    if one.shape[2] != other.shape[2]:
        return _channels(one, other)
    if one.shape[2] not in CHANNELS:
        one, other = one.transpose(1, 2, 0), other.transpose(1, 2, 0)
    exact = _exact(one, other, neighbours)
    if exact is not None:
        return exact
    how = _made_by(one, other, rendered)
    return how or _nearly(one, other)


def _channels(one: np.ndarray, other: np.ndarray) -> Optional[str]:
    """Find channels that are put first, or last, or are more or fewer."""
    for axes, words in (((2, 0, 1), "with the channels first"), ((1, 2, 0), "with the channels last")):
        if np.array_equal(one.transpose(axes), other):
            return f"is A's {words}"
    if other.shape[2] > one.shape[2] and np.array_equal(other[..., : one.shape[2]], one):
        return f"is A's with {other.shape[2] - one.shape[2]} more channels"
    if other.shape[2] < one.shape[2] and np.array_equal(one[..., : other.shape[2]], other):
        return f"is A's with {one.shape[2] - other.shape[2]} channels less"
    return None


def _exact(one: np.ndarray, other: np.ndarray, neighbours: Mapping[str, np.ndarray]) -> Optional[str]:
    for words, turned in _turned(one):
        if turned.shape == other.shape and np.allclose(turned, other, atol=1e-3):
            return f"is A's {words}" if words else None
    for name, image in neighbours.items():
        if image.shape == other.shape and np.array_equal(image, other):
            return f"is A's image of the camera {name!r}"
    for words, factor, offset in SCALES:
        if one.shape == other.shape and np.allclose(one * factor + offset, other, atol=2e-3 * factor):
            return f"is A's {words}"
    return None


def _turned(image: np.ndarray) -> Iterator[Tuple[str, np.ndarray]]:
    for (turn, (rows, columns)), colour in itertools.product(TURNS.items(), ("", "in BGR for RGB")):
        turned = image[::rows, ::columns]
        words = ", ".join(word for word in (turn, colour) if word)
        yield words, turned[..., ::-1] if colour else turned


def _made_by(one: np.ndarray, other: np.ndarray, rendered: Optional[np.ndarray]) -> Optional[str]:
    """Find by which method each was resized from the image that is known before it."""
    if rendered is None:
        return None
    said = []
    for image in (one, other):
        size = (image.shape[0], image.shape[1])
        made = {name: _apart(resized(rendered, size, name), image) for name in RESIZES}
        best = min(made, key=lambda name: made[name])
        if made[best] > 0.6:
            return None
        said.append(best)
    return f"is resized by {said[1]}, A's by {said[0]}" if said[0] != said[1] else None


def _nearly(one: np.ndarray, other: np.ndarray) -> Optional[str]:
    """Try centre crops either way, and plain resizing, with what is left compared."""
    before = _apart(one, other) if one.shape == other.shape else 255.0
    words, turned = min(_turned(one), key=lambda pair: _coarsely_apart(pair[1], other))
    also = f", {words}" if words else ""
    found = []
    for share, method in itertools.product((*CROPS, 1.0), RESIZES):
        if share == 1.0 and turned.shape == other.shape:
            continue
        crop = f"the centre crop of {share:.4g} of A's, resized back" if share < 1.0 else "A's resized"
        found.append((_crop_apart(turned, other, method, share), f"is {crop} by {method}{also}"))
        if share < 1.0 and turned.shape == other.shape:
            back = f"lacks the centre crop of {share:.4g} that A's has (resized back by {method}){also}"
            found.append((_crop_apart(other, turned, method, share), back))
    left, sentence = min(found)
    return sentence if left <= GOOD * _span(other) and left <= MUCH_BETTER * before else None


def _coarsely_apart(one: np.ndarray, other: np.ndarray) -> float:
    """Compare what is left of two images at a few pixels: enough to tell how one is turned."""
    small = [resized(image.astype(np.float32), (COARSE, COARSE), "area") for image in (one, other)]
    return _apart(small[0], small[1])


def _crop_apart(whole: np.ndarray, part: np.ndarray, method: str, share: float) -> float:
    return _apart(resized(whole, (part.shape[0], part.shape[1]), method, share), part)


def _span(image: np.ndarray) -> float:
    """Return what stands for one step of 255 in an image."""
    return 1.0 if image.dtype == np.uint8 or float(np.max(image)) > 2.0 else 1.0 / 255.0


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.mean(np.abs(one.astype(np.float64) - other.astype(np.float64))))
