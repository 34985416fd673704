from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vlassess_link.conventions.images import RESIZES, converted, oriented, rendered_size, resized
from vlassess_link.specs import COLOUR_ORDERS, ORIENTATIONS, CameraSpec, ImageConvention, PolicyIdentity, PolicySpec

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "lanczos": Image.Resampling.LANCZOS}


def picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("method", sorted(FILTERS))
@pytest.mark.parametrize("crop", [1.0, 0.9, np.sqrt(0.9)])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((256, 256), (224, 224)),
        ((200, 200), (84, 84)),
        ((48, 64), (96, 128)),
        ((97, 131), (64, 96)),
        ((84, 84), (84, 84)),
    ],
)
def test_pillows_methods_are_pillows_bit_for_bit(
    method: str, crop: float, old: tuple[int, int], new: tuple[int, int]
) -> None:
    image = picture(*old)
    cut = (0.5 * (1 - crop) * old[1], 0.5 * (1 - crop) * old[0])
    box = (cut[0], cut[1], old[1] - cut[0], old[0] - cut[1])
    reference = Image.fromarray(image).resize((new[1], new[0]), FILTERS[method], box=box)
    np.testing.assert_array_equal(resized(image, new, method, crop), np.asarray(reference))


def test_area_is_the_mean_over_what_a_pixel_covers() -> None:
    image = picture(7, 7)
    # Each of the old pixels becomes 3 x 3 small ones, of which 7 x 7 make a new one.
    fine = np.kron(image.astype(np.float64), np.ones((3, 3, 1)))
    expected = fine.reshape(3, 7, 3, 7, 3).mean(axis=(1, 3))
    np.testing.assert_array_equal(resized(image, (3, 3), "area"), np.rint(expected))
    halved = Image.fromarray(picture(64, 48)).reduce(2)
    assert np.abs(resized(picture(64, 48), (32, 24), "area").astype(int) - np.asarray(halved)).max() <= 1


def test_linear_looks_at_two_neighbours_only() -> None:
    ramp = np.repeat(np.arange(8, dtype=np.float32)[:, None, None], 3, axis=2) * np.ones((1, 8, 1), np.float32)
    np.testing.assert_allclose(resized(ramp, (4, 8), "linear")[:, 0, 0], (0.5, 2.5, 4.5, 6.5))
    np.testing.assert_allclose(resized(ramp, (2, 8), "linear")[:, 0, 0], (1.5, 5.5))


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from(RESIZES),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.floats(0.5, 1.0),
    st.integers(0, 255),
)
def test_an_even_picture_stays_even_and_floats_agree_with_bytes(
    method: str, old: tuple[int, int], new: tuple[int, int], crop: float, value: int
) -> None:
    even = np.full((*old, 3), value, np.uint8)
    np.testing.assert_array_equal(resized(even, new, method, crop), np.full((*new, 3), value))
    image = picture(*old)
    floats = resized(image.astype(np.float32), new, method, crop)
    assert floats.dtype == np.float32
    # Pillow rounds after each axis, so a byte may be off by one and a half.
    clipped = np.clip(floats, 0, 255) if method != "lanczos" else None
    if clipped is not None:
        assert np.abs(resized(image, new, method, crop).astype(np.float64) - clipped).max() <= 1.51


@pytest.mark.parametrize(("source", "target"), list(itertools.product(ORIENTATIONS, repeat=2)))
def test_orientations_come_back(source: str, target: str) -> None:
    image = picture(4, 5)
    np.testing.assert_array_equal(oriented(oriented(image, source, target), target, source), image)


def test_orientations_are_what_they_say() -> None:
    image = picture(4, 5)
    np.testing.assert_array_equal(oriented(image, "upright", "rotated_180"), np.rot90(image, 2))
    np.testing.assert_array_equal(oriented(image, "upright", "flipped_rows"), np.flipud(image))
    np.testing.assert_array_equal(oriented(image, "rotated_180", "flipped_rows"), np.fliplr(image))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(COLOUR_ORDERS, repeat=2)))
def test_colours_are_reordered(source: str, target: str) -> None:
    image = picture(4, 5)
    made = converted(image, ImageConvention(source), ImageConvention(target), (4, 5))
    np.testing.assert_array_equal(made, image if source == target else image[..., ::-1])
    assert made.flags.c_contiguous


@pytest.mark.parametrize(
    ("size", "resize", "rendered"),
    [
        (None, None, (128, 128)),
        ((224, 224), None, (224, 224)),
        ((224, 224), "area", (224, 224)),
        ((96, 96), "area", (128, 128)),
        ((96, 96), None, None),
        ((96, 96), "magic", None),
    ],
)
def test_a_camera_renders_at_the_policys_size_where_it_can(
    size: tuple[int, int] | None, resize: str | None, rendered: tuple[int, int] | None
) -> None:
    camera = CameraSpec("front", ((128, 128), (224, 224)))
    policy = PolicySpec(PolicyIdentity("p"), image_size=size, image=ImageConvention(resize=resize))
    assert rendered_size(camera, policy) == rendered
