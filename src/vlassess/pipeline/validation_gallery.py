"""Counterexamples for the report: the clean picture, the perturbed one, and what changed in the answer."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from vlassess.campaign import CampaignManifest, PolicyFacts, RegionItem, RegionRecord, radii_text, theta_text
from vlassess.campaign.asking import Subject
from vlassess.media import png
from vlassess.pipeline.validation_facts import subject_of
from vlassess.pipeline.validation_observations import Named
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.robustness.perturbations import family
from vlassess.robustness.specifications import ActionRules
from vlassess.schema.validation import Example, ValidationSummary
from vlassess_link.jsonable import from_json
from vlassess_link.specs import PolicySpec

SHOWN = 12
"""Most counterexamples a policy in a report."""
GAP = 4


def with_gallery(
    summary: ValidationSummary,
    campaign: CampaignDirectory,
    items: Sequence[RegionItem],
    records: Sequence[RegionRecord],
) -> ValidationSummary:
    """Return the summary with the counterexamples of the smallest regions of each family, spread over observations."""
    manifest = campaign.manifest
    named = {one.id: one for one in campaign.observations()}
    latest = {record.item_id: record for record in records}
    policies = []
    for policy in summary.policies:
        own = [
            (item, latest[item.item_id])
            for item in items
            if item.policy == policy.label
            and item.item_id in latest
            and latest[item.item_id].verdict == "adversarial"
            and latest[item.item_id].answer
        ]
        facts = manifest.policies[policy.label]
        examples = [_example(manifest, facts, item, record, named[item.observation]) for item, record in _chosen(own)]
        policies.append(policy.model_copy(update={"gallery": tuple(examples)}))
    return summary.model_copy(update={"policies": tuple(policies)})


def _chosen(pairs: Sequence[tuple[RegionItem, RegionRecord]]) -> list[tuple[RegionItem, RegionRecord]]:
    """Return the smallest refuted region of each family and observation, families in turn."""
    smallest: dict[tuple[str, str], tuple[RegionItem, RegionRecord]] = {}
    for item, record in sorted(pairs, key=lambda pair: pair[0].level):
        smallest.setdefault((item.family, item.observation), (item, record))
    families = list(dict.fromkeys(name for name, _ in smallest))
    queues = [[pair for (name, _), pair in smallest.items() if name == wanted] for wanted in families]
    longest = max((len(queue) for queue in queues), default=0)
    return [queue[i] for i in range(longest) for queue in queues if i < len(queue)][:SHOWN]


def _example(
    manifest: CampaignManifest, facts: PolicyFacts, item: RegionItem, record: RegionRecord, named: Named
) -> Example:
    spec = from_json(PolicySpec, facts.spec)
    subject = subject_of(named, facts, spec, manifest.config)
    return Example(
        item_id=item.item_id,
        observation=item.observation,
        title=f"{named.source}: {item.family} within {radii_text(item.family, item.radii)}, counterexample at "
        f"{theta_text(item.family, facts.views, record.theta)}",
        clean=_picture([subject.observation.images[view] for view in subject.views]),
        perturbed=_picture(_perturbed(subject, item, record)),
        changes=changes(facts, spec, manifest, item, record),
    )


def _perturbed(subject: Subject, item: RegionItem, record: RegionRecord) -> list[np.ndarray]:
    return [pictures[0] for pictures in subject.pictures(family(item.family), np.array([record.theta]))]


def changes(
    facts: PolicyFacts, spec: PolicySpec, manifest: CampaignManifest, item: RegionItem, record: RegionRecord
) -> tuple[str, ...]:
    """Return what changed in the answer, a sentence for each part of it."""
    clean, now = np.array(facts.clean[item.observation]), np.array(record.answer)
    asked = manifest.config.specification
    if asked.kind == "answers" or spec.action is None:
        return (f"answer {int(clean.argmax())} became {int(now.argmax())}",)
    rules = ActionRules.read(spec.action, facts.tolerances, asked.index, asked.gripper_floor)
    told = []
    for part in rules.distances:
        apart = float(np.linalg.norm(now[part.place] - clean[part.place]))
        mark = " (too far)" if apart > part.tolerance else ""
        told.append(f"{part.name} moved by {apart:.3g}, of which {part.tolerance:.3g} is allowed{mark}")
    for gripper in rules.grippers:
        told.append(f"{gripper.name}: {clean[gripper.place]:.3g} became {now[gripper.place]:.3g}")
    return tuple(told)


def _picture(views: Sequence[np.ndarray]) -> str:
    height = max(view.shape[0] for view in views)
    width = sum(view.shape[1] for view in views) + GAP * (len(views) - 1)
    whole = np.zeros((height, width, 3), np.uint8)
    left = 0
    for view in views:
        whole[: view.shape[0], left : left + view.shape[1]] = np.rint(view).astype(np.uint8)
        left += view.shape[1] + GAP
    return base64.b64encode(png(whole)).decode()
