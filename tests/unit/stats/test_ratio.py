"""The ratio of paired rates: covers the truth, and does what a ratio must."""

from __future__ import annotations

import numpy as np
import pytest

from vlassess.stats.paired import PairedTable
from vlassess.stats.ratio import paired_ratio_interval


@pytest.mark.parametrize("n", [25, 50, 200])
@pytest.mark.parametrize("shares", [(0.5, 0.05, 0.25, 0.2), (0.8, 0.05, 0.1, 0.05), (0.3, 0.1, 0.1, 0.5)])
def test_it_covers_the_true_ratio(n: int, shares: tuple[float, ...]) -> None:
    both, only_a, only_b, _ = shares
    truth = (both + only_a) / (both + only_b)
    tables = np.random.default_rng(6).multinomial(n, shares, size=600)
    found = [paired_ratio_interval(PairedTable(*(int(count) for count in table))) for table in tables]
    held = np.mean([one is not None and one.low <= truth <= one.high for one in found])
    assert held >= 0.92


def test_swapping_the_sides_inverts_it() -> None:
    table = PairedTable(40, 3, 11, 6)
    swapped = paired_ratio_interval(PairedTable(40, 11, 3, 6))
    found = paired_ratio_interval(table)
    assert found is not None
    assert swapped is not None
    assert found == pytest.approx((1 / swapped.high, 1 / swapped.low))


def test_no_success_before_leaves_nothing_to_keep() -> None:
    assert paired_ratio_interval(PairedTable(0, 4, 0, 6)) is None
    assert paired_ratio_interval(PairedTable(0, 0, 0, 0)) is None
