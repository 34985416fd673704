from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.robustness.solving import decided, finished, said
from vlassess.robustness import (
    Certificate,
    Direct,
    Grid,
    Hoelder,
    HoelderCoverage,
    HoelderMargin,
    Lipschitz,
    Run,
    Settings,
    Sobol,
    Uniform,
    read_certificate,
    resume,
)
from vlassess.robustness.objectives import cones, lattice

SOLVERS: list[Settings] = [
    Hoelder(epsilon=1e-3),
    HoelderMargin(),
    HoelderCoverage(cover=0.02),
    HoelderCoverage(cover=0.02, batch=8, noise=0.01),
    Lipschitz(bound=4.0, batch=4),
    Uniform(budget=70, batch=16),
    Sobol(budget=70),
    Grid(budget=70),
    Direct(budget=70, batch=3),
    Direct(budget=70, locally_biased=False),
]


def name(settings: Settings) -> str:
    return f"{settings.method}-{settings.batch}"


@pytest.mark.parametrize("settings_", SOLVERS, ids=name)
@given(
    dimension=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 50),
    minimum=st.sampled_from([-0.2, 0.05, 0.4]),
    stop=st.integers(0, 200),
)
@settings(max_examples=12)
def test_saved_anywhere_and_gone_on_it_ends_the_same(
    settings_: Settings, dimension: int, seed: int, minimum: float, stop: int
) -> None:
    objective = lattice(dimension, seed, minimum, steepness=3.0)
    whole = decided(settings_.model_copy(update={"budget": min(settings_.budget, 400)}), dimension, objective)
    part = Run(whole.settings, dimension)
    while part.verdict is None and part.queries < stop:
        part.tell(objective(part.ask()))
    again = resume(read_certificate(part.certificate().to_json()))
    np.testing.assert_array_equal(again.ask(), part.ask())
    assert finished(again, objective).certificate() == whole.certificate()


@pytest.mark.parametrize("settings_", SOLVERS, ids=name)
def test_the_order_of_evaluation_within_a_batch_changes_nothing(settings_: Settings) -> None:
    objective, rng = cones(2, 5, 0.1), np.random.default_rng(0)
    run = Run(settings_, 2)
    while run.verdict is None:
        asked = run.ask()
        assert 1 <= len(asked) <= settings_.batch
        order = rng.permutation(len(asked))
        values = np.empty(len(asked))
        for one in order:
            values[one] = objective(asked[one : one + 1])[0]
        run.tell(values)
    assert run.certificate() == decided(settings_, 2, objective).certificate()


def test_a_budget_changes_no_query_before_it_and_is_kept_to_the_query() -> None:
    objective = lattice(2, 3, 0.05)
    small, large = (
        decided(HoelderCoverage(budget=budget, batch=16), 2, objective).certificate() for budget in (333, 900)
    )
    assert small.verdict is not None
    assert (small.verdict.kind, small.verdict.queries) == ("unknown", 333)
    assert large.positions[:333] == small.positions


def test_the_whole_last_batch_counts_and_the_most_negative_is_the_witness() -> None:
    run = Run(Uniform(batch=4), 2)
    while len(asked := run.ask()) < 4:
        run.tell(np.ones(len(asked)))
    before = run.queries
    run.tell([0.5, -0.25, -1.0, 0.5])
    verdict = said(run)
    assert verdict.kind == "adversarial"
    assert (verdict.queries, verdict.query, verdict.value, verdict.values) == (before + 4, before + 2, -1.0, (-1.0,))
    assert verdict.witness == tuple(asked[2])
    assert run.ask().shape == (0, 2)


def test_the_smallest_term_counts() -> None:
    def terms(points: np.ndarray) -> np.ndarray:
        return np.stack([np.ones(len(points)), points[:, 0] - 0.01], axis=1)

    verdict = said(decided(HoelderCoverage(), 1, terms, terms=2))
    assert verdict.kind == "adversarial"
    assert verdict.values == (1.0, -0.01)


def test_what_is_within_noise_is_no_witness_and_no_certificate() -> None:
    run = decided(HoelderCoverage(noise=0.1, budget=300), 1, lambda points: np.full(len(points), -0.05))
    assert said(run).kind == "unknown"
    assert said(decided(HoelderCoverage(noise=0.1), 1, lambda p: np.full(len(p), -0.11))).kind == "adversarial"
    zero = decided(HoelderCoverage(budget=300), 1, lambda points: np.zeros(len(points)))
    assert said(zero).kind == "unknown"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"values have the shape \(2,\), but 1 places were asked for, and the objective has 1 term"),
        ([float("nan")], r"values\[0, 0\] is nan at \(0.0,\); every value has to be finite: mend the spec"),
        ([float("-inf")], "every value has to be finite"),
    ],
)
def test_values_that_cannot_be_are_refused_and_change_nothing(values: list[float], message: str) -> None:
    run = Run(HoelderCoverage(), 1)
    with pytest.raises(ValueError, match=message):
        run.tell(values)
    assert run.queries == 0
    run.tell([1.0])
    assert run.queries == 1


def test_after_the_verdict_nothing_is_taken() -> None:
    run = decided(HoelderCoverage(), 1, lambda points: -np.ones(len(points)))
    with pytest.raises(ValueError, match="the run has its verdict; start another one"):
        run.tell([1.0])


def test_regions_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="dimension is 5; a region has 1 to 4 parameters: fix the others"):
        Run(HoelderCoverage(), 5)
    with pytest.raises(ValueError, match="terms is 0"):
        Run(HoelderCoverage(), 1, terms=0)
    with pytest.raises(ValueError, match="bound has 2 numbers for 3 parameters: give one, or one for each"):
        Run(Lipschitz(bound=(1.0, 2.0)), 3)


def saved() -> Certificate:
    run = Run(HoelderMargin(), 1)
    for _ in range(6):
        run.tell(1.0 + run.ask()[:, 0])
    return run.certificate()


@pytest.mark.parametrize("change", [{"positions": [0.0, 1.0, 0.7]}, {"values": [[1.0]] * 6 + [[-1.0]] * 3}])
def test_a_save_that_leads_elsewhere_is_refused(change: dict[str, object]) -> None:
    told = json.loads(saved().to_json())
    with pytest.raises(ValueError, match="start this instance anew"):
        resume(read_certificate(json.dumps({**told, **change})))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "schema is 99, newer than this version knows"),
        ({"dimension": "many"}, "this is no certificate: dimension: "),
        ({"settings": {"method": "magic"}}, "this is no certificate: settings"),
        ({"surplus": 1}, "this is no certificate: surplus"),
    ],
)
def test_what_is_no_certificate_is_refused_in_words(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_certificate(json.dumps({**json.loads(saved().to_json()), **change}))


def test_text_that_is_no_certificate_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="this is no certificate"):
        read_certificate("{")


def test_a_steep_term_does_not_make_a_gentle_one_dear() -> None:
    def terms(points: np.ndarray) -> np.ndarray:
        steep = 0.65 - 0.35 * np.tanh(30.0 * (points[:, 0] - 0.2))
        gentle = 0.05 + 2.2 * (points[:, 0] - 0.9) ** 2 + (points[:, 1] - 0.4) ** 2
        return np.stack([steep, gentle], axis=1)

    apart = decided(HoelderMargin(), 2, terms, terms=2)
    together = decided(HoelderMargin(), 2, lambda points: terms(points).min(axis=1))
    assert said(apart).kind == said(together).kind == "robust"
    assert apart.queries < 0.75 * together.queries
