"""Why a run on disk is not continued: it would mix two experiments."""

from __future__ import annotations

from collections.abc import Sequence

from vlassess.pipeline.sameness import Difference, conduct, differences, planned_changes
from vlassess.plan import plan_hash
from vlassess.schema.config import RunConfig
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess_link.errors import VlassessError


class ResumeRefusedError(VlassessError):
    """The run on disk and what was asked for are not the same experiment."""


def refuse_other_plan(
    manifest: RunManifest, planned: Sequence[WorkItem], wanted: Sequence[WorkItem], config: RunConfig
) -> None:
    """Refuse to mix two experiments in one run directory; needs neither side to have been started.

    Raises:
        ResumeRefusedError: the plans differ, or how their episodes are run; shows in what.
    """
    if plan_hash(wanted) == manifest.plan_hash and conduct(config) == conduct(manifest.config):
        return
    before, after = {item.item_id for item in planned}, {item.item_id for item in wanted}
    changed = Difference("the plan", tuple(planned_changes(manifest.config, config)))
    raise ResumeRefusedError(
        f"the plan changed since {manifest.run_id} was begun ({len(before - after)} of its items are no longer "
        f"planned, {len(after - before)} are new): {changed.text(' -> ') or 'the benchmark declares other tasks'}. "
        "Take the old config, or start a new run"
    )


def refuse_other_experiment(begun: RunManifest, now: RunManifest) -> None:
    """Refuse to go on with other sides than a run was begun with.

    Args:
        begun: What the run says of itself.
        now: What it would say if it began now.

    Raises:
        ResumeRefusedError: the benchmark, an interpreter, a policy or a conversion differs; shows the first in full.
    """
    for found in differences(begun, now):
        raise ResumeRefusedError(
            f"{found.subject} is not what {begun.run_id} was begun with ({found.text(' -> ')}). "
            f"{found.old.capitalize()}, or start a new run"
        )
