"""What reached a policy when its episode began, small enough to stand in every record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Tuple

NAMED_DIGITS = 20
"""Hex digits of each digest: 80 bits, as ids have."""


@dataclass(frozen=True)
class Delivered:
    """Texts and digests of what a policy really got: after every conversion, and without what its dialect leaves out.

    Attributes:
        start: What it was told as the episode began, name -> text; its opaque id and its noise seed are left out.
            Empty for a policy that is not told of starts.
        instructions: The different instructions of its observations, in their order; at most the first few.
        images: Camera -> digest of the first observation's image.
        state: Component -> digest of the first observation's numbers, as the benchmark names components.
        extras: Name -> digest of the first observation's further arrays.
    """

    start: Mapping[str, str] = field(default_factory=dict)
    instructions: Tuple[str, ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, str] = field(default_factory=dict)
