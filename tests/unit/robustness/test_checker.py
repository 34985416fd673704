from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.robustness.solving import decided, said
from vlassess.robustness import (
    Certificate,
    Direct,
    Hoelder,
    HoelderCoverage,
    HoelderMargin,
    Lipschitz,
    Run,
    Settings,
    Uniform,
    Unknown,
    read_certificate,
)
from vlassess.robustness.certificates import certify
from vlassess.robustness.checker import check, replay
from vlassess.robustness.objectives import Known, actions, cones, fourier, lattice

CASES: list[tuple[Settings, Known]] = [
    (HoelderCoverage(cover=0.02, batch=16), actions(1, 1, 0.3)),
    (HoelderCoverage(cover=0.02, noise=0.01), fourier(2, 2, 0.2)),
    (HoelderCoverage(cover=0.02, batch=5, neighbours=3), actions(3, 3, 0.3)),
    (Hoelder(epsilon=1e-3), fourier(2, 4, 0.2)),
    (HoelderMargin(), lattice(3, 5, 0.3)),
    (Lipschitz(bound=4.0), cones(2, 6, 0.2)),
    (HoelderCoverage(), lattice(2, 7, -0.1)),
    (Lipschitz(bound=4.0), cones(2, 8, -0.2)),
    (HoelderCoverage(budget=100), fourier(2, 9, 0.1)),
    (Direct(budget=60), fourier(2, 9, 0.1)),
]
CERTIFICATES = [decided(solver, objective.dimension, objective).certificate() for solver, objective in CASES]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_every_kind_of_certificate_holds_and_replays(number: int) -> None:
    certificate, objective = read_certificate(CERTIFICATES[number].to_json()), CASES[number][1]
    assert certificate == CERTIFICATES[number]
    assert check(certificate) == ()
    again = replay(certificate, objective)
    assert (again.asked, again.differing) == (len(certificate.values), ())


def test_all_three_verdicts_are_among_them() -> None:
    kinds = [certificate.verdict.kind for certificate in CERTIFICATES if certificate.verdict is not None]
    assert [kinds.count(kind) for kind in ("robust", "adversarial", "unknown")] == [6, 2, 2]


@given(
    st.sampled_from([1, 2, 3]),
    st.integers(0, 1000),
    st.sampled_from([-0.1, 0.1, 0.5]),
    st.sampled_from([1, 7]),
    st.sampled_from([1, 2]),
    st.sampled_from([0.0, 0.02]),
)
@settings(max_examples=25)
def test_it_recomputes_what_the_solver_says(
    dimension: int, seed: int, minimum: float, batch: int, terms: int, noise: float
) -> None:
    objective = actions(dimension, seed % 5, minimum) if terms == 2 else lattice(dimension, seed, minimum)
    function = objective.terms if terms == 2 else objective
    assert function is not None
    for solver in (HoelderCoverage(cover=0.05, batch=batch, noise=noise, budget=800), HoelderMargin(budget=300)):
        assert check(decided(solver, dimension, function, terms).certificate()) == ()


