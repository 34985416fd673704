from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.robustness.radii import RadiusSearch, Standing


@given(st.integers(1, 30), st.data())
def test_bisection_finds_the_edge_in_logarithmic_time(regions: int, data: st.DataObject) -> None:
    first_bad = data.draw(st.integers(0, regions))
    search, asked = RadiusSearch(regions), 0
    while (region := search.next()) is not None:
        search.tell(region, "adversarial" if region >= first_bad else "robust", max(first_bad, 0))
        asked += 1
    assert asked <= (regions + 1).bit_length()
    kinds = [search.standing(region).kind for region in range(regions)]
    assert kinds == ["robust"] * first_bad + ["adversarial"] * (regions - first_bad)
    assert search.bracket() == (first_bad - 1 if first_bad else None, first_bad if first_bad < regions else None)


@given(st.lists(st.sampled_from(["robust", "adversarial", "unknown"]), min_size=1, max_size=12), st.booleans())
def test_whatever_is_said_it_ends_and_standing_never_contradicts_a_witness(kinds: list[str], every: bool) -> None:
    search, asked = RadiusSearch(len(kinds), every), []
    while (region := search.next()) is not None:
        asked.append(region)
        search.tell(region, kinds[region])  # type: ignore[arg-type]
    assert len(set(asked)) == len(asked) == (len(kinds) if every else len(asked))
    found = [search.standing(region) for region in range(len(kinds))]
    assert all(one.kind is not None for one in found)
    if "adversarial" in [kinds[region] for region in asked]:
        first = min(region for region in asked if kinds[region] == "adversarial")
        assert all(one.kind == "adversarial" for one in found[first:])


def test_unknown_implies_nothing() -> None:
    search = RadiusSearch(3)
    assert search.next() == 1
    search.tell(1, "unknown")
    assert search.standing(1) == Standing("unknown", 1)
    assert search.standing(0) == search.standing(2) == Standing(None, None)
    assert search.next() in (0, 2)


def test_inheritance_names_its_source() -> None:
    search = RadiusSearch(5)
    search.tell(2, "robust")
    search.tell(4, "adversarial")
    assert [search.standing(region) for region in range(5)] == [
        Standing("robust", 2),
        Standing("robust", 2),
        Standing("robust", 2),
        Standing(None, None),
        Standing("adversarial", 4),
    ]


def test_a_witness_refutes_every_region_that_holds_it_and_withdraws_their_certificates() -> None:
    search = RadiusSearch(5)
    search.tell(2, "robust")
    search.tell(0, "robust")
    search.tell(4, "adversarial", innermost=1)
    assert search.withdrawn == [2]
    assert [search.standing(region).kind for region in range(5)] == ["robust"] + ["adversarial"] * 4
    assert search.standing(2) == Standing("adversarial", 4)
    assert search.next() is None
    search = RadiusSearch(3, every=True)
    search.refute(1, source=7)
    search.tell(2, "robust")
    assert search.withdrawn == [2]
    assert search.next() in (0, 1)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="regions is 0; give at least one radius"):
        RadiusSearch(0)
    with pytest.raises(ValueError, match="region is 3; there are 3, from 0"):
        RadiusSearch(3).tell(3, "robust")
    with pytest.raises(ValueError, match="innermost is 2, but the witness was found in region 1"):
        RadiusSearch(3).tell(1, "adversarial", innermost=2)
