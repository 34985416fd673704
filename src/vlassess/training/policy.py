"""The policy's own script, loaded by its target as a run loads it: training never imports it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vlassess.training.places import SCRIPT
from vlassess_link.loading import load_class
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer

BUCKETS, LENGTH = 32, 32


def open_policy(weights: Path, horizon: int = 5) -> InProcessPolicy:
    """Return the policy with these weights, in this process.

    Raises:
        VlassessError: the file holds no weights of mini-vla.
    """
    return InProcessPolicy(_class()(weights=str(weights), horizon=horizon))


def vocabulary(texts: Iterable[str], length: int = LENGTH) -> Any:
    """Return the policy's own `Words` with every word of these texts, and buckets for all others.

    Args:
        texts: What a training says.
        length: Words of an instruction that are read.
    """
    module = sys.modules[_class().__module__]
    known = sorted({word for text in texts for word in module.WORD.findall(text.lower())})
    return module.Words(tuple(known), BUCKETS, length)


def stored_words(stored: Mapping[str, Any]) -> Any:
    """Return the `Words` that an exported file holds."""
    module = sys.modules[_class().__module__]
    return module.Words(tuple(stored["known"]), stored["buckets"], stored["length"])


def _class() -> Any:
    return load_class(f"{SCRIPT}:MiniVla", PredictModelServer)
