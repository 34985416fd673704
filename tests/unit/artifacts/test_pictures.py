from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.artifacts.support import pictures
from tests.unit.runs import FAILURE, error_of, items_of, record_of
from vlassess.artifacts.pictures import WIDEST, WIDTH, Caption, caption_of, drawable, metadata_of
from vlassess_link.data import EpisodeRecord

CAPTION = Caption("pick up the red block", "SUCCESS after 4 steps", "success", "main, walk/to-4, start 0")
HOSTILE = [
    "<script>alert(1)</script>",
    "\ud800 lone",
    "x" * 10_000,
    "",
    "把红色方块放进碗里",
    "a\u202eb\x1b[31m\x00\n\nc",
    "🦾" * 300,
]
SIZE = st.tuples(st.integers(1, 90), st.integers(1, 90))


@given(sizes=st.lists(SIZE, min_size=1, max_size=3), text=st.one_of(st.sampled_from(HOSTILE), st.text()))
def test_pictures_are_even_wide_enough_and_of_one_size(sizes: list[tuple[int, int]], text: str) -> None:
    frames = [tuple(np.full((*size, 3), 40 * n, np.uint8) for size in sizes) for n in range(2)]
    record = replace(record_of(items_of()[0]), instruction=text)

    made = list(pictures(iter(frames), caption_of(items_of()[0], record), 2))

    assert len({picture.shape for picture in made}) == 1
    height, width, depth = made[0].shape
    assert (height % 2, width % 2, depth) == (0, 0, 3)
    assert width >= WIDTH
    assert made[0].dtype == np.uint8


def test_cameras_stand_side_by_side_over_the_caption() -> None:
    left, right = np.full((30, 40, 3), 200, np.uint8), np.full((50, 40, 3), 90, np.uint8)

    (picture,) = pictures(iter([(left, right)]), CAPTION, 1)

    enlarged = -(-WIDTH // 84)
    assert (picture[: 30 * enlarged, : 40 * enlarged] == 200).all()
    assert (picture[: 50 * enlarged, 44 * enlarged : 84 * enlarged] == 90).all()
    bar = picture[50 * enlarged :]
    assert bar.max() > 150, "something is written"
    assert (bar.min(axis=(0, 1)) < 40).all()


def test_a_picture_that_is_too_wide_is_thinned_out() -> None:
    (picture,) = pictures(iter([(np.zeros((10, 3 * WIDEST, 3), np.uint8),)]), CAPTION, 1)
    assert picture.shape[1] == WIDEST


def test_a_frame_of_another_size_is_cut_or_padded() -> None:
    frames = [(np.full((20, 20, 3), 200, np.uint8),), (np.full((10, 30, 3), 200, np.uint8),)]
    first, second = pictures(iter(frames), CAPTION, 2)
    assert first.shape == second.shape


def test_the_bar_counts_steps() -> None:
    frame = (np.zeros((48, 480, 3), np.uint8),)
    first, second = pictures(iter([frame, frame]), CAPTION, 2)
    assert not np.array_equal(first, second)
    assert np.array_equal(first[:, :300], second[:, :300])


@pytest.mark.parametrize(
    ("record", "ending", "kind"),
    [
        (record_of(items_of()[0]), "SUCCESS after 0 steps", "success"),
        (record_of(items_of()[0], outcome=FAILURE), "FAILURE after 0 steps, best progress 50 %", "failure"),
        (record_of(items_of()[0], error=error_of()), "ERROR of the benchmark in step: ValueError", "error"),
        (record_of(items_of()[0], error=error_of("policy")), "ERROR of the policy in step: ValueError", "failure"),
    ],
)
def test_a_caption_says_how_it_ended(record: EpisodeRecord, ending: str, kind: str) -> None:
    caption = caption_of(items_of()[0], record)
    assert (caption.ending, caption.kind, caption.where) == (ending, kind, "main, walk/to-4, start 0")


@pytest.mark.parametrize("text", HOSTILE)
def test_metadata_hold_the_whole_instruction_and_can_be_encoded(text: str) -> None:
    told = metadata_of(items_of()[0], replace(record_of(items_of()[0]), instruction=text))

    assert json.loads(told["comment"])["instruction"] == text
    for value in told.values():
        value.encode("utf-8")


@given(st.text())
def test_what_is_drawn_is_printable(text: str) -> None:
    assert drawable(text).isprintable()
