"""What a policy server counts, as the text that Prometheus reads."""

from __future__ import annotations

import bisect
import threading
from typing import Dict, List, Mapping, Sequence, Tuple

SIZES = (1, 2, 4, 8, 16, 32, 64)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

COUNTERS: Mapping[str, Tuple[str, str]] = {
    "predictions": ("Observations answered with actions.", ""),
    "failures": ("Observations that the policy failed to answer.", ""),
    "episodes": ("Episodes begun.", ""),
    "dropped": ("Clients dropped, by reason.", "reason"),
    "refused": ("Connections refused for a missing or wrong token.", ""),
}
"""Name -> (help, the label that it is split by)."""

HISTOGRAMS: Mapping[str, Tuple[str, Sequence[float]]] = {
    "batch_size": ("Observations in one call of the model.", SIZES),
    "inference_seconds": ("Seconds that one call of the model took.", SECONDS),
    "wait_seconds": ("Seconds from an observation's arrival to its answer.", SECONDS),
}
"""Name -> (help, upper bounds of its buckets)."""

PREFIX = "vlassess_"


class _Histogram:
    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts: List[int] = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value


class Metrics:
    """Counters and histograms of one server; any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Dict[Tuple[str, str], int] = {}
        self._histograms = {name: _Histogram(bounds) for name, (_, bounds) in HISTOGRAMS.items()}

    def count(self, name: str, label: str = "", by: int = 1) -> None:
        """Add to a counter of `COUNTERS`; ``label`` is the value of its label where it has one."""
        with self._lock:
            self._add(name, label, by)

    def observe(self, name: str, value: float) -> None:
        """Add a value to a histogram of `HISTOGRAMS`."""
        with self._lock:
            self._histograms[name].add(value)

    def answered(self, seconds: float, waits: Sequence[float], failed: int) -> None:
        """Count one call of the model.

        Args:
            seconds: That it took.
            waits: Seconds from each of its observations' arrival to its answer.
            failed: How many of them the model failed to answer.
        """
        with self._lock:
            self._histograms["batch_size"].add(len(waits))
            self._histograms["inference_seconds"].add(seconds)
            for wait in waits:
                self._histograms["wait_seconds"].add(wait)
            self._add("predictions", "", len(waits) - failed)
            self._add("failures", "", failed)

    def value(self, name: str, label: str = "") -> int:
        """Return a counter's value."""
        with self._lock:
            return self._counts.get((name, label), 0)

    def text(self, gauges: Mapping[str, Tuple[str, float]]) -> str:
        """Return everything in Prometheus' text format.

        Args:
            gauges: Name -> (help, value now).
        """
        lines: List[str] = []
        for name, (about, value) in gauges.items():
            lines += [*_head(name, about, "gauge"), f"{PREFIX}{name} {value:g}"]
        with self._lock:
            for name, (about, label) in COUNTERS.items():
                lines += [*_head(f"{name}_total", about, "counter"), *self._counter(name, label)]
            for name, (about, _) in HISTOGRAMS.items():
                lines += [*_head(name, about, "histogram"), *_buckets(name, self._histograms[name])]
        return "\n".join(lines) + "\n"

    def _add(self, name: str, label: str, by: int) -> None:
        self._counts[name, label] = self._counts.get((name, label), 0) + by

    def _counter(self, name: str, label: str) -> List[str]:
        if not label:
            return [f"{PREFIX}{name}_total {self._counts.get((name, ''), 0)}"]
        found = sorted((value, count) for (own, value), count in self._counts.items() if own == name)
        return [f'{PREFIX}{name}_total{{{label}="{value}"}} {count}' for value, count in found]


def _head(name: str, about: str, kind: str) -> Tuple[str, str]:
    return f"# HELP {PREFIX}{name} {about}", f"# TYPE {PREFIX}{name} {kind}"


def _buckets(name: str, histogram: _Histogram) -> List[str]:
    lines, below = [], 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts):
        below += count
        edge = "+Inf" if bound == float("inf") else f"{bound:g}"
        lines.append(f'{PREFIX}{name}_bucket{{le="{edge}"}} {below}')
    return [*lines, f"{PREFIX}{name}_sum {histogram.total:.9g}", f"{PREFIX}{name}_count {below}"]
