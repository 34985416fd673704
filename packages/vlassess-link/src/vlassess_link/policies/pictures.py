"""Images at the size that a policy wants."""

from __future__ import annotations

import numpy as np

from vlassess_link.errors import ObservationError
from vlassess_link.wire.images import pillow


def resize_with_pad(image: np.ndarray, height: int, width: int, what: str) -> np.ndarray:
    """Return the image scaled to fit, in the middle of black borders: uint8, (height, width, 3).

    As openpi's clients do it: Pillow's bilinear filter, sizes rounded down.

    Args:
        image: (H, W, 3), uint8.
        height: In pixels.
        width: In pixels.
        what: For the error.

    Raises:
        ObservationError: it is not uint8, or Pillow is not installed.
    """
    if image.dtype != np.uint8:
        raise ObservationError(
            f"{what} is {image.dtype}; only uint8 images are resized: let the benchmark render {height}x{width}"
        )
    library = pillow()
    if library is None:
        raise ObservationError(
            f"{what} is {image.shape[0]}x{image.shape[1]} and must be {height}x{width}, which needs Pillow: "
            "pip install 'vlassess-link[images]'"
        )
    ratio = max(image.shape[1] / width, image.shape[0] / height)
    inner = (int(image.shape[1] / ratio), int(image.shape[0] / ratio))
    scaled = library.fromarray(image).resize(inner, resample=library.BILINEAR)
    whole = library.new(scaled.mode, (width, height), 0)
    whole.paste(scaled, (max(0, int((width - inner[0]) / 2)), max(0, int((height - inner[1]) / 2))))
    return np.asarray(whole)
