from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.stats import Interval, clopper_pearson, error_bounds, rate, wilson

Method = Callable[..., Interval | None]

# Newcombe, Statistics in Medicine 17 (1998) 857-872, table I: methods 3 (score) and 5 (exact).
NEWCOMBE = [
    (wilson, 81, 263, 0.2553, 0.3662),
    (wilson, 15, 148, 0.0624, 0.1605),
    (wilson, 0, 20, 0.0000, 0.1611),
    (wilson, 1, 29, 0.0061, 0.1718),
    (clopper_pearson, 81, 263, 0.2527, 0.3676),
    (clopper_pearson, 15, 148, 0.0578, 0.1617),
    (clopper_pearson, 0, 20, 0.0000, 0.1684),
    (clopper_pearson, 1, 29, 0.0009, 0.1776),
]


@pytest.mark.parametrize(("method", "successes", "n", "low", "high"), NEWCOMBE)
def test_published_values(method: Method, successes: int, n: int, low: float, high: float) -> None:
    found = method(successes, n)
    assert found is not None
    assert found == pytest.approx((low, high), abs=5.1e-5)


def tail(successes: int, n: int, p: float) -> float:
    """P(X >= successes), summed term by term."""
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(successes, n + 1))


def rate_with_tail(successes: int, n: int, wanted: float) -> float:
    """The rate at which P(X >= successes) is as wanted, by bisection: the tail grows with the rate."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(successes, n, middle) < wanted else (low, middle)
    return low


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 7, 20, 50])
def test_clopper_pearson_against_brute_force(n: int, confidence: float) -> None:
    half = (1 - confidence) / 2
    for k in range(n + 1):
        low = rate_with_tail(k, n, half) if k else 0.0
        high = rate_with_tail(k + 1, n, 1 - half) if k < n else 1.0
        assert clopper_pearson(k, n, confidence) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 5, 20, 200])
def test_wilson_against_its_closed_form(n: int) -> None:
    z = 1.959963984540054
    for k in range(n + 1):
        p = k / n
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        assert wilson(k, n) == pytest.approx((centre - half, centre + half), abs=1e-12)


def coverage(method: Method, n: int, p: float) -> float:
    covered = [k for k in range(n + 1) if (found := method(k, n)) is not None and found.low <= p <= found.high]
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in covered)


@pytest.mark.parametrize("n", [1, 5, 20, 50])
def test_clopper_pearson_covers_by_exact_enumeration(n: int) -> None:
    for p in (0.003, 0.02, 0.1, 0.25, 0.5, 0.77, 0.9, 0.98, 0.999):
        assert coverage(clopper_pearson, n, p) >= 0.95 - 1e-12


@pytest.mark.parametrize(("p", "expected"), [(0.92, 0.9407), (0.98, 0.9216), (0.99, 0.9106)])
def test_wilson_covers_as_little_as_its_docstring_says(p: float, expected: float) -> None:
    assert coverage(wilson, 50, p) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("method", [clopper_pearson, wilson])
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_properties(method: Method, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 400))
    k = data.draw(st.integers(0, n))
    found = method(k, n)
    mirrored = method(n - k, n)
    wider = method(k, n, 0.99)
    more = method(min(k + 1, n), n)
    assert found is not None
    assert mirrored is not None
    assert wider is not None
    assert more is not None
    assert 0 <= found.low <= k / n <= found.high <= 1
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx(found, abs=1e-9)
    assert wider.low <= found.low + 1e-12
    assert wider.high >= found.high - 1e-12
    assert more.low >= found.low - 1e-12
    assert more.high >= found.high - 1e-12


@pytest.mark.parametrize("method", [clopper_pearson, wilson])
def test_no_episode_has_no_interval(method: Method) -> None:
    assert method(0, 0) is None
    assert rate(0, 0) is None
    assert error_bounds(0, 0, 0) is None


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    for function in (rate, clopper_pearson, wilson):
        with pytest.raises(ValueError, match=f"{successes} successes in {n} episodes"):
            function(successes, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_confidence_outside_its_range_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(1, 2, confidence)


def test_error_bounds_put_every_error_on_one_side() -> None:
    assert error_bounds(6, 2, 2) == (0.6, 0.8)
    assert error_bounds(6, 2, 0) == (0.75, 0.75)
    assert error_bounds(0, 0, 3) == (0.0, 1.0)
    with pytest.raises(ValueError, match="negative"):
        error_bounds(1, -1, 0)
