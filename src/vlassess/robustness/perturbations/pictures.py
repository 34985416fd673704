"""What every perturbation is given and gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vlassess_link.errors import ContractError

Pixels = npt.NDArray[np.float32]
"""(height, width, 3) RGB on [0, 255]."""
WHITE = 255.0


def pixels(image: np.ndarray, name: str = "the image") -> Pixels:
    """Return a picture as float32 on [0, 255].

    Raises:
        ContractError: it is no (height, width, 3) of uint8 or float32.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype not in (np.uint8, np.float32):
        raise ContractError(
            f"{name} is {image.dtype} of shape {image.shape}; a picture is (height, width, 3), uint8 or float32 on "
            "[0, 255]"
        )
    return np.ascontiguousarray(image, np.float32)


def quantised(images: Pixels) -> npt.NDArray[np.uint8]:
    """Return pictures rounded to whole grey levels, for policies that take nothing else."""
    return np.rint(images).astype(np.uint8)
