"""From a campaign's plan and records to its numbers; nothing else is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlassess.campaign.items import CampaignManifest, PolicyFacts, RegionItem, RegionRecord
from vlassess.campaign.wording import claim, notes, radii_text, specification_text
from vlassess.robustness.perturbations import family
from vlassess.schema.validation import (
    Bracket,
    CostRow,
    DrawsRow,
    FamilySummary,
    PolicySummary,
    RadiusRow,
    ValidationSummary,
)
from vlassess.stats import clopper_pearson, mean, median, rate

VERDICTS = ("robust", "adversarial", "unknown")
DRAWS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)

Found = Mapping[str, RegionRecord]
"""Item id -> its last record."""


def summarise(
    manifest: CampaignManifest, items: Sequence[RegionItem], records: Sequence[RegionRecord]
) -> ValidationSummary:
    """Return a campaign's numbers, of what is finished so far."""
    found = {record.item_id: record for record in records}
    policies = tuple(
        _policy(label, facts, manifest, [item for item in items if item.policy == label], found)
        for label, facts in manifest.policies.items()
    )
    return ValidationSummary(
        run_id=manifest.run_id,
        regions=len(items),
        finished=sum(item.item_id in found for item in items),
        observations=len(manifest.observations),
        queries=sum(record.queries for record in found.values()),
        drawn=sum(record.draws for record in found.values()),
        specification=specification_text(manifest.config.specification),
        policies=policies,
    )


def _policy(
    label: str, facts: PolicyFacts, manifest: CampaignManifest, items: Sequence[RegionItem], found: Found
) -> PolicySummary:
    own = [found[item.item_id] for item in items if item.item_id in found]
    families = tuple(
        _family(grid.family, facts, manifest, [item for item in items if item.family == grid.family], found)
        for grid in manifest.config.families
    )
    return PolicySummary(
        label=label,
        name=str(facts.spec["identity"]["name"]),
        claim=claim(manifest.config.solver, facts),
        notes=notes(facts, own),
        families=families,
        costs=tuple(_cost(verdict, own) for verdict in VERDICTS),
        draws=_draws(own),
    )


def _family(
    name: str, facts: PolicyFacts, manifest: CampaignManifest, items: Sequence[RegionItem], found: Found
) -> FamilySummary:
    kind = family(name)
    levels = next(grid.radii for grid in manifest.config.families if grid.family == name)
    done = [(item, found[item.item_id]) for item in items if item.item_id in found]
    brackets = tuple(
        _bracket(about.id, about.source, [pair for pair in done if pair[0].observation == about.id])
        for about in manifest.observations
    )
    covers = [record.numbers["cover"] for _, record in done if record.verdict == "robust" and "cover" in record.numbers]
    return FamilySummary(
        family=name,
        unit=", ".join(part.change.unit for part in kind.parts),
        dimension=kind.dimension(len(facts.views)),
        cover=max(covers, default=None),
        rows=tuple(
            _row(name, radii, [record for item, record in done if item.level == level])
            for level, radii in enumerate(levels)
        ),
        brackets=brackets,
        median_robust_to=_middle([one.robust_to if one.robust_to is not None else 0.0 for one in brackets], 0.0),
        median_adversarial_from=_middle(
            [one.adversarial_from if one.adversarial_from is not None else BEYOND for one in brackets], BEYOND
        ),
        inherited=sum(record.how != "run" for _, record in done),
        withdrawn=sum(record.withdrawn for _, record in done),
    )


BEYOND = 1e300
"""Stands for a radius that is larger than any."""


def _middle(values: Sequence[float], nothing: float) -> float | None:
    """Return the lower median; None where it is ``nothing``."""
    if not values:
        return None
    middle = sorted(values)[(len(values) - 1) // 2]
    return None if middle == nothing else middle


def _row(name: str, radii: tuple[float, ...], records: Sequence[RegionRecord]) -> RadiusRow:
    robust, adversarial, unknown = (sum(record.verdict == verdict for record in records) for verdict in VERDICTS)
    decided, n = robust + adversarial, len(records)
    return RadiusRow(
        radii=radii,
        text=radii_text(name, radii),
        robust=robust,
        adversarial=adversarial,
        unknown=unknown,
        rate=rate(robust, decided),
        interval=clopper_pearson(robust, decided),
        low=robust / n if n else 0.0,
        high=(robust + unknown) / n if n else 1.0,
    )


def _bracket(observation: str, source: str, pairs: Sequence[tuple[RegionItem, RegionRecord]]) -> Bracket:
    by_verdict = {
        verdict: [item.radii[0] for item, record in pairs if record.verdict == verdict] for verdict in VERDICTS
    }
    return Bracket(
        observation=observation,
        source=source,
        robust_to=max(by_verdict["robust"], default=None),
        adversarial_from=min(by_verdict["adversarial"], default=None),
    )


def _cost(verdict: str, records: Sequence[RegionRecord]) -> CostRow:
    queries = [float(record.queries) for record in records if record.verdict == verdict and record.how == "run"]
    return CostRow(
        verdict=verdict,
        regions=len(queries),
        median=median(queries),
        mean=mean(queries),
        total=int(sum(queries)),
    )


def _draws(records: Sequence[RegionRecord]) -> tuple[DrawsRow, ...]:
    """Return what k draws would have said of every decided region.

    Of a region with m counterexamples among n draws, k of these without replacement miss all with probability
    C(n - m, k) / C(n, k), which is an unbiased estimate of (1 - p)^k.
    """
    drawn = [record for record in records if record.verdict == "adversarial" and record.draws]
    robust = sum(record.verdict == "robust" for record in records)
    most = min((record.draws for record in drawn), default=0)
    rows = []
    for k in (k for k in DRAWS if k <= most):
        wrong = sum(missed(record.draws, record.violations, k) for record in drawn)
        called = robust + wrong
        rows.append(
            DrawsRow(draws=k, called_robust=called, wrong=wrong, share_wrong=wrong / called if called else None)
        )
    return tuple(rows)


def missed(n: int, violations: int, k: int) -> float:
    """Return the chance that k of n draws, of which some are counterexamples, hold none of these."""
    chance = 1.0
    for i in range(k):
        left = n - violations - i
        if left <= 0:
            return 0.0
        chance *= left / (n - i)
    return chance
