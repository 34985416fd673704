"""Where every random number of an episode comes from.

An episode's seed depends on ``(base_seed, pair_key)`` alone: never on perturbation, cell, policy, shard
or order, so a control and its cell, and two policies, share their start. It is spawned into named
streams, so that drawing more numbers for one factor never shifts another.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

from vlassess_link.errors import ContractError

STREAMS: Tuple[str, ...] = (
    "layout",
    "appearance",
    "distractors",
    "camera",
    "language",
    "content",
    "dynamics",
    "disturbance",
)
"""The named streams of an episode. Append only: the position is part of the seed."""


def episode_seed(base_seed: int, pair_key: str) -> int:
    """Return the seed (0 to 2**63 - 1) of every episode with this pair key (hex digits)."""
    return _draw([base_seed, int(pair_key, 16)])


def policy_seed(base_seed: int, pair_key: str, repeat: int) -> int:
    """Return the policy's noise seed (0 to 2**63 - 1) for one repeat of a start."""
    return _draw([base_seed, int(pair_key, 16), repeat, 1])


def stream(seed: int, name: str) -> np.random.Generator:
    """Return a fresh generator of one named stream of an episode's seed.

    Raises:
        ContractError: no stream has this name.
    """
    if name not in STREAMS:
        raise ContractError(f"no seed stream is called {name!r}; the streams are {', '.join(STREAMS)}")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name),)))


def noise(seed: int, step: int) -> np.random.Generator:
    """Return the generator of a policy's noise at one step: it depends on (seed, step) alone."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step,)))


def latency_noise(seed: int, step: int) -> np.random.Generator:
    """Return the generator of an answer's modelled latency: of (seed, step) alone, and never the policy's noise."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step, 1)))


def _draw(entropy: list[int]) -> int:
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))
