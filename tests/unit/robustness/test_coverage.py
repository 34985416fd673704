from __future__ import annotations

import numpy as np
import pytest

from tests.unit.robustness.solving import decided, said
from vlassess.robustness import Direct, HoelderCoverage, HoelderMargin
from vlassess.robustness.objectives import actions, fourier, lattice, well


@pytest.mark.parametrize(("dimension", "width"), [(1, 0.0005), (2, 0.03), (3, 0.08)])
def test_no_well_of_the_stated_width_is_missed(dimension: int, width: float) -> None:
    settings = HoelderCoverage(batch=16)
    found = [said(decided(settings, dimension, well(dimension, seed, -0.05, width))).kind for seed in range(12)]
    assert set(found) == {"adversarial"}


@pytest.mark.parametrize("cover", [1e-2, 3e-3])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("hunt", [True, False])
def test_a_certificate_covers_and_costs_little_more_than_that(dimension: int, cover: float, hunt: bool) -> None:
    objective = actions(dimension, 1, 0.5)
    run = decided(HoelderCoverage(cover=cover, hunt=hunt), dimension, objective)
    verdict = said(run)
    assert verdict.kind == "robust"
    assert verdict.cover <= cover * (1 + 1e-6)
    assert any(f"at most {cover:g} of the region" in condition for condition in verdict.conditional_on)
    without = decided(HoelderMargin(), dimension, objective).queries
    assert 1 / cover <= run.queries <= (1.2 if dimension < 3 else 2.5) / cover + 25 + without + 60 * dimension * hunt


def test_cells_are_cut_no_finer_than_half_the_cover() -> None:
    alone = HoelderCoverage(cover=0.013, epsilon_max=1.0, probes=0, hunt=False)
    run = decided(alone, 1, lambda points: 1.0 + 0.001 * points[:, 0])
    widths = np.diff(np.sort(run.certificate().positions))
    assert widths.max() <= 0.013 * (1 + 1e-6)
    assert widths.min() >= 0.013 / 2


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_batch_of_sixteen_costs_at_most_a_quarter_more(dimension: int) -> None:
    ratios = []
    for seed in range(3):
        objective = actions(dimension, seed, 0.3)
        one, many = (decided(HoelderCoverage(batch=batch), dimension, objective) for batch in (1, 16))
        assert said(one).kind == said(many).kind == "robust"
        ratios.append(many.queries / one.queries)
    assert np.median(ratios) <= 1.25


@pytest.mark.parametrize("dimension", [2, 3])
def test_counterexamples_are_found_about_as_soon_as_by_the_better_of_both(dimension: int) -> None:
    cost: dict[str, list[int]] = {"h2v-c": [], "h2v-m": [], "direct": []}
    for seed in range(20, 26):
        for objective in (fourier(dimension, seed, -0.05), actions(dimension, seed, -0.02)):
            for settings in (HoelderCoverage(budget=600), HoelderMargin(budget=600), Direct(budget=600)):
                run = decided(settings, dimension, objective)
                cost[settings.method].append(run.queries if said(run).kind == "adversarial" else 600)
    medians = {name: np.median(queries) for name, queries in cost.items()}
    assert medians["h2v-c"] <= 1.2 * min(medians["h2v-m"], medians["direct"])


def test_probes_are_made_before_a_certificate() -> None:
    objective = actions(1, 3, 0.3)
    without, with_ = (decided(HoelderCoverage(probes=probes), 1, objective).queries for probes in (0, 25))
    assert without < with_ <= without + 25


@pytest.mark.parametrize("dimension", [1, 2])
def test_what_touches_zero_ends_as_unknown_before_the_budget(dimension: int) -> None:
    objective = lattice(dimension, 3, 1e-9)
    verdict = said(decided(HoelderCoverage(), dimension, objective))
    assert verdict.kind == "unknown"
    assert verdict.reason == "stalled"
