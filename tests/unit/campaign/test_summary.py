from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.campaign.summary import missed
from vlassess.campaign.wording import radii_text, theta_text


@given(n=st.integers(1, 9), data=st.data())
def test_what_draws_miss_is_counted_over_all_choices(n: int, data: st.DataObject) -> None:
    violations, k = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    choices = list(itertools.combinations(range(n), k))
    without = sum(all(place >= violations for place in choice) for choice in choices)
    assert missed(n, violations, k) == pytest.approx(without / len(choices))


def test_radii_and_parameters_for_people() -> None:
    assert radii_text("brightness+dual-rotation", (0.2, 4.0)) == "±20 %, ±4°"
    assert radii_text("blur", (1.5,)) == "up to 1.5 px"
    told = theta_text("composition", ("agent", "wrist"), (-51.0, 0.0, 0.0174532925))
    assert told == "brightness -20 %, rotation of agent +0°, rotation of wrist +1°"
