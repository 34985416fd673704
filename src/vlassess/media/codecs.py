"""Which encoders are used for what. One thread each: the same pictures give the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vlassess_link.errors import VlassessError


class EncodeError(VlassessError):
    """Pictures cannot be written."""


@dataclass(frozen=True)
class Codec:
    """An encoder and how it is used.

    Attributes:
        name: As FFmpeg calls it.
        pixels: Pixel format that it is given.
        options: Of the encoder.
        exact: What is decoded is what was encoded, bit for bit.
    """

    name: str
    pixels: str
    options: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False


LOSSLESS: Sequence[Codec] = (
    Codec("libx264rgb", "rgb24", {"qp": "0", "preset": "ultrafast", "threads": "1"}, exact=True),
    Codec("ffv1", "bgr0", {"level": "3", "threads": "1"}, exact=True),
)
"""Every pixel comes back as it was."""

COMPACT: Sequence[Codec] = (
    Codec("libx264", "yuv420p", {"preset": "veryfast", "crf": "18", "g": "2", "bf": "0", "threads": "1"}),
    Codec("libsvtav1", "yuv420p", {"preset": "8", "crf": "24", "g": "2", "svtav1-params": "lp=1"}),
)
"""Small, decoded everywhere, and quick to enter at any frame: every second one is whole, and none waits for a later
one."""


def chosen(codecs: Sequence[Codec]) -> Codec:
    """Return the first that this PyAV has.

    Raises:
        EncodeError: it has none of them.
    """
    import av

    for codec in codecs:
        if codec.name in av.codecs_available:
            return codec
    names = ", ".join(codec.name for codec in codecs)
    raise EncodeError(f"PyAV has none of the encoders {names}: install its wheel, pip install av")
