"""Where the time went: of each policy's attempts, and of all workers together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vlassess.report.counting import span_of
from vlassess.report.text import one_line
from vlassess.schema.summary import PolicySummary
from vlassess.stats import Interval, covered_length
from vlassess_link.data import EpisodeRecord

NAMES = {
    "step": "simulation",
    "reset": "reset",
    "render": "rendering",
    "inference": "inference",
    "artifact": "recording",
    "load": "loading",
    "connect": "connecting",
}
"""Phase of a record -> what people call it."""
OTHER, WAITING = "other", "waiting"


class Share(NamedTuple):
    """Wall time of one kind: seconds, and its share of the whole in percent."""

    name: str
    seconds: float
    share: float


def policy_budget(policy: PolicySummary) -> list[Share]:
    """Return the time of each phase over all attempts of a policy, longest first; what no phase claims is "other"."""
    spent: Counter[str] = Counter()
    for group in (policy.overall, *(policy.cells if policy.basis == "control" else ())):
        spent.update(group.seconds)
    return _shares(spent, 0.0)


def time_budget(records: Iterable[EpisodeRecord]) -> list[Share]:
    """Return the time of all workers: the phases of their attempts, and what they waited between these.

    A worker waits from its first attempt to its last, while it has none: for an episode, a policy, a new start. The
    pauses between a stop and its resume are in nobody's time.
    """
    spent: Counter[str] = Counter()
    spans: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    for record in records:
        spent.update({one_line(phase): seconds for phase, seconds in record.seconds.items()})
        span = span_of(record)
        if span is not None:
            spans[record.host, record.worker].append(span)
    return _shares(spent, _waited(spans))


def _waited(spans: Mapping[tuple[str, str], list[Interval]]) -> float:
    everybody = [span for own in spans.values() for span in own]
    waited = 0.0
    for own in spans.values():
        first, last = min(span.low for span in own), max(span.high for span in own)
        running = [
            Interval(max(first, span.low), min(last, span.high))
            for span in everybody
            if span.high > first and span.low < last
        ]
        waited += max(0.0, covered_length(running) - covered_length(own))
    return waited


def _shares(spent: Mapping[str, float], waited: float) -> list[Share]:
    phases = {phase: seconds for phase, seconds in spent.items() if phase != "total"}
    attempts = max(spent.get("total", 0.0), sum(phases.values()))
    if not attempts:
        return []
    named = {NAMES.get(phase, phase): seconds for phase, seconds in phases.items()}
    named[OTHER] = attempts - sum(phases.values())
    if waited:
        named[WAITING] = waited
    whole = attempts + waited
    return [Share(name, took, 100 * took / whole) for name, took in sorted(named.items(), key=lambda x: -x[1])]
