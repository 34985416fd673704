"""Content hashes: equal values hash equally on every machine, Python and order of keys.

Canonical JSON (sorted keys, no blanks, no NaN, UTF-8) under SHA-256. Python's own ``hash`` is
salted per process and is never used for anything that is stored.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Mapping

import numpy as np

ID_LENGTH = 20
"""Hex digits of an id: 80 bits, so a million ids collide with probability below 1e-12."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of ``value``.

    Raises:
        ValueError: ``value`` holds NaN or an infinity.
        TypeError: ``value`` holds something that JSON has no type for.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(value: Any) -> str:
    """Return the SHA-256 hex digest (64 digits) of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def content_id(value: Any) -> str:
    """Return the first `ID_LENGTH` hex digits of `content_hash`."""
    return content_hash(value)[:ID_LENGTH]


class ArrayDigest:
    """A running SHA-256 over named arrays: name, dtype, shape and bytes all count."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, name: str, array: np.ndarray) -> None:
        """Add one array, of any shape and dtype but object."""
        whole = np.ascontiguousarray(array)
        self._hash.update(f"{name}|{whole.dtype.str}|{array.shape}|".encode("utf-8", "surrogatepass"))
        self._hash.update(whole.data.cast("B") if whole.size else b"")

    def update_text(self, name: str, text: str) -> None:
        """Add one named text."""
        self._hash.update(f"{name}|text|{len(text)}|{text}".encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        """Return the digest so far."""
        return self._hash.hexdigest()


def arrays_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the digest of named arrays, whatever the order of the names."""
    digest = ArrayDigest()
    for name in sorted(arrays):
        digest.update(name, arrays[name])
    return digest.hexdigest()
