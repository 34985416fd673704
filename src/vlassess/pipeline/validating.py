"""A validation campaign from its config or its folder to its report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from vlassess.campaign import CampaignConfig, make_plan, plan_hash, summarise
from vlassess.campaign.asking import Rules
from vlassess.campaign.events import Watcher
from vlassess.catalog import Catalog
from vlassess.execution import StopSwitch, stop_on_signals
from vlassess.pipeline.validation_driver import Driver
from vlassess.pipeline.validation_facts import facts_of
from vlassess.pipeline.validation_gallery import with_gallery
from vlassess.pipeline.validation_lanes import Lanes, opened
from vlassess.pipeline.validation_observations import Named, read_observations
from vlassess.pipeline.validation_series import Ledger, PolicyWork
from vlassess.pipeline.validation_store import CampaignDirectory, manifest_of
from vlassess.report.validation_page import write_validation
from vlassess.schema.validation import ValidationSummary
from vlassess_link.errors import ContractError

INTERRUPTED, INCOMPLETE = 130, 3


@dataclass(frozen=True)
class Validated:
    """What a campaign came to.

    Attributes:
        folder: Where everything is.
        summary: Its numbers.
        interrupted: It was asked to stop before it was complete.
        exit_code: 0 complete, 3 incomplete, 130 interrupted.
    """

    folder: Path
    summary: ValidationSummary
    interrupted: bool
    exit_code: int


def start_campaign(
    config: CampaignConfig, catalog: Catalog, watcher: Watcher, stop: StopSwitch | None = None
) -> Validated:
    """Run a campaign in a new folder.

    Raises:
        VlassessError: nothing was run, and why: observations, policy and specification do not fit, or a policy
            cannot be reached or does not answer the same question alike.
    """
    switch = stop or StopSwitch()
    observations = read_observations(config)
    items = make_plan(config, [one.id for one in observations])
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-validate-")))
        lanes = stack.enter_context(opened(config, catalog, logs, watcher.note))
        facts = {label: facts_of(label, one, observations, config) for label, one in lanes.items()}
        manifest = manifest_of(config, observations, facts, items)
        campaign = CampaignDirectory.create(_free(config.output, manifest.run_id), manifest, items)
        campaign.keep(observations)
        stack.enter_context(stop_on_signals(switch))
        stack.enter_context(campaign.lock())
        watcher.planned(campaign.path, len(items), 0)
        finished = _work(campaign, observations, lanes, watcher, switch)
    return conclude(campaign, finished)


def resume_campaign(folder: Path, catalog: Catalog, watcher: Watcher, stop: StopSwitch | None = None) -> Validated:
    """Decide what a campaign still lacks: its plan minus the regions that have a record.

    Raises:
        ContractError: a policy is no longer the same.
        VlassessError: as `start_campaign`.
    """
    switch = stop or StopSwitch()
    campaign = CampaignDirectory.open(folder)
    config = campaign.manifest.config
    with ExitStack() as stack:
        left = stack.enter_context(campaign.lock())
        if left is not None:
            watcher.note(left)
        items = campaign.items()
        if plan_hash(items) != campaign.manifest.plan_hash:
            raise ContractError(f"{folder}: the plan is not the one that the campaign began with")
        known = campaign.latest()
        watcher.planned(campaign.path, len(items), sum(item.item_id in known for item in items))
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-validate-")))
        lanes = stack.enter_context(opened(config, catalog, logs, watcher.note))
        for label, one in lanes.items():
            if one.spec.identity.digest != campaign.manifest.policies[label].identity:
                raise ContractError(
                    f"policy {label!r} is no longer the one that the campaign began with: serve the old one, or start "
                    "a new campaign"
                )
        stack.enter_context(stop_on_signals(switch))
        finished = _work(campaign, campaign.observations(), lanes, watcher, switch)
    return conclude(campaign, finished)


def conclude(campaign: CampaignDirectory, finished: bool) -> Validated:
    """Write the report and say what the campaign came to."""
    summary = summary_of(campaign)
    write_validation(campaign.path / "report.html", summary)
    complete = summary.complete and finished
    return Validated(
        campaign.path, summary, not finished, 0 if complete else INTERRUPTED if not finished else INCOMPLETE
    )


def summary_of(campaign: CampaignDirectory) -> ValidationSummary:
    """Compute a campaign's numbers from its files alone."""
    items, records = campaign.items(), campaign.read()[0]
    return with_gallery(summarise(campaign.manifest, items, records), campaign, items, records)


def _work(
    campaign: CampaignDirectory,
    observations: Sequence[Named],
    lanes: Mapping[str, Lanes],
    watcher: Watcher,
    switch: StopSwitch,
) -> bool:
    """Decide what is undecided; return False where it was asked to stop before the end."""
    items, config = campaign.items(), campaign.manifest.config
    with closing(campaign.log()) as log:
        ledger = Ledger(campaign, log, watcher)
        for label, facts in campaign.manifest.policies.items():
            rules = Rules.read(config.specification, lanes[label].spec.action, facts.tolerances)
            own = [item for item in items if item.policy == label]
            errands = PolicyWork(facts, lanes[label].spec, rules, own, ledger).errands(observations)
            if not Driver(lanes[label], rules, config.seed, switch, watcher.asked).run(errands):
                return False
    return True


def _free(output: Path, name: str) -> Path:
    """Return a folder that does not exist yet; two campaigns of one second differ by a number."""
    path, number = output / name, 2
    while path.exists():
        path, number = output / f"{name}-{number}", number + 1
    return path
