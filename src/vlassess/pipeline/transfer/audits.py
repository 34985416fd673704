"""What the audit says of a study's cells: whether the factor, and nothing else, reached the policy."""

from __future__ import annotations

from collections.abc import Iterable

from vlassess.pipeline.factors import summary_of
from vlassess.pipeline.transfer.states import PartState
from vlassess.pipeline.transfer.store import Study
from vlassess.schema.transfer import AuditLine

VIOLATED = "violated"
"""Verdict of a cell that is invalid: it is in no finding."""


def audits_of(study: Study, states: Iterable[PartState]) -> tuple[AuditLine, ...]:
    """Return what the audit says of every cell that has been run."""
    found = []
    for state in states:
        if state.run is None:
            continue
        if state.config.cells:
            summary = summary_of(state.items, state.run.records().records, state.run.manifest, state.run.path)
            found += [
                AuditLine(policy.label, cell.name, cell.audit.verdict, "; ".join(cell.audit.reasons))
                for policy in summary.policies
                for cell in policy.factors
            ]
        elif state.part.role == "cells":
            found += [
                AuditLine(label, cell.name, "cannot be audited", f"{cell.suite} is a suite, no factor of the benchmark")
                for label in state.config.policies
                for cell in study.design.cells
                if cell.suite is not None
            ]
    return tuple(found)
