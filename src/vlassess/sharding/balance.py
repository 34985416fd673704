"""Whole numbers as alike as they can be: how many of each stratum's members each of several parts takes.

A stratum of s members gives every part s // count, and one more to s % count of them. Only these extras are to be
decided. First each stratum, in order, gives its extras to the parts that have the fewest of all, then of its levels;
so the parts' sizes never differ by more than 1. Then two parts exchange two strata's extras as long as that makes
the levels' shares more alike (it lowers the sum of their squares, so it ends). Integers and stable sorts alone decide,
hence every machine decides alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

CANDIDATES = 32
"""How many strata of each of two parts are weighed against each other; keeps 100 parts of 2,600 strata under 1 s."""


def shares(sizes: Sequence[int], strata: Sequence[Sequence[Hashable]], count: int) -> list[list[int]]:
    """Return how many members of each stratum each part takes: a row a stratum, ``count`` columns.

    Args:
        sizes: Members of each stratum; there is at least one.
        strata: The level of each factor that a stratum belongs to; all of one length.
        count: How many parts, at least 1.
    """
    rows = _numbered(strata)
    each = np.array([size // count for size in sizes], dtype=np.int64)
    extras = _greedy(rows, [size % count for size in sizes], count)
    loads = _loads(rows, extras)
    while _exchange(rows, extras, loads):
        pass
    taken: list[list[int]] = (each[:, None] + extras).tolist()
    return taken


def _numbered(strata: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """Return (strata, factors): every level of every factor as one number, so that one table holds all loads."""
    numbers: dict[tuple[int, Hashable], int] = {}
    rows = [[numbers.setdefault(level, len(numbers)) for level in enumerate(stratum)] for stratum in strata]
    return np.array(rows, dtype=np.int64)


def _greedy(rows: np.ndarray, rests: Sequence[int], count: int) -> np.ndarray:
    """Return (strata, parts) of bool: who takes an extra."""
    extras = np.zeros((len(rows), count), dtype=bool)
    loads = np.zeros((int(rows.max(initial=-1)) + 1, count), dtype=np.int64)
    sizes = np.zeros(count, dtype=np.int64)
    for row, levels, rest in zip(extras, rows, rests, strict=True):
        chosen = np.lexsort((loads[levels].sum(axis=0), sizes))[:rest]
        row[chosen] = True
        sizes[chosen] += 1
        loads[np.ix_(levels, chosen)] += 1
    return extras


def _loads(rows: np.ndarray, extras: np.ndarray) -> np.ndarray:
    """Return (levels, parts): the extras that a part has of a level."""
    loads = np.zeros((int(rows.max(initial=-1)) + 1, extras.shape[1]), dtype=np.int64)
    for factor in rows.T:
        np.add.at(loads, factor, extras)
    return loads


def _exchange(rows: np.ndarray, extras: np.ndarray, loads: np.ndarray) -> bool:
    """Make the best exchange of every two parts in place; returns whether there was one."""
    changed = False
    for one, other in combinations(range(extras.shape[1]), 2):
        pair = _best_pair(rows, extras, loads, one, other)
        if pair is None:
            continue
        given, taken = pair
        for stratum, source, target in ((given, one, other), (taken, other, one)):
            extras[stratum, [source, target]] = False, True
            loads[rows[stratum], source] -= 1
            loads[rows[stratum], target] += 1
        changed = True
    return changed


def _best_pair(rows: np.ndarray, extras: np.ndarray, loads: np.ndarray, one: int, other: int) -> tuple[int, int] | None:
    """Return the strata whose extras ``one`` and ``other`` best exchange; None where that makes nothing more alike."""
    surplus = (loads[:, one] - loads[:, other])[rows]
    gains = surplus.sum(axis=1)
    mine = np.flatnonzero(extras[:, one] & ~extras[:, other])
    theirs = np.flatnonzero(extras[:, other] & ~extras[:, one])
    mine = mine[np.argsort(-gains[mine], kind="stable")][:CANDIDATES]
    theirs = theirs[np.argsort(gains[theirs], kind="stable")][:CANDIDATES]
    if not len(mine) or not len(theirs):
        return None
    # What both strata have in common stays as it is; moving one extra of a level changes its squares by 2 - 2 surplus.
    differ = rows[mine][:, None] != rows[theirs][None]
    gain = ((surplus[mine][:, None] - surplus[theirs][None] - 2) * differ).sum(axis=2)
    best = int(gain.argmax())
    if gain.flat[best] <= 0:
        return None
    return int(mine[best // len(theirs)]), int(theirs[best % len(theirs)])
