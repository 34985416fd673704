from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.robustness.hilbert import Curve

# point_from_distance of the package hilbertcurve 2.0.5, 32 iterations, at floor(position * 2^(32 N)).
PUBLISHED = [
    (2, 0.0, (0, 0)),
    (2, 0.3, (429496735, 3006477119)),
    (2, 0.5, (2147483648, 2147483648)),
    (2, 0.7310585786300049, (3621902560, 2245259104)),
    (2, 1 / 3, (0, 4294967264)),
    (2, 1 - 2.0**-53, (4294967264, 32)),
    (3, 0.3, (363413504, 3667247103, 2841296895)),
    (3, 0.5, (2147483648, 2147483648, 0)),
    (3, 0.7310585786300049, (3807412224, 2660712448, 4119216128)),
    (3, 1 / 3, (1431650304, 4294950912, 4294950912)),
    (3, 1 - 2.0**-53, (4294950911, 0, 16383)),
    (4, 0.3, (920125440, 2761162751, 4294705152, 1840775167)),
    (4, 0.7310585786300049, (3737911295, 3288858623, 3860070399, 951058431)),
    (4, 1 / 3, (0, 4294705152, 4294705152, 4294443008)),
]


@pytest.mark.parametrize(("dimension", "position", "cell"), PUBLISHED)
def test_it_is_the_published_curve(dimension: int, position: float, cell: tuple[int, ...]) -> None:
    assert Curve(dimension).point(position) == tuple((number + 0.5) * 2.0**-32 for number in cell)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_it_visits_every_cell_once_and_only_steps_to_neighbours(dimension: int) -> None:
    curve = Curve(dimension, levels=4)
    cells = 2 ** (4 * dimension)
    points = curve.points((np.arange(cells) + 0.5) / cells)
    assert len(np.unique(points, axis=0)) == cells
    steps = np.abs(np.diff(points, axis=0))
    assert (np.sort(steps, axis=1)[:, -1] == 2.0**-4).all()
    assert (steps.sum(axis=1) == 2.0**-4).all()


positions = st.floats(0, 1) | st.floats(0, 1).map(lambda x: x**20) | st.sampled_from([0.0, 0.5, 1.0, 1 - 2.0**-53])


@given(st.sampled_from([1, 2, 3, 4]), st.lists(positions, min_size=1, max_size=20))
def test_one_by_one_and_together_agree_bit_for_bit(dimension: int, xs: list[float]) -> None:
    curve = Curve(dimension)
    assert [curve.point(x) for x in xs] == [tuple(point) for point in curve.points(np.array(xs)).tolist()]


@given(st.sampled_from([2, 3, 4]), positions, positions)
def test_its_hoelder_constant_is_the_proven_one(dimension: int, x: float, y: float) -> None:
    curve = Curve(dimension)
    apart = float(np.linalg.norm(np.subtract(curve.point(x), curve.point(y))))
    assert apart <= 2.0 * np.sqrt(dimension + 3.0) * abs(x - y) ** (1.0 / dimension) + 2.0**-31 * dimension


@given(st.sampled_from([1, 2, 3, 4]), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_a_place_is_found_again_as_closely_as_floats_allow(dimension: int, numbers: list[float]) -> None:
    curve, place = Curve(dimension), tuple(numbers[:dimension])
    found = curve.point(curve.position(place))
    assert np.abs(np.subtract(found, place)).max() <= 2.0 ** -(53 / dimension - 1)


def test_what_it_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension is 5; regions have 1 to 4 parameters"):
        Curve(5)
    with pytest.raises(ValueError, match="levels is 10; give a multiple of 4"):
        Curve(2, 10)
