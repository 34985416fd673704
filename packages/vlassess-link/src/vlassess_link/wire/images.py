"""PNG and JPEG on the wire: an image's size is known and bounded before one pixel of it is decoded.

Peers that encode say the array's shape beside the bytes. A picture whose own header says another size, or
another kind of pixel, is refused unread, so a few bytes can never become gigabytes.

Needs Pillow, the extra ``images``; whoever sends and receives raw arrays alone does without.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, List

import numpy as np

from vlassess_link.errors import ContractError, DecodeError, EncodeError

FORMATS = ("raw", "png", "jpeg")
"""How a sender can put images: as they are, losslessly smaller, or smaller with a loss."""
MAX_PIXELS = 2**26
"""Most pixels of one encoded image: 8192 x 8192."""
JPEG_QUALITY = 95
"""That of vla-eval, so that a JPEG from here is no worse than one from there."""

_INSTALL = "Pillow is missing: pip install 'vlassess-link[images]'"
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, EOFError, struct.error, zlib.error, OverflowError, LookupError)


def require_format(form: str) -> str:
    """Return ``form`` if images can be sent so here.

    Raises:
        ContractError: it is none of `FORMATS`, or Pillow is missing.
    """
    if form not in FORMATS:
        raise ContractError(f"images is {form!r}; it must be one of {', '.join(FORMATS)}")
    if form != "raw" and pillow() is None:
        raise ContractError(f"images is {form!r}: {_INSTALL}")
    return form


def is_image(value: Any) -> bool:
    """Return whether an array is what peers encode as a picture: uint8, (H, W, 1, 3 or 4), not empty."""
    return value.ndim == 3 and value.dtype == np.uint8 and value.shape[2] in _MODES and value.size > 0


def encode(image: np.ndarray, form: str, path: str) -> bytes:
    """Return an image (see `is_image`) as a PNG or JPEG file.

    Raises:
        EncodeError: JPEG of an image with 4 channels, a picture too large, or no Pillow.
    """
    library = pillow()
    if library is None:
        raise EncodeError(
            f"{path} cannot be sent as {form.upper()} without Pillow: pip install 'vlassess-link[images]'"
        )
    if form == "jpeg" and image.shape[2] == 4:
        raise EncodeError(f"{path} has 4 channels, which JPEG cannot hold: send it as png or raw")
    if image.shape[0] * image.shape[1] > MAX_PIXELS:
        raise EncodeError(f"{path} has the shape {image.shape}; encoded images have at most {MAX_PIXELS} pixels")
    file = io.BytesIO()
    plain = np.ascontiguousarray(image if image.shape[2] > 1 else image[:, :, 0])
    options = {"quality": JPEG_QUALITY} if form == "jpeg" else {}
    try:
        library.fromarray(plain).save(file, form.upper(), **options)
    except (OSError, ValueError) as error:
        raise EncodeError(f"{path} of shape {image.shape} cannot be sent as {form.upper()}: {error}") from None
    return file.getvalue()


def decode(data: bytes, form: str, shape: List[int], path: str) -> np.ndarray:
    """Return the pixels of an encoded image, uint8 and read-only.

    Args:
        data: A PNG or JPEG file.
        form: Which of the two.
        shape: As its sender declared, (H, W, C).
        path: Of the leaf, for the error.

    Raises:
        DecodeError: no such file, another size or kind of pixel than declared, too large, or no Pillow.
    """
    library = pillow()
    if library is None:
        raise DecodeError(
            f"{path} is a {form.upper()} image, which cannot be read: {_INSTALL}, or let the sender use raw images"
        )
    if len(shape) != 3 or shape[2] not in _MODES or not 0 < shape[0] * shape[1] <= MAX_PIXELS:
        raise DecodeError(
            f"{path} is a {form.upper()} image of shape {shape}; it must be (H, W, 1, 3 or 4) with at most "
            f"{MAX_PIXELS} pixels"
        )
    height, width, mode = shape[0], shape[1], _MODES[shape[2]]
    try:
        picture = library.open(io.BytesIO(data), formats=(form.upper(),))
        found = (picture.size[1], picture.size[0], picture.mode)
        if found != (height, width, mode):
            raise DecodeError(
                f"{path} is a {form.upper()} image of {found[0]}x{found[1]} {found[2]}; its sender declared "
                f"{height}x{width} {mode}"
            )
        pixels = np.asarray(picture)
    except (*_BROKEN, library.DecompressionBombError) as error:
        reason = type(error).__name__ if "BytesIO" in str(error) else str(error)
        raise DecodeError(f"{path} is no {form.upper()} image: {reason}") from None
    if pixels.dtype != np.uint8 or pixels.size != height * width * shape[2]:
        raise DecodeError(
            f"{path} is a {form.upper()} image of {pixels.dtype} {pixels.shape}; declared was {shape} of uint8"
        )
    pixels = pixels.reshape(shape)
    pixels.flags.writeable = False
    return pixels


def pillow() -> Any:
    """Return Pillow's module of images, None where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image
