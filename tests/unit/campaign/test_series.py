"""What follows for other radii, as records; the rules themselves are tested where they are."""

from __future__ import annotations

import numpy as np
import pytest

from vlassess.campaign import RegionItem, RegionRecord, Series, Witness, settled
from vlassess.campaign.items import region_item
from vlassess.robustness.perturbations import Box

RADII = (1.0, 2.0, 4.0, 8.0, 16.0)


def series(every: bool = False) -> Series:
    items = [region_item("p", "o", "rotation", level, (radius,)) for level, radius in enumerate(RADII)]
    return Series(items, [Box(np.array([-radius]), np.array([radius])) for radius in RADII], every)


def record(item: RegionItem, verdict: str, *theta: float) -> RegionRecord:
    return RegionRecord(item.item_id, verdict, "run", item.item_id, queries=7, theta=theta)


def run(found: Series, truth: float, unknown: tuple[float, ...] = ()) -> int:
    """Decide as if everything beyond ``truth`` were adversarial; returns the number of runs."""
    runs = 0
    while (item := found.next()) is not None:
        radius = item.radii[0]
        verdict = "unknown" if radius in unknown else "robust" if radius < truth else "adversarial"
        found.learn(record(item, verdict, *([truth] if verdict == "adversarial" else [])))
        runs += 1
    return runs


@pytest.mark.parametrize("truth", [0.5, 1.5, 3.0, 5.0, 9.0, 20.0])
def test_bisection_says_what_all_radii_say(truth: float) -> None:
    bisected, every = series(), series(every=True)
    assert run(bisected, truth) <= 3
    assert run(every, truth) == 5
    assert [one.verdict for one in bisected.verdicts()] == [one.verdict for one in every.verdicts()]
    assert [one.how for one in every.verdicts()] == ["run"] * 5
    assert {one.how for one in bisected.verdicts()} <= {"run", "inherited", "witness"}


def test_unknown_says_nothing_of_its_neighbours() -> None:
    found = series()
    assert run(found, 5.0, unknown=(4.0,)) == 3
    assert [one.verdict for one in found.verdicts()] == ["robust", "robust", "unknown", "adversarial", "adversarial"]


def test_a_certificate_of_a_larger_radius_decides_an_unknown_one() -> None:
    found = series()
    run(found, 20.0, unknown=(4.0,))
    middle = found.verdicts()[2]
    assert (middle.verdict, middle.how, middle.queries) == ("robust", "inherited", 7)


@pytest.mark.parametrize("every", [False, True])
def test_a_counterexample_inside_a_certified_region_withdraws_the_certificate(every: bool) -> None:
    found = series(every)
    for _ in range(10):
        item = found.next()
        if item is None:
            break
        found.learn(record(item, "adversarial", 1.5) if item.radii[0] > 4.0 else record(item, "robust"))
    verdicts = found.verdicts()
    assert [one.verdict for one in verdicts] == ["robust", *["adversarial"] * 4]
    contradicted = [one for one in verdicts if one.withdrawn]
    assert contradicted
    assert all(one.how == "witness" for one in contradicted)


def test_a_counterexample_from_elsewhere_refutes_what_holds_it() -> None:
    found = series()
    found.refute(Witness((3.0,), "brightness"))
    run(found, 2.5)
    assert [one.verdict for one in found.verdicts()] == ["robust", "robust", *["adversarial"] * 3]
    assert found.verdicts()[2].source == "brightness"


def test_only_what_is_new_is_written() -> None:
    found = series()
    run(found, 5.0)
    first = {one.item_id: one for one in settled(found, lambda _: None)}
    assert len(first) == 5
    assert settled(found, first.get) == []
