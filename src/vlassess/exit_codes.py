"""What a run's numbers mean for its exit code."""

from __future__ import annotations

from vlassess.schema.config import Gates
from vlassess.schema.summary import Summary

COMPLETE, INCOMPLETE, GATE_FAILED, INVALID, INTERRUPTED = 0, 3, 4, 5, 130


def exit_code(
    summary: Summary, gates: Gates, interrupted: bool, gave_up: str | None, decided: bool = False
) -> tuple[int, tuple[str, ...]]:
    """Return the exit code and the sentences that explain it.

    A run that its stopping rule has ended is as it should be: what it did not run is no reason.

    130 interrupted; 5 a cell is invalid: its factor was not delivered, or not alone; 3 incomplete, errors left that are
    not the policy's, or every episode of a policy a policy error; 4 a gate failed; 0 otherwise.
    """
    counts = summary.counts
    reasons = [gave_up] if gave_up is not None else []
    if counts.error and not decided:
        reasons.append(
            f"{counts.benchmark_error} benchmark and {counts.infrastructure_error} infrastructure errors are left "
            f"after all attempts; resume to try them again"
        )
    if counts.missing and not decided:
        reasons.append(f"{counts.missing} of {counts.planned} episodes are missing; resume to run them")
    reasons += [
        f"every episode of policy {policy.label!r} ended in the policy's own error"
        for policy in summary.policies
        if policy.counts.planned and policy.counts.policy_error == policy.counts.planned
    ]
    invalid = _invalid_cells(summary)
    if interrupted and not counts.complete:
        return INTERRUPTED, (*invalid, *reasons)
    if invalid:
        return INVALID, (*invalid, *reasons)
    if reasons:
        return INCOMPLETE, tuple(reasons)
    failed = _failed_gates(summary, gates)
    return (GATE_FAILED, failed) if failed else (COMPLETE, ())


def _invalid_cells(summary: Summary) -> tuple[str, ...]:
    return tuple(
        f"cell {cell.name} of policy {policy.label!r} is invalid: {'; '.join(cell.audit.reasons)}"
        for policy in summary.policies
        for cell in policy.factors
        if cell.audit.verdict == "violated"
    )


def _failed_gates(summary: Summary, gates: Gates) -> tuple[str, ...]:
    least = gates.min_success
    if least is None:
        return ()
    return tuple(
        f"policy {policy.label!r} has a success rate of {policy.overall.rate.value:.3f}, below the gate of {least:g}"
        for policy in summary.policies
        if policy.overall.rate.value is not None and policy.overall.rate.value < least
    )
