from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.stats.paired import PairedTable, mcnemar_exact, paired_table, tango_bounds, tango_interval, tango_score

# The first two: Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014) 2850-2875, whose first prints -0.517
# to -0.026. All: fieldtrial 0.3.0 (Apache-2.0), which prints the same digits.
TANGO = [
    ((1, 1, 7, 12), -0.5172322764, -0.0260030325, 0.0703125),
    ((59, 6, 16, 80), -0.1240234325, -0.0054333957, 0.0524787903),
    ((36, 12, 2, 0), 0.0611124062, 0.3447087483, 0.0129394531),
    ((0, 0, 0, 10), -0.2775327999, 0.2775327999, 1.0),
    ((0, 10, 0, 0), 0.4449344003, 1.0, 0.001953125),
    ((40, 1, 0, 9), -0.0527745511, 0.1049544359, 1.0),
]

tables = st.builds(PairedTable, *[st.integers(0, 60)] * 4).filter(lambda table: table.pairs > 0)


@pytest.mark.parametrize(("counts", "low", "high", "p_value"), TANGO)
def test_published_values(counts: tuple[int, int, int, int], low: float, high: float, p_value: float) -> None:
    table = PairedTable(*counts)
    assert tango_interval(table) == pytest.approx((low, high), abs=1e-9)
    assert mcnemar_exact(table) == pytest.approx(p_value, abs=1e-9)


@pytest.mark.parametrize("discordant", range(1, 13))
def test_mcnemar_against_brute_force(discordant: int) -> None:
    for only_a in range(discordant + 1):
        lower = math.fsum(math.comb(discordant, k) for k in range(only_a + 1)) / 2**discordant
        upper = math.fsum(math.comb(discordant, k) for k in range(only_a, discordant + 1)) / 2**discordant
        table = PairedTable(3, only_a, discordant - only_a, 4)
        assert mcnemar_exact(table) == pytest.approx(min(1.0, 2 * min(lower, upper)))
        assert mcnemar_exact(table, "greater") == pytest.approx(upper)
        assert mcnemar_exact(table, "less") == pytest.approx(lower)


def test_no_discordant_pair_is_no_evidence() -> None:
    assert mcnemar_exact(PairedTable(30, 0, 0, 2)) == 1.0
    assert mcnemar_exact(PairedTable(0, 0, 0, 0)) == 1.0


def test_no_pair_has_no_difference() -> None:
    nothing = PairedTable(0, 0, 0, 0)
    assert nothing.difference is None
    assert nothing.correlation is None
    assert tango_interval(nothing) is None
    assert tango_score(nothing, 0.1) == 0.0


def likelihood(table: PairedTable, q: float, d: float) -> float:
    """Log-likelihood of (only_a, only_b, the rest) with P(only_b) = q and P(only_a) = q + d."""
    parts = ((table.only_a, q + d), (table.only_b, q), (table.both + table.neither, 1 - 2 * q - d))
    return sum(count * math.log(share) if count else 0.0 for count, share in parts)


@pytest.mark.parametrize("difference", [-0.3, -0.02, 0.0, 0.1, 0.45])
@pytest.mark.parametrize("counts", [(5, 3, 2, 4), (20, 1, 9, 3), (0, 2, 2, 0)])
def test_the_score_uses_the_likeliest_rates_under_the_claim(
    counts: tuple[int, int, int, int], difference: float
) -> None:
    table = PairedTable(*counts)
    grid = np.linspace(max(0.0, -difference) + 1e-6, (1 - difference) / 2 - 1e-6, 200_001)
    q = max(grid[:: len(grid) // 2000], key=lambda q: likelihood(table, float(q), difference))
    near = grid[np.abs(grid - q) < 2e-3]
    q = max(near, key=lambda q: likelihood(table, float(q), difference))
    variance = table.pairs * (2 * q + difference * (1 - difference))
    expected = (table.only_a - table.only_b - table.pairs * difference) / math.sqrt(variance)
    assert tango_score(table, difference) == pytest.approx(expected, abs=2e-3)


@given(table=tables)
@settings(deadline=None, max_examples=150)
def test_tango_properties(table: PairedTable) -> None:
    found, wider = tango_interval(table), tango_interval(table, 0.99)
    mirrored = tango_interval(PairedTable(table.neither, table.only_b, table.only_a, table.both))
    assert found is not None
    assert wider is not None
    assert mirrored is not None
    assert table.difference is not None
    assert -1 <= found.low <= table.difference <= found.high <= 1
    assert (-mirrored.high, -mirrored.low) == pytest.approx(found, abs=1e-9)
    assert wider.low <= found.low
    assert wider.high >= found.high
    for end in found:
        if abs(end) < 1 - 1e-9:
            assert abs(tango_score(table, end)) == pytest.approx(1.959963985, abs=1e-6)
    # Which pairs agree in which way does not matter.
    swapped = PairedTable(table.neither, table.only_a, table.only_b, table.both)
    assert tango_interval(swapped) == found


@pytest.mark.parametrize(("p_a", "p_b", "n"), [(0.02, 0.02, 20), (0.5, 0.1, 20), (0.98, 0.5, 50), (0.9, 0.9, 50)])
def test_tango_covers_by_exact_enumeration(p_a: float, p_b: float, n: int) -> None:
    both = p_a * p_b
    chances = {"a": p_a - both, "b": p_b - both, "rest": 1 - p_a - p_b + 2 * both}
    tables = [(i, j) for i in range(n + 1) for j in range(n + 1 - i)]
    only_a, only_b = (np.array(column) for column in zip(*tables, strict=True))
    low, high = tango_bounds(only_a, only_b, n)
    covered = 0.0
    for (i, j), lower, upper in zip(tables, low, high, strict=True):
        if lower <= p_a - p_b <= upper:
            ways = math.comb(n, i) * math.comb(n - i, j)
            covered += ways * chances["a"] ** i * chances["b"] ** j * chances["rest"] ** (n - i - j)
    assert covered >= 0.935


@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
@settings(deadline=None, max_examples=60)
def test_counting_pairs(pairs: list[tuple[bool, bool]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    table = paired_table(a, b)
    assert table == tuple(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
    assert table.pairs == len(pairs)
    if table.correlation is not None:
        assert table.correlation == pytest.approx(float(np.corrcoef(a, b)[0, 1]))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 0], [1], "equally long: a has 2, b has 1"),
        ([1, 0.5], [1, 1], "an outcome is 0 or 1"),
        ([1, math.nan], [1, 1], "a holds NaN"),
        ([[1]], [[1]], "a has 2 dimensions"),
    ],
)
def test_what_is_no_pair_of_outcomes_is_refused(a: list[float], b: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_table(a, b)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        mcnemar_exact(PairedTable(1, -1, 0, 0))
    with pytest.raises(ValueError, match="confidence is 95"):
        tango_interval(PairedTable(1, 1, 0, 0), 95)
    with pytest.raises(ValueError, match="difference is 2"):
        tango_score(PairedTable(1, 1, 0, 0), 2)
