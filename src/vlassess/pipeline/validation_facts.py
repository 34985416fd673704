"""What is asked of a policy before its first region: whether it answers twice alike, and what its clean answers are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vlassess.campaign import CampaignConfig, PolicyFacts
from vlassess.campaign.asking import Query, Rules, Subject, attempted, judged
from vlassess.datasets.lerobot.reading import LeRobotReader
from vlassess.pipeline.validation_driver import BATCH
from vlassess.pipeline.validation_lanes import Lanes
from vlassess.pipeline.validation_observations import Named, fitted
from vlassess.robustness.perturbations import family
from vlassess.robustness.specifications import Floats, Specification, step_tolerances
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json
from vlassess_link.specs import PolicySpec

CHECKED = 5
"""Observations that are asked again."""
MOST_NOISE = 0.05
"""How far two answers to one question may lie apart, in the objective's units, of which the clean answer has 1."""


def views_of(spec: PolicySpec, named: Named, config: CampaignConfig) -> tuple[str, ...]:
    """Return the cameras that are perturbed: all that the policy looks at."""
    return tuple(fitted(named, spec, config.observations.cameras).images)


def rounds(spec: PolicySpec) -> bool:
    """Return whether a policy takes whole grey levels only."""
    return "float32" not in spec.image_dtypes


def subject_of(named: Named, facts: PolicyFacts, spec: PolicySpec, config: CampaignConfig) -> Subject:
    """Return an observation ready to be perturbed for a policy."""
    return Subject(fitted(named, spec, config.observations.cameras), facts.views, facts.quantised)


def tolerances_of(config: CampaignConfig, spec: PolicySpec) -> dict[str, float]:
    """Return the tolerances that are given, or that demonstrations show; empty for answers."""
    asked = config.specification
    if asked.kind == "answers":
        return {}
    given = asked.given_tolerances
    if given is not None:
        return dict(given)
    if spec.action is None:
        raise ContractError("the policy does not declare its action, so demonstrations cannot be compared with it")
    assert asked.demonstrations is not None
    reader = LeRobotReader(asked.demonstrations)
    return step_tolerances(spec.action, [reader.arrays(i)["action"] for i in range(len(reader))], asked.percentile)


def facts_of(label: str, lanes: Lanes, observations: Sequence[Named], config: CampaignConfig) -> PolicyFacts:
    """Ask a policy for its clean answers, and some questions twice, alone and in a batch.

    Raises:
        ContractError: it answers one question in two ways that differ by more than `MOST_NOISE`, or what has to hold
            does not fit its answers.
        ObservationsError: an observation does not fit it.
    """
    spec = lanes.spec
    tolerances = tolerances_of(config, spec)
    rules = Rules.read(config.specification, spec.action, tolerances)
    views = views_of(spec, observations[0], config)
    subjects = [Subject(fitted(one, spec, config.observations.cameras), views, rounds(spec)) for one in observations]
    query = partial(lanes.ask, noise_seed=config.seed)
    clean = [_clean(label, query, rules, subject, named) for subject, named in zip(subjects, observations, strict=True)]
    noise = _noise(label, query, rules, subjects[:CHECKED], clean[:CHECKED], config)
    return PolicyFacts(
        spec=to_json(spec),
        identity=spec.identity.digest,
        views=views,
        quantised=rounds(spec),
        stateless=lanes.stateless,
        tolerances=tolerances,
        noise=noise,
        clean={one.id: tuple(answer.tolist()) for one, answer in zip(observations, clean, strict=True)},
    )


def _clean(label: str, query: Query, rules: Rules, subject: Subject, named: Named) -> Floats:
    """Return the clean answer; refuse a policy that has none."""
    (found,) = attempted(query, rules, [subject.observation])
    fault = found if isinstance(found, str) else "" if np.isfinite(found).all() else f"its answer is {found.tolist()}"
    if fault or isinstance(found, str):
        raise ContractError(
            f"policy {label!r} has no valid answer to the clean observation {named.source!r}: {fault}; mend the "
            "policy, or leave that observation out"
        )
    return found


def _noise(
    label: str, query: Query, rules: Rules, subjects: Sequence[Subject], clean: Sequence[Floats], config: CampaignConfig
) -> float:
    """Return twice the largest difference between two answers to one question; refuse a policy that draws lots."""
    grid = config.families[0]
    kind = family(grid.family)
    box = kind.box(grid.radii[0], len(subjects[0].views))
    probes = [subject.perturbed(kind, box.parameters(np.full((1, len(box.low)), 0.75)))[0] for subject in subjects]
    asked = [*(subject.observation for subject in subjects), *probes]
    specifications = [(rules.of(answer)[0], len(answer)) for answer in clean] * 2
    alone = [attempted(query, rules, [obs])[0] for obs in asked]
    # In another order: what alternates would answer the same to the same order.
    again = [attempted(query, rules, [obs])[0] for obs in asked[::-1]][::-1]
    together = attempted(query, rules, (asked * BATCH)[:BATCH])
    twice = _apart(specifications, alone, again)
    if twice > MOST_NOISE:
        raise ContractError(
            f"policy {label!r} answers the same question in two ways that differ by {twice:.3g} in the objective, of "
            f"which {MOST_NOISE:g} is allowed: let its noise follow from the noise seed alone, then validate it"
        )
    batched = _apart(specifications, alone, together[: len(asked)])
    if batched > MOST_NOISE:
        raise ContractError(
            f"policy {label!r} answers a question otherwise in a batch of {BATCH} than alone, by {batched:.3g} in the "
            f"objective, of which {MOST_NOISE:g} is allowed: let no row of a batch depend on its neighbours"
        )
    return 2.0 * max(twice, batched)


def _apart(
    specifications: Sequence[tuple[Specification, int]], one: Sequence[Floats | str], other: Sequence[Floats | str]
) -> float:
    """Return by how much the terms of two answers to one question differ at most; no answer is one, too."""
    differences = [
        float(np.abs(judged([a], spec, size).terms - judged([b], spec, size).terms).max())
        for (spec, size), a, b in zip(specifications, one, other, strict=False)
    ]
    return max(differences, default=0.0)
