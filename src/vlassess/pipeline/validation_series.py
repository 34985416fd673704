"""The work of one policy: a series of radii for each observation and family, from its first question to its records."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlassess.campaign import PolicyFacts, RegionItem, RegionRecord, Series, Witness, settled
from vlassess.campaign.asking import Answered, Rules
from vlassess.campaign.deciding import Ask, Decided, Region, decide, draw
from vlassess.campaign.events import Watcher
from vlassess.campaign.papers import Paper
from vlassess.pipeline.validation_driver import Errand, Work
from vlassess.pipeline.validation_facts import subject_of
from vlassess.pipeline.validation_observations import Named
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.records import RecordLog
from vlassess.robustness import Settings
from vlassess.robustness.perturbations import Box, Family, family
from vlassess_link.specs import PolicySpec


class Ledger:
    """Where records and certificates go.

    Attributes:
        campaign: Its folder.
        known: Item -> its last record.
        own: Item -> the record of its own run.
    """

    def __init__(self, campaign: CampaignDirectory, log: RecordLog[RegionRecord], watcher: Watcher) -> None:
        self.campaign = campaign
        self._log, self._watcher = log, watcher
        records = campaign.read()[0]
        self.known = {record.item_id: record for record in records}
        self.own = {record.item_id: record for record in records if record.how == "run"}

    def add(self, record: RegionRecord) -> None:
        """Put a record on disk."""
        self._log.append([record])
        first = record.item_id not in self.known
        self.known[record.item_id] = record
        if record.how == "run":
            self.own[record.item_id] = record
        self._watcher.record(record, first)


@dataclass(frozen=True)
class _Plot:
    """One series before its work begins: its regions, and the series whose counterexamples lie in them."""

    items: Sequence[RegionItem]
    boxes: Sequence[Box]
    family: Family
    inside: Mapping[str, Sequence[RegionItem]]
    terms: tuple[str, ...]
    ambiguous: tuple[str, ...]


@dataclass(frozen=True)
class PolicyWork:
    """All regions of one policy.

    Attributes:
        facts: What was asked before.
        spec: The policy's.
        rules: What has to hold.
        items: Its part of the plan.
        ledger: Where records go.
    """

    facts: PolicyFacts
    spec: PolicySpec
    rules: Rules
    items: Sequence[RegionItem]
    ledger: Ledger

    def errands(self, observations: Sequence[Named]) -> list[Errand]:
        """Return the work, those first whose counterexamples others can use."""
        config = self.ledger.campaign.manifest.config
        views = len(self.facts.views)
        made = []
        for named in observations:
            subject = subject_of(named, self.facts, self.spec, config)
            clean = np.array(self.facts.clean[named.id])
            specification, ambiguous = self.rules.of(clean)
            own = {
                grid.family: [
                    item for item in self.items if item.observation == named.id and item.family == grid.family
                ]
                for grid in config.families
            }
            for name, items in own.items():
                kind = family(name)
                inside = {other: own[other] for other in own if other != name and kind.contains(family(other))}
                boxes = [kind.box(item.radii, views) for item in items]
                plot = _Plot(items, boxes, kind, inside, specification.names, ambiguous)
                after = frozenset(f"{named.id} {other}" for other in inside)
                key = f"{named.id} {name}"
                made.append(Errand(key, self._follow(plot), subject, kind, specification, len(clean), after))
        return made

    def _follow(self, plot: _Plot) -> Work:
        """Decide a series, then write what follows from it; regions that have records are not asked again."""
        config, ledger = self.ledger.campaign.manifest.config, self.ledger
        series = Series(plot.items, plot.boxes, config.all_radii)
        if not config.all_radii:
            for witness in self._from_others(plot):
                series.refute(witness)
        while (item := series.next()) is not None:
            record = ledger.own.get(item.item_id)
            if record is None:
                region = self._region(plot, item)
                decided = yield from decide(region)
                self._paper(item, decided)
                record = decided.record
                ledger.add(record)
            series.learn(record)
        for found in settled(series, ledger.known.get):
            ledger.add((yield from self._drawn(plot, found)))

    def _drawn(self, plot: _Plot, record: RegionRecord) -> Generator[Ask, Answered, RegionRecord]:
        """Return a record with its random draws, where it has a counterexample from elsewhere."""
        config = self.ledger.campaign.manifest.config
        if record.verdict != "adversarial" or record.how == "run" or not config.draws:
            return record
        item = next(item for item in plot.items if item.item_id == record.item_id)
        violations = yield from draw(self._region(plot, item))
        return replace(record, draws=config.draws, violations=violations)

    def _from_others(self, plot: _Plot) -> list[Witness]:
        views = len(self.facts.views)
        found = []
        for name, items in plot.inside.items():
            for item in items:
                record = self.ledger.own.get(item.item_id)
                if record is not None and record.verdict == "adversarial":
                    theta = plot.family.embedded(np.array(record.theta), family(name), views)
                    if theta is not None:
                        found.append(Witness(tuple(theta.tolist()), item.item_id))
        return found

    def _region(self, plot: _Plot, item: RegionItem) -> Region:
        config = self.ledger.campaign.manifest.config
        box = plot.boxes[item.level]
        return Region(item, box, self._settings(), plot.terms, plot.ambiguous, config.draws, config.seed)

    def _settings(self) -> Settings:
        """Return the solver with the noise that was measured, where it is more than what the config says."""
        given = self.ledger.campaign.manifest.config.solver
        return given.model_copy(update={"noise": max(given.noise, self.facts.noise)})

    def _paper(self, item: RegionItem, decided: Decided) -> None:
        campaign = self.ledger.campaign
        paper = Paper(
            campaign=campaign.manifest.run_id,
            item=item,
            views=self.facts.views,
            quantised=self.facts.quantised,
            identity=self.facts.identity,
            tolerances=self.facts.tolerances,
            clean=self.facts.clean[item.observation],
            noise_seed=campaign.manifest.config.seed,
            run=decided.certificate,
        )
        paper.signed().write(campaign.path)
