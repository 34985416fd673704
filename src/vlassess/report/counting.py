"""What a group of items came to."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from vlassess.report.text import one_line
from vlassess.schema.attempts import Entry
from vlassess.schema.summary import Counts, Mean, Rate, Spread
from vlassess.stats import Interval, clopper_pearson, error_bounds, mean, median, rate, wilson
from vlassess_link.data import EpisodeRecord

CONFIDENCE = 0.95
"""Level of every interval in a summary."""


def counts(group: Sequence[Entry]) -> Counts:
    """Return how many of the group ended how."""
    ends = Counter("missing" if entry.record is None else entry.record.counts_as for entry in group)
    origins = Counter(entry.record.error.origin for entry in group if entry.record and entry.record.error)
    return Counts(
        planned=len(group),
        success=ends["success"],
        failure=ends["failure"],
        policy_error=origins["policy"],
        benchmark_error=origins["benchmark"],
        infrastructure_error=origins["infrastructure"],
        missing=ends["missing"],
    )


def rate_of(found: Counts) -> Rate:
    """Return the success rate of counts, with intervals and bounds."""
    n = found.scored
    bounds = error_bounds(found.success, found.failure, found.error)
    return Rate(
        n=n,
        value=rate(found.success, n),
        clopper_pearson=clopper_pearson(found.success, n, CONFIDENCE),
        wilson=wilson(found.success, n, CONFIDENCE),
        errors_fail=bounds.low if bounds else None,
        errors_succeed=bounds.high if bounds else None,
    )


def mean_of(values: Iterable[float]) -> Mean:
    """Return the mean of the finite values; a benchmark may report a metric that is not finite."""
    finite = [float(value) for value in values if math.isfinite(value)]
    return Mean(n=len(finite), value=mean(finite))


def spread_of(values: Sequence[float]) -> Spread:
    """Return mean and median of the values."""
    return Spread(n=len(values), mean=mean(values), median=median(values))


def seconds_of(group: Iterable[Entry]) -> dict[str, float]:
    """Return wall seconds by phase, summed over every attempt of the group."""
    spent: dict[str, list[float]] = defaultdict(list)
    for entry in group:
        for record in entry.attempts:
            for phase, seconds in record.seconds.items():
                spent[one_line(phase)].append(seconds)
    return {phase: math.fsum(values) for phase, values in spent.items()}


def span_of(record: EpisodeRecord) -> Interval | None:
    """Return when an attempt ran, in seconds of Unix time; None where its start is not known."""
    try:
        # Python 3.10 does not read the Z of UTC.
        start = datetime.fromisoformat(record.started.replace("Z", "+00:00"))
    except ValueError:
        return None
    began = (start if start.tzinfo else start.replace(tzinfo=timezone.utc)).timestamp()
    return Interval(began, began + record.seconds.get("total", 0.0))
