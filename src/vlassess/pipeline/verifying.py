"""A certificate of a campaign, checked: its form, its verdict by an independent checker, every query asked again."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlassess.campaign import CampaignConfig
from vlassess.campaign.asking import Rules, attempted, judged
from vlassess.campaign.papers import Paper, form_problems, read_paper
from vlassess.catalog import Catalog
from vlassess.pipeline.validation_driver import BATCH
from vlassess.pipeline.validation_facts import subject_of
from vlassess.pipeline.validation_lanes import Lanes, opened
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.robustness.checker import check, replay
from vlassess.robustness.perturbations import family
from vlassess.robustness.specifications import Floats
from vlassess.schema.config import PolicySource
from vlassess_link.errors import ContractError


@dataclass(frozen=True)
class Verification:
    """What became of a certificate.

    Attributes:
        verdict: What it says.
        queries: How many it holds.
        asked: How many were asked again.
        problems: What is wrong, in sentences; none if it holds.
        conditional_on: What a robust verdict rests on.
    """

    verdict: str
    queries: int
    asked: int
    problems: tuple[str, ...]
    conditional_on: tuple[str, ...]


def verify(path: Path, policy: PolicySource | None, catalog: Catalog) -> Verification:
    """Check a certificate; the policy is asked again wherever it was asked before.

    Args:
        path: A file in ``certificates/`` of a campaign's folder.
        policy: Where the policy is now; None: as the campaign says.
        catalog: What names stand for.

    Raises:
        PaperError: it is no certificate.
        RunDirectoryError: the campaign's folder is not around it.
        VlassessError: the policy cannot be reached.
    """
    paper = read_paper(path)
    verdict = paper.run.verdict
    told = "unfinished" if verdict is None else verdict.kind
    conditions = tuple(getattr(verdict, "conditional_on", ()))
    problems = tuple(dict.fromkeys([*form_problems(paper), *check(paper.run)]))
    asked = 0
    if not problems:
        campaign = CampaignDirectory.open(path.absolute().parent.parent)
        problems, asked = _again(paper, campaign, policy, catalog)
    return Verification(told, len(paper.run.values), asked, problems, conditions)


def _again(
    paper: Paper, campaign: CampaignDirectory, policy: PolicySource | None, catalog: Catalog
) -> tuple[tuple[str, ...], int]:
    label = paper.item.policy
    config = campaign.manifest.config
    only = config.model_copy(update={"policies": {label: policy or config.policies[label]}})
    problems = list(_foreign(paper, campaign))
    if problems:
        return tuple(problems), 0
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlassess-verify-")))
        lanes = stack.enter_context(opened(only, catalog, logs, lambda text: None))[label]
        if lanes.spec.identity.digest != paper.identity:
            raise ContractError(
                f"the policy is {lanes.spec.identity.name!r} with another identity than the one that was validated: "
                "name the same one with --policy"
            )
        evaluate = _Evaluation(paper, campaign, lanes, config)
        replayed = replay(paper.run, evaluate, BATCH)
        problems += _alone(paper, evaluate)
    if replayed.differing:
        first = replayed.differing[0]
        problems.append(
            f"the policy answers {len(replayed.differing)} of {replayed.asked} queries otherwise than the certificate "
            f"says, by up to {replayed.largest:.3g}; the first is query {first}"
        )
    return tuple(problems), replayed.asked


class _Evaluation:
    """The objective's terms at places of the unit box."""

    def __init__(self, paper: Paper, campaign: CampaignDirectory, lanes: Lanes, config: CampaignConfig) -> None:
        facts = campaign.manifest.policies[paper.item.policy]
        named = next(one for one in campaign.observations() if one.id == paper.item.observation)
        self._subject = subject_of(named, facts, lanes.spec, config)
        self._rules = Rules.read(config.specification, lanes.spec.action, paper.tolerances)
        self._specification, _ = self._rules.of(np.array(paper.clean))
        self._size = len(paper.clean)
        self._family = family(paper.item.family)
        self._box = self._family.box(paper.item.radii, len(paper.views))
        self._lanes, self._seed = lanes, paper.noise_seed

    def __call__(self, places: Floats) -> Floats:
        """Return (n, T)."""
        asked = self._subject.perturbed(self._family, self._box.parameters(places))
        found = attempted(lambda some: self._lanes.ask(some, self._seed), self._rules, asked)
        return judged(found, self._specification, self._size).terms


def _alone(paper: Paper, evaluate: _Evaluation) -> list[str]:
    """Ask for a counterexample once more, in a query of its own."""
    witness = getattr(paper.run.verdict, "witness", None)
    if witness is None:
        return []
    value = float(evaluate(np.array([witness])).min())
    return [] if value < 0 else [f"the counterexample has the value {value:.3g} when it is asked alone: it is none"]


def _foreign(paper: Paper, campaign: CampaignDirectory) -> list[str]:
    """Return why a certificate is not of this campaign."""
    manifest, item = campaign.manifest, paper.item
    known = {one.item_id: one for one in campaign.items()}
    if paper.campaign != manifest.run_id or known.get(item.item_id) != item:
        return [f"the region is not one of {manifest.run_id}, in whose folder the certificate lies"]
    facts = manifest.policies[item.policy]
    same = (
        paper.clean == facts.clean[item.observation]
        and paper.tolerances == facts.tolerances
        and paper.noise_seed == manifest.config.seed
        and (paper.views, paper.quantised) == (facts.views, facts.quantised)
    )
    return [] if same else ["what the certificate says of policy and specification is not what the campaign says"]
