"""Which start a trial began at: what was measured decides, not the key alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.factors import Factors
from tests.unit.report.build import plan, record
from vlassess.pipeline.transfer.starts import refuted_starts
from vlassess.schema.attempts import Entry

SPEC = Factors().spec
CELLS: list[dict[str, str]] = [{}, {"mass": "heavy"}, {"start": "far"}]
ITEMS = plan(("one", "two", "three"), tasks=(("walk", "far"),), episodes=1, cells=CELLS)
"""Of each policy: a control, a cell that may change the mass, and one that changes the start itself."""


def began(changes: Mapping[int, Mapping[str, float] | None]) -> dict[int, str]:
    """Return the number of each refuted item with what stands behind its key, after some states were changed."""
    entries = []
    for number, item in enumerate(ITEMS):
        cell = item.episode.perturbation
        state = {"x": 3.0 if "start" in cell else 1.0, "mass": 2.0 if "mass" in cell else 1.0}
        changed = changes.get(number, {})
        told = {} if changed is None else {name: np.array([value]) for name, value in {**state, **changed}.items()}
        made = record(item, initial_state=told)
        entries.append(Entry(item, (made,), made))
    found = refuted_starts(entries, SPEC)
    names = {item.item_id: number for number, item in enumerate(ITEMS)}
    return {names[item_id]: key.partition("~")[2] for item_id, key in found.items()}


def test_what_a_cell_may_change_and_what_is_smaller_than_the_tolerance_refutes_nothing() -> None:
    assert began({}) == {}
    assert began({3: {"x": 1 + 5e-7}, 4: {"mass": 9.0}}) == {}


@pytest.mark.parametrize("number", range(len(ITEMS)))
def test_one_that_began_elsewhere_is_alone_whichever_it_is(number: int) -> None:
    component = "mass" if "start" in ITEMS[number].episode.perturbation else "x"
    assert list(began({number: {component: 1.1}})) == [number]


def test_those_that_began_elsewhere_together_share_that_start() -> None:
    assert began({3: {"x": 2.0}, 4: {"x": 2.0}, 6: {"x": 4.0}}) == {3: "1", 4: "1", 6: "2"}


def test_a_component_that_a_cell_may_not_change_refutes_it() -> None:
    assert began({0: {"mass": 5.0}}) == {0: "1"}


def test_one_that_nobody_measured_is_alone() -> None:
    assert began({1: None}) == {1: ITEMS[1].item_id}


def test_one_without_a_result_is_left_out() -> None:
    assert refuted_starts([Entry(item, (), None) for item in ITEMS], SPEC) == {}
