"""What of two episodes can be compared, and in what they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vlassess.audit.members import Member, Pair
from vlassess.schema.cells import key_of
from vlassess_link.specs import CAMERA

STATE, EXTRA, SIMULATOR, START = "state:", "extra:", "simulator:", "start:"
INSTRUCTION = "instruction"
TOLERANCE = 1e-6
"""Largest difference of one number of the measured initial state, as for pairs; what is delivered must be equal in
every bit."""


def parts_of(member: Member) -> dict[str, Any]:
    """Return everything of an episode that can be compared: name of the component -> value."""
    given = member.delivered
    start = dict(given.start)
    said = (start.pop("instruction", None), given.instructions[:1])  # later ones depend on the course
    return {
        **{f"{CAMERA}{name}": digest for name, digest in given.images.items()},
        **{f"{STATE}{name}": digest for name, digest in given.state.items()},
        **{f"{EXTRA}{name}": digest for name, digest in given.extras.items()},
        INSTRUCTION: said,
        **{f"{START}{name}": text for name, text in start.items()},
        **{f"{SIMULATOR}{name}": values for name, values in member.record.initial_state.items()},
    }


def differing(pair: Pair) -> dict[str, bool]:
    """Return, for each component that can be compared, whether the two differ in it."""
    return _differing(pair.cell, pair.control, pair.one_host)


def unrepeatable(members: Sequence[Member]) -> frozenset[str]:
    """Return the components in which repeats of one start in one cell differ: no factor is needed for that."""
    alike: dict[object, list[Member]] = defaultdict(list)
    for member in members:
        alike[member.episode.pair_key, key_of(member.episode.perturbation), member.record.host].append(member)
    return frozenset(
        name
        for group in alike.values()
        for other in group[1:]
        for name, differs in _differing(group[0], other, True).items()
        if differs
    )


def touched_name(component: str) -> str:
    """Return a component as an axis's touched set names it."""
    for begin in (STATE, SIMULATOR, EXTRA):
        if component.startswith(begin):
            return component[len(begin) :]
    return component


def spoken(component: str) -> str:
    """Return a component as a sentence has it."""
    kinds = {
        CAMERA: "the image of camera {!r}",
        STATE: "the delivered state {!r}",
        EXTRA: "the delivered extra {!r}",
        SIMULATOR: "the simulator's initial {!r}",
        START: "the {!r} that it was told at the start",
    }
    for begin, words in kinds.items():
        if component.startswith(begin):
            return words.format(component[len(begin) :])
    return "the instruction"


def _differing(one: Member, other: Member, pictures: bool) -> dict[str, bool]:
    a, b = parts_of(one), parts_of(other)
    names = [name for name in dict.fromkeys((*a, *b)) if pictures or not name.startswith(CAMERA)]
    return {name: _differ(name, a, b) for name in names}


def _differ(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    if name not in a or name not in b:
        return True
    if a[name] == b[name]:
        return False
    return not (name.startswith(SIMULATOR) and _close(a[name], b[name]))


def _close(a: Iterable[float], b: Iterable[float]) -> bool:
    one, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=0.0, atol=TOLERANCE, equal_nan=True))
