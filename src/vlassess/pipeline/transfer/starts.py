"""Which start each simulated trial began at: the plan's keys say what was meant, the measured states prove it.

The rule is that of comparisons: two trials share a start if their keys match and their measured initial states agree
in every component that neither of their cells may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vlassess.comparison.pairing import DIFFERS, compare_states
from vlassess.schema.attempts import Entry
from vlassess_link.specs import BenchmarkSpec


@dataclass(frozen=True)
class _Began:
    """One finished episode: its id, its measured state, and what its cell may change of it."""

    item_id: str
    state: Mapping[str, Any]
    free: frozenset[str]


def refuted_starts(found: Iterable[Entry], spec: BenchmarkSpec) -> dict[str, str]:
    """Return, by item id, the key of the start of each episode that did not begin where the others of its key did.

    Of several states that were measured under one key, the most frequent one keeps it; episodes that agree in another
    share another key; one that agrees with several is of the most frequent of them. An episode whose state nobody
    measured has a key of its own. Episodes of an axis that changes the start itself are compared among themselves.
    Those without a result are left out.

    Args:
        found: Every episode of the study.
        spec: Says what each axis may change.
    """
    unpaired = {axis.name for axis in spec.axes if axis.control == "unpaired"}
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[_Began]] = {}
    for entry in found:
        if entry.record is None or entry.record.counts_as not in ("success", "failure"):
            continue
        episode = entry.item.episode
        moved = tuple(sorted((axis, level) for axis, level in episode.perturbation.items() if axis in unpaired))
        began = _Began(entry.item.item_id, entry.record.initial_state, _free(episode.perturbation, spec))
        groups.setdefault((episode.pair_key, moved), []).append(began)
    told: dict[str, str] = {}
    for (key, _), group in groups.items():
        told.update(_refuted(key, group))
    return told


def _refuted(key: str, group: Iterable[_Began]) -> dict[str, str]:
    # Those that may change least first: each other one is then compared in as much as possible.
    clusters: list[list[_Began]] = []
    told: dict[str, str] = {}
    for began in sorted(group, key=lambda one: len(one.free)):
        if not began.state:
            told[began.item_id] = f"{key}~{began.item_id}"
            continue
        own = [cluster for cluster in clusters if _agree(cluster[0], began)]
        if own:
            max(own, key=len).append(began)
        else:
            clusters.append([began])
    for number, cluster in enumerate(sorted(clusters, key=len, reverse=True)[1:], 1):
        told.update({began.item_id: f"{key}~{number}" for began in cluster})
    return told


def _agree(a: _Began, b: _Began) -> bool:
    verdict = compare_states(a.state, b.state, a.free | b.free)
    # An axis that may change every component leaves none to disagree in.
    return not (verdict.refuted and verdict.reason == DIFFERS)


def _free(perturbation: Mapping[str, str], spec: BenchmarkSpec) -> frozenset[str]:
    cameras = [camera.name for camera in spec.cameras]
    touched = [axis.may_change(cameras, perturbation[axis.name]) for axis in spec.axes if axis.name in perturbation]
    return frozenset().union(*touched)
