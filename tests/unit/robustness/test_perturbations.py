"""Perturbations against scipy, against their own definitions, and against what a certificate needs of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from vlassess.robustness.perturbations import CHANGES, GRIDS, Family, Source, family, pixels, quantised, sources
from vlassess_link.errors import ContractError

RNG = np.random.default_rng(7)
PICTURE = RNG.uniform(0, 255, (37, 52, 3)).astype(np.float32)
LARGEST = {name: min(change.most, 0.6 if change.unit != "degree" else 60.0) for name, change in CHANGES.items()}


def changed(name: str, theta: float, picture: np.ndarray = PICTURE) -> np.ndarray:
    out = np.empty_like(picture)
    CHANGES[name].apply(Source(picture), theta, out)
    return out


def by_scipy(matrix: np.ndarray, shift: tuple[float, float], picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float64)
    x, y = x - (width - 1) / 2, y - (height - 1) / 2
    sampled_x = matrix[0, 0] * x + matrix[0, 1] * y + (width - 1) / 2 + shift[0]
    sampled_y = matrix[1, 0] * x + matrix[1, 1] * y + (height - 1) / 2 + shift[1]
    planes = [
        map_coordinates(picture[..., c].astype(np.float64), [sampled_y, sampled_x], order=1, mode="grid-constant")
        for c in range(3)
    ]
    return np.stack(planes, axis=-1)


@settings(max_examples=40, deadline=None)
@given(
    theta=st.floats(-math.pi, math.pi),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    seed=st.integers(0, 2**32 - 1),
)
def test_rotation_is_scipys(theta: float, size: tuple[int, int], seed: int) -> None:
    picture = np.random.default_rng(seed).uniform(0, 255, (*size, 3)).astype(np.float32)
    matrix = np.array([[math.cos(theta), math.sin(theta)], [-math.sin(theta), math.cos(theta)]])
    expected = by_scipy(matrix, (0.0, 0.0), picture)
    assert np.abs(changed("rotation", theta, picture) - expected).max() < 2e-3


@pytest.mark.parametrize("theta", [-0.7, -0.031, 0.0, 0.25, 0.5])
def test_zoom_and_translation_are_scipys(theta: float) -> None:
    zoomed = by_scipy(np.eye(2) * math.exp(-theta), (0.0, 0.0), PICTURE)
    moved = by_scipy(np.eye(2), (-theta * PICTURE.shape[1], 0.0), PICTURE)
    assert np.abs(changed("zoom", theta) - zoomed).max() < 2e-3
    assert np.abs(changed("translation", theta) - moved).max() < 2e-3


@pytest.mark.parametrize("name", CHANGES)
def test_zero_changes_nothing(name: str) -> None:
    assert np.array_equal(changed(name, 0.0), PICTURE)


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_continuous(name: str) -> None:
    """Halving a step a thousand times smaller makes the change of every pixel smaller, at any place of the range."""
    change = CHANGES[name]
    top = LARGEST[name] * change.scale
    places = np.random.default_rng(3).uniform(0.0 if change.one_sided else -top, top, 25)
    for theta in [*places, 0.05, 0.0]:
        for step in (1e-6, -1e-6):
            if change.one_sided and theta + step * top < 0:
                continue
            jump = np.abs(changed(name, theta + step * top) - changed(name, theta)).max()
            assert jump < 0.05, f"{name} jumps by {jump} at {theta}"


def test_pictures_stay_on_the_scale() -> None:
    for name, change in CHANGES.items():
        for theta in (LARGEST[name] * change.scale, -LARGEST[name] * change.scale * (not change.one_sided)):
            found = changed(name, theta)
            assert found.dtype == np.float32
            assert found.min() >= -1e-3
            assert found.max() <= 255.001


@pytest.mark.parametrize("name", ["brightness", "rotation", "dual-rotation", "composition", "hue+zoom", "blur+bar"])
def test_a_row_does_not_depend_on_its_batch(name: str) -> None:
    kind = family(name)
    views = sources({"a": PICTURE, "b": PICTURE[:20]})
    box = kind.box([0.3] * len(kind.parts), 2)
    thetas = box.parameters(np.random.default_rng(1).random((9, len(box.low))))
    together = kind.perturbed(views, thetas)
    alone = [kind.perturbed(views, theta[None]) for theta in thetas]
    for view in range(2):
        assert np.array_equal(together[view], np.concatenate([one[view] for one in alone]))


def test_dimensions_are_the_published_ones() -> None:
    counts = {name: family(name).dimension(2) for name in ("brightness", "rotation", "dual-rotation", "composition")}
    assert counts == {"brightness": 1, "rotation": 1, "dual-rotation": 2, "composition": 3}
    assert family("composition").dimension(1) == 2


def test_a_composition_lights_the_scene_first_and_turns_each_view_by_its_own_angle() -> None:
    views = sources({"a": PICTURE, "b": PICTURE})
    theta = np.array([[40.0, 0.2, -0.5]])
    found = family("composition").perturbed(views, theta)
    bright = changed("brightness", 40.0)
    assert np.array_equal(found[0][0], changed("rotation", 0.2, bright))
    assert np.array_equal(found[1][0], changed("rotation", -0.5, bright))
    # Outside it is black, not bright: what is added first is not added to the padding.
    assert found[1][0][0, 0].max() == 0.0


def test_a_part_lies_in_the_whole_with_the_rest_at_zero() -> None:
    whole, part = family("composition"), family("dual-rotation")
    embedded = whole.embedded(np.array([0.2, -0.5]), part, 2)
    assert embedded is not None
    assert embedded.tolist() == [0.0, 0.2, -0.5]
    assert part.embedded(np.zeros(3), whole, 2) is None
    views = sources({"a": PICTURE, "b": PICTURE})
    for one, other in zip(
        whole.perturbed(views, embedded[None]), part.perturbed(views, np.array([[0.2, -0.5]])), strict=True
    ):
        assert np.array_equal(one, other)


def test_the_grids_are_regions_that_grow() -> None:
    for grids in GRIDS.values():
        for name, rows in grids.items():
            kind = family(name)
            assert len(rows) == 10
            boxes = [kind.box(radii, 2) for radii in rows]
            assert all(after.holds(before.high) for before, after in itertools.pairwise(boxes))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: family("twist"), "no perturbation 'twist'"),
        (lambda: family("hue+hue"), "twice"),
        (lambda: family("blur").box([9.0], 1), "at most 4"),
        (lambda: family("composition").box([0.1], 1), "2 part"),
        (lambda: pixels(np.zeros((2, 2, 4), np.uint8)), "(2, 2, 4)"),
    ],
)
def test_mistakes_are_named(call: object, words: str) -> None:
    with pytest.raises(ContractError, match=words.replace("(", r"\(").replace(")", r"\)")):
        call()  # type: ignore[operator]


def test_rounding_takes_the_nearest_grey_level() -> None:
    assert quantised(np.array([[[0.4, 0.6, 254.7]]], np.float32)).tolist() == [[[0, 1, 255]]]


def test_a_family_takes_as_many_parameters_as_it_has() -> None:
    kind: Family = family("dual-rotation")
    with pytest.raises(ContractError, match=r"shape \(1, 1\)"):
        kind.perturbed(sources({"a": PICTURE, "b": PICTURE}), np.zeros((1, 1)))
