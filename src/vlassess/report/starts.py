"""Checks of the starts: different where they should be, equal where they should be, not solved already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from vlassess.report.findings import Findings, name_tasks, some, warning
from vlassess.schema.summary import Notice

TOLERANCE = 1e-6
"""By how much a component of one start may differ between two episodes of the same pair key and cell."""


def identical_starts(findings: Findings) -> Iterator[Notice]:
    """Warn of tasks whose different indices began in the same initial state."""
    digests: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for entry in findings.entries:
        record, episode = entry.record, entry.item.episode
        if record is not None and record.state_digest:
            cell = str(sorted(episode.perturbation.items()))
            digests[episode.suite, episode.task, cell][episode.index] = record.state_digest
    several = {key: found for key, found in digests.items() if len(found) > 1}
    identical = [key for key, found in several.items() if len(set(found.values())) == 1]
    repeated = [key for key, found in several.items() if 1 < len(set(found.values())) < len(found)]
    if identical:
        yield warning(
            "identical_starts",
            None,
            f"All initial states are identical in {name_tasks(identical)}: its episodes repeat one start, so the "
            "intervals say nothing about other starts.",
        )
    if repeated:
        yield warning(
            "repeated_starts",
            None,
            f"Some initial states occur more than once in {name_tasks(repeated)}: there are fewer different starts "
            "than episodes.",
        )


def unequal_starts(findings: Findings) -> Iterator[Notice]:
    """Warn of starts that were to be the same for all policies and repeats, and were not."""
    starts: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for entry in findings.entries:
        record = entry.record
        if record is not None and record.initial_state:
            key = record.pair_key, str(sorted(record.perturbation.items()))
            starts[key].append(dict(record.initial_state))
            names[key] = record.suite, record.task
    unequal = [key for key, found in starts.items() if any(_differ(found[0], other) for other in found[1:])]
    if unequal:
        yield warning(
            "unequal_starts",
            None,
            f"{some(len(unequal), 'start')} differed between episodes that were to share it, in "
            f"{name_tasks([names[key] for key in unequal])}: the benchmark's reset is not a function of the episode, "
            "so nothing here is paired.",
        )


def _differ(one: dict[str, object], other: dict[str, object]) -> bool:
    if one.keys() != other.keys():
        return True
    pairs = [(np.asarray(one[name], float), np.asarray(other[name], float)) for name in one]
    return any(a.shape != b.shape or not np.allclose(a, b, rtol=0.0, atol=TOLERANCE) for a, b in pairs)


def success_at_first_step(findings: Findings) -> Iterator[Notice]:
    """Warn of successes on the first step."""
    for policy in findings.policies:
        records = [r for r in findings.counting(policy.label) if r.outcome and r.outcome.success_step == 1]
        if records:
            names = name_tasks([(record.suite, record.task) for record in records])
            yield warning(
                "success_at_first_step",
                policy.label,
                f"{some(len(records), 'episode')} succeeded on the first step in {names}: the task may be solved at "
                "reset.",
            )
