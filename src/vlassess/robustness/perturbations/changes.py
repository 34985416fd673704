"""The one-parameter changes of a picture; 0 leaves it as it is, and every one is continuous in its parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import correlate1d

from vlassess.robustness.perturbations.pictures import WHITE, Pixels
from vlassess.robustness.perturbations.warping import Sampler

BLUR_REACH = 16
"""Pixels to each side that a blur looks at, whatever its width: a kernel that grew would make it jump."""
MOST_BLUR = 4.0
GREY_AXIS = 1.0 / math.sqrt(3.0)


class Source:
    """A picture that is going to be changed; what several changes of it share is made once.

    Args:
        picture: (height, width, 3) float32 on [0, 255].
    """

    def __init__(self, picture: Pixels) -> None:
        self.picture = picture
        self._sampler: Sampler | None = None

    @property
    def sampler(self) -> Sampler:
        """The picture, ready to be resampled."""
        if self._sampler is None:
            self._sampler = Sampler(self.picture)
        return self._sampler


Apply = Callable[[Source, float, Pixels], None]


@dataclass(frozen=True)
class Change:
    """One way of changing a picture.

    Attributes:
        name: As configs name it.
        unit: What a radius of 1 is, for people.
        scale: Parameter that a radius of 1 allows.
        one_sided: The parameter is in [0, radius] instead of [-radius, radius].
        most: Largest radius.
        apply: Writes the picture changed by a parameter into the last argument.
    """

    name: str
    unit: str
    scale: float
    apply: Apply
    one_sided: bool = False
    most: float = math.inf


def brightness(source: Source, theta: float, out: Pixels) -> None:
    """Add ``theta`` grey levels to every pixel, clipped."""
    np.clip(source.picture + np.float32(theta), 0.0, WHITE, out=out)


def contrast(source: Source, theta: float, out: Pixels) -> None:
    """Multiply each pixel's distance from middle grey by ``1 + theta``, clipped."""
    np.clip(source.picture + (source.picture - np.float32(WHITE / 2)) * np.float32(theta), 0.0, WHITE, out=out)


def gamma(source: Source, theta: float, out: Pixels) -> None:
    """Raise each pixel, as a share of white, to the power of ``exp(theta)``."""
    if theta == 0.0:
        out[...] = source.picture
        return
    np.multiply(np.power(source.picture / np.float32(WHITE), np.float32(math.exp(theta))), np.float32(WHITE), out=out)


def hue(source: Source, theta: float, out: Pixels) -> None:
    """Turn each colour by ``theta`` radians about the axis of greys, clipped."""
    if theta == 0.0:
        out[...] = source.picture
        return
    cos, sin = math.cos(theta), math.sin(theta)
    cross = GREY_AXIS * np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], np.float64)
    turn = cos * np.eye(3) + sin * cross + (1 - cos) / 3.0
    np.clip(source.picture @ turn.T.astype(np.float32), 0.0, WHITE, out=out)


def rotation(source: Source, theta: float, out: Pixels) -> None:
    """Turn the picture by ``theta`` radians about its centre, bilinear, black outside."""
    cos, sin = math.cos(theta), math.sin(theta)
    source.sampler.resample(np.array([[cos, sin], [-sin, cos]]), (0.0, 0.0), out)


def translation(source: Source, theta: float, out: Pixels) -> None:
    """Move the picture sideways by ``theta`` of its width, bilinear, black outside."""
    source.sampler.resample(np.eye(2), (-theta * source.picture.shape[1], 0.0), out)


def zoom(source: Source, theta: float, out: Pixels) -> None:
    """Enlarge the picture about its centre by ``exp(theta)``, bilinear, black outside."""
    source.sampler.resample(np.eye(2) * math.exp(-theta), (0.0, 0.0), out)


def blur(source: Source, theta: float, out: Pixels) -> None:
    """Blur by a Gaussian of ``theta`` pixels of standard deviation, mirrored at the border."""
    if theta < 0.05:  # the neighbours' weight is below 1e-86 of the middle's: nothing in float32
        out[...] = source.picture
        return
    kernel = np.exp(-0.5 * (np.arange(-BLUR_REACH, BLUR_REACH + 1) / theta) ** 2)
    kernel /= kernel.sum()
    correlate1d(correlate1d(source.picture, kernel, axis=0), kernel, axis=1, output=out)


def bar(source: Source, theta: float, out: Pixels) -> None:
    """Cover the middle ``theta`` of the width with a black bar; a pixel that it covers in part is darkened in part."""
    width = source.picture.shape[1]
    edges = np.arange(width + 1) - width / 2
    reach = theta * width / 2
    covered = np.clip(np.minimum(edges[1:], reach) - np.maximum(edges[:-1], -reach), 0.0, 1.0)
    np.multiply(source.picture, (1.0 - covered).astype(np.float32)[None, :, None], out=out)


CHANGES = {
    change.name: change
    for change in (
        Change("brightness", "share of the range of grey levels", WHITE, brightness, most=1.0),
        Change("rotation", "degree", math.pi / 180.0, rotation, most=180.0),
        Change("contrast", "share", 1.0, contrast, most=1.0),
        Change("gamma", "logarithm of the exponent", 1.0, gamma, most=4.0),
        Change("hue", "degree", math.pi / 180.0, hue, most=180.0),
        Change("translation", "share of the width", 1.0, translation, most=1.0),
        Change("zoom", "logarithm of the scale", 1.0, zoom, most=4.0),
        Change("blur", "pixel of standard deviation", 1.0, blur, one_sided=True, most=MOST_BLUR),
        Change("bar", "share of the width", 1.0, bar, one_sided=True, most=1.0),
    )
}
"""Every change by its name."""