def numbers(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [place for key, inner in value.items() for place in numbers(inner, (*path, key))]
    if isinstance(value, list):
        return [place for at, inner in enumerate(value) for place in numbers(inner, (*path, at))]
    return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []


def altered(certificate: Certificate, path: tuple[str | int, ...], by: float) -> str:
    told = json.loads(certificate.to_json())
    inner = told
    for step in path[:-1]:
        inner = inner[step]
    old = inner[path[-1]]
    inner[path[-1]] = old + 1 if isinstance(old, int) else old + by * max(abs(old), 1e-3)
    return json.dumps(told)


@given(st.data(), st.sampled_from(range(len(CERTIFICATES))), st.sampled_from([1e-9, -1e-3, 0.5]))
@settings(max_examples=150)
def test_any_one_altered_number_is_found_out(data: st.DataObject, number: int, by: float) -> None:
    certificate = CERTIFICATES[number]
    path = data.draw(st.sampled_from(numbers(json.loads(certificate.to_json()))))
    try:
        read = read_certificate(altered(certificate, path, by))
    except ValueError:
        return
    assert check(read)


CLAIMS = ["lower_bound", "smallest", "constants", "cover", "epsilon", "queries"]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_a_claim_that_does_not_follow_is_found_out_with_a_new_digest(number: int, claim: str) -> None:
    certificate = CERTIFICATES[number]
    verdict = said_robust(certificate)
    value = getattr(verdict, claim)
    changed: Any = tuple(2 * one for one in value) if isinstance(value, tuple) else 2 * value
    forged = certify(dataclasses.replace(certificate, verdict=dataclasses.replace(verdict, **{claim: changed})))
    assert any(claim in problem for problem in check(forged))


def said_robust(certificate: Certificate) -> Any:
    assert certificate.verdict is not None
    assert certificate.verdict.kind == "robust"
    return copy.copy(certificate.verdict)


def forged(certificate: Certificate, **changes: Any) -> tuple[str, ...]:
    return check(certify(dataclasses.replace(certificate, **changes)))


def test_left_out_queries_are_found_out() -> None:
    certificate = CERTIFICATES[0]
    verdict = dataclasses.replace(said_robust(certificate), queries=len(certificate.values) - 40)
    shorter = {"positions": certificate.positions[:-40], "values": certificate.values[:-40], "verdict": verdict}
    assert forged(certificate, **shorter)
    boxes = CERTIFICATES[5]
    verdict = dataclasses.replace(said_robust(boxes), queries=len(boxes.values) - 1)
    problems = forged(boxes, points=boxes.points[:-1], values=boxes.values[:-1], verdict=verdict)
    assert any("nothing was asked at" in problem for problem in problems)


def test_a_robust_verdict_without_a_basis_is_refused() -> None:
    run = decided(Uniform(budget=20), 2, fourier(2, 1, 0.3))
    verdict = dataclasses.replace(said_robust(CERTIFICATES[1]), queries=20, smallest=run.smallest)
    problems = forged(run.certificate(), verdict=verdict)
    assert "the method uniform cannot show that an instance is robust" in problems
    unfinished = Run(HoelderCoverage(), 1)
    assert check(unfinished.certificate()) == ("the run was not finished, so there is no verdict to check",)


def test_a_finer_claim_of_coverage_is_refused() -> None:
    problems = forged(CERTIFICATES[0], settings=HoelderCoverage(cover=0.01, batch=16))
    assert any("more than the cover" in problem for problem in problems)


def test_a_hidden_counterexample_is_found_out() -> None:
    certificate = CERTIFICATES[8]
    assert isinstance(certificate.verdict, Unknown)
    values = ((-0.5,), *certificate.values[1:])
    verdict = dataclasses.replace(certificate.verdict, smallest=-0.5)
    assert any("is a counterexample" in problem for problem in forged(certificate, values=values, verdict=verdict))


def test_values_that_contradict_the_supplied_bound_are_found_out() -> None:
    certificate = CERTIFICATES[5]
    top = max(range(len(certificate.values)), key=lambda at: certificate.values[at])
    values = tuple((9.0,) if at == top else row for at, row in enumerate(certificate.values))
    assert any("contradict the supplied bound" in problem for problem in forged(certificate, values=values))


def test_replaying_tells_which_answers_differ() -> None:
    certificate, objective = CERTIFICATES[3], CASES[3][1]
    spoilt = objective(certificate.places()[7:8])[0]

    def other(points: np.ndarray) -> np.ndarray:
        values = objective(points)
        return np.where(np.isclose(values, spoilt, atol=1e-12), values + 0.25, values)

    again = replay(certificate, other, batch=3)
    assert again.differing == (7,)
    assert again.largest == pytest.approx(0.25)


def test_a_witness_is_what_was_asked() -> None:
    certificate = CERTIFICATES[6]
    verdict = said(decided(CASES[6][0], 2, CASES[6][1]))
    assert verdict.kind == "adversarial"
    moved = dataclasses.replace(verdict, witness=(0.5, 0.5))
    assert any("was asked elsewhere" in problem for problem in forged(certificate, verdict=moved))
    later = dataclasses.replace(verdict, query=10**6)
    assert any("the witness is query 1000000" in problem for problem in forged(certificate, verdict=later))
