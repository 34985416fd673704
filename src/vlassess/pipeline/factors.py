"""Every cell of a run beside its control: the gap, what may be said of it, and whether the factor was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from vlassess.audit import Arrays, Circumstances, audit_cell, by_cell, members_of, named_arrays, pairs_of, with_sizes
from vlassess.pipeline.arms import trial_of
from vlassess.pipeline.grounded import with_grounding
from vlassess.plan import planned_cells
from vlassess.report import summarise
from vlassess.report.cells import cell_notices
from vlassess.report.counting import counts, rate_of
from vlassess.report.text import one_line
from vlassess.schema.arms import Arm
from vlassess.schema.attempts import Entry, entries
from vlassess.schema.cells import CellKey, PlannedCell, key_of
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import CellAudit, CellResult, Summary
from vlassess_link.conventions.layouts import state_parts
from vlassess_link.data import EpisodeRecord
from vlassess_link.jsonable import from_json
from vlassess_link.specs import BenchmarkSpec, PolicySpec

ALPHA = 0.05
"""Chance of a false alarm over a policy's cells where the config fixes none."""
SHOWN_PAIRS = 20
"""Of how many pairs of a cell that is not right the kept observations are read."""


def summary_of(
    items: Sequence[WorkItem],
    records: Iterable[EpisodeRecord],
    manifest: RunManifest,
    folder: Path | None = None,
    answers: Mapping[str, str] | None = None,
) -> Summary:
    """Return every number of a run, its cells' gaps and audits included.

    Args:
        items: The plan, in its order.
        records: Every attempt, in the order of the file.
        manifest: What ``run.json`` says.
        folder: The run directory, where kept observations are read from; None: there is none.
        answers: Item id -> what a policy said without a robot; None: what the run directory has.
    """
    kept = tuple(records)
    every = entries(items, kept)
    summary = with_grounding(summarise(items, kept, manifest), every, folder, answers)
    spec = from_json(BenchmarkSpec, manifest.benchmark_spec)
    cells = planned_cells(manifest.config, spec) if manifest.config.cells else ()
    if not cells:
        return summary
    policies = []
    for policy in summary.policies:
        own = [entry for entry in every if one_line(entry.item.policy) == policy.label]
        one = _One(spec, own, manifest, folder)
        factors = _results([cell for cell in cells if cell.key in one.cells], one)
        policies.append(policy.model_copy(update={"factors": factors}))
    told = [notice for policy in policies for notice in cell_notices(policy)]
    found = sorted((*summary.notices, *told), key=lambda notice: notice.severity != "warning")
    return summary.model_copy(update={"policies": tuple(policies), "notices": tuple(found)})


class _One:
    """One policy of a run.

    Attributes:
        cells: Its episodes by their cells.
    """

    def __init__(
        self, spec: BenchmarkSpec, entries: Sequence[Entry], manifest: RunManifest, folder: Path | None
    ) -> None:
        self.spec = spec
        self.entries = entries
        self.manifest = manifest
        self.folder = folder
        self.cells: dict[CellKey, list[Entry]] = {}
        for entry in entries:
            self.cells.setdefault(key_of(entry.item.episode.perturbation), []).append(entry)


def _results(cells: Sequence[PlannedCell], one: _One) -> tuple[CellResult, ...]:
    # statsmodels takes a third of a second to import, and only runs with cells need it.
    from vlassess.comparison.factors import adjusted, gap_of, verdict_of

    declared = one.manifest.config.comparison
    alpha = ALPHA if declared is None else declared.alpha
    arm = Arm("", "", tuple(trial_of(entry) for entry in one.entries))
    members = members_of((entry.item.item_id, entry.item.episode, entry.record) for entry in one.entries)
    around = Circumstances(one.spec, by_cell(members))
    audits = [_sized(audit_cell(cell, around), cell, around, one) for cell in cells]
    gaps = [gap_of(cell, arm, one.spec, alpha) for cell in cells]
    invalid = [audit.verdict == "violated" for audit in audits]
    p_values = adjusted([None if bad else gap for gap, bad in zip(gaps, invalid, strict=True)])
    return tuple(
        CellResult(
            name=cell.name,
            axis=cell.axis,
            level=cell.level,
            within=dict(cell.within),
            control=cell.control_name,
            paired=gap.paired,
            rate=rate_of(counts(one.cells[cell.key])),
            control_rate=rate_of(counts(one.cells.get(cell.control_key, []))),
            n=gap.effect.n_a,
            gap=gap.effect.difference,
            interval=gap.effect.interval,
            method=gap.effect.method,
            p_value=gap.effect.p_value,
            test=gap.effect.test,
            adjusted_p=p_value,
            verdict="invalid" if audit.verdict == "violated" else verdict_of(gap, p_value, alpha),
            alpha=alpha,
            dropped=gap.dropped,
            audit=audit,
        )
        for cell, gap, audit, p_value in zip(cells, gaps, audits, p_values, strict=True)
    )


def _sized(audit: CellAudit, cell: PlannedCell, around: Circumstances, one: _One) -> CellAudit:
    """Return an audit that found something with the sizes of the differences, where observations were kept."""
    if audit.verdict == "ok" or one.folder is None:
        return audit
    policy = one.entries[0].item.policy
    told = one.manifest.policy_specs.get(policy)
    parts = () if told is None else state_parts(from_json(PolicySpec, told), one.spec)
    cameras = [camera.name for camera in one.spec.cameras]
    read = []
    for pair in pairs_of(cell, around.members)[:SHOWN_PAIRS]:
        files = [one.folder / "artifacts" / member.item_id / "inputs.npz" for member in pair]
        if all(file.is_file() for file in files):
            sides = [named_arrays(_arrays(file), parts, cameras) for file in files]
            read.append((sides[0], sides[1]))
    return with_sizes(audit, read)


def _arrays(file: Path) -> Arrays:
    # numpy leaves a file that it cannot read open.
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
        return {name: found[name] for name in found.files if name.startswith("0_")}
