"""What people read of cells beside their controls."""

from __future__ import annotations

from collections.abc import Iterator

from vlassess.report.findings import note, some, warning
from vlassess.report.text import one_line
from vlassess.schema.summary import CellResult, Notice, PolicySummary

MARKS = {"ok": "ok", "violated": "VIOLATED", "not witnessed": "not witnessed", "not audited": "not audited"}


def cell_notices(policy: PolicySummary) -> Iterator[Notice]:
    """Yield what a reader must know of a policy's cells: those that are invalid, and those that nobody saw."""
    for cell in policy.factors:
        audit = cell.audit
        if audit.verdict == "violated":
            reasons = "; ".join(one_line(reason, 300) for reason in audit.reasons)
            yield warning(
                "cell_violated",
                policy.label,
                f"The cell {one_line(cell.name)} is invalid, and its rate says nothing about {one_line(cell.axis)}: "
                f"{reasons}.",
            )
    unseen = [cell for cell in policy.factors if cell.audit.verdict in ("not witnessed", "not audited")]
    for reason in dict.fromkeys(cell.audit.reasons for cell in unseen):
        names = [one_line(cell.name) for cell in unseen if cell.audit.reasons == reason]
        yield warning(
            "cell_not_witnessed",
            policy.label,
            f"Whether the factor was delivered is not known of {some(len(names), 'cell')} ({', '.join(names[:5])}"
            f"{', ...' if len(names) > 5 else ''}): {'; '.join(one_line(one, 300) for one in reason)}.",
        )
    unpaired = [one_line(cell.name) for cell in policy.factors if not cell.paired]
    if unpaired:
        yield note(
            "cells_unpaired",
            policy.label,
            f"{', '.join(unpaired[:5])}{', ...' if len(unpaired) > 5 else ''}: the axis changes the start itself, so "
            "the gap is a difference of independent rates.",
        )


def audit_mark(cell: CellResult) -> str:
    """Return the audit's verdict as a table has it, with in how many pairs the factor shows."""
    audit = cell.audit
    seen = f" ({audit.changed}/{audit.pairs})" if audit.pairs else ""
    return MARKS[audit.verdict] + seen
