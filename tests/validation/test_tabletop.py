"""mini-vla on forty observations of the tabletop at the published radii: takes a quarter of an hour or more."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from vlassess.campaign import BUNDLED_CAMPAIGNS, PATHS, CampaignConfig
from vlassess.campaign.asking import Rules
from vlassess.campaign.events import SilentWatcher
from vlassess.catalog import Catalog
from vlassess.config import load_model
from vlassess.pipeline.validating import start_campaign
from vlassess.pipeline.validation_facts import subject_of
from vlassess.pipeline.validation_lanes import opened
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.robustness.perturbations import family

pytestmark = [
    pytest.mark.skipif("VLASSESS_VALIDATION" not in os.environ, reason="takes long: run `make test-validation`"),
    pytest.mark.timeout(7200),
]
DRAWS = 64


def test_the_published_grid_is_decided_and_draws_contradict_nothing(tmp_path: Path) -> None:
    overrides = ["solver.cover=0.01", "solver.budget=1000", f"output={tmp_path}"]
    config = load_model(CampaignConfig, "tabletop", overrides, BUNDLED_CAMPAIGNS, PATHS)
    found = start_campaign(config, Catalog.discover(), SilentWatcher())
    assert found.exit_code == 0
    assert found.summary.regions == 40 * 30
    (policy,) = found.summary.policies
    assert not any(kind.withdrawn for kind in policy.families)
    campaign = CampaignDirectory.open(found.folder)
    latest, facts = campaign.latest(), campaign.manifest.policies[policy.label]
    rng = np.random.default_rng(0)
    with opened(config, Catalog.discover(), tmp_path, lambda text: None) as lanes:
        spec = lanes[policy.label].spec
        rules = Rules.read(config.specification, spec.action, facts.tolerances)
        named = {one.id: one for one in campaign.observations()}
        for item in campaign.items():
            if latest[item.item_id].verdict != "robust":
                continue
            kind = family(item.family)
            box = kind.box(item.radii, len(facts.views))
            subject = subject_of(named[item.observation], facts, spec, config)
            asked = subject.perturbed(kind, box.parameters(rng.random((DRAWS, len(box.low)))))
            specification, _ = rules.of(np.array(facts.clean[item.observation]))
            answers = np.array(rules.answers(lanes[policy.label].ask(asked, config.seed)))
            terms = specification.terms(answers)
            assert terms.min() > 0, item
