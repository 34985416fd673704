"""Videos are read back with FFmpeg, and a file of the same pictures is the same file."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vlassess.media import (
    COMPACT,
    LOSSLESS,
    Codec,
    EncodeError,
    VideoWriter,
    chosen,
    frames_of,
    png,
    stream_info,
    title_of,
    unpng,
)

SIZE = st.tuples(st.integers(1, 70), st.integers(1, 70))


def noise(count: int, size: tuple[int, int], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (*size, 3), np.uint8) for _ in range(count)]


def smooth(count: int, size: tuple[int, int] = (64, 96)) -> list[np.ndarray]:
    """Return pictures as simulators draw them: smooth ground, something that moves."""
    rows, columns = (np.linspace(0, 1, side) for side in size)
    ground = (60 + 120 * rows[:, None, None] + 40 * columns[None, :, None] * np.ones(3)).astype(np.uint8)
    pictures = [ground.copy() for _ in range(count)]
    for n, picture in enumerate(pictures):
        picture[10:30, n : n + 20] = (200, 40, 40)
    return pictures


def write(path: Path, pictures: list[np.ndarray], codec: Codec, whole: tuple[int, ...] = ()) -> None:
    with VideoWriter(path, codec, 20.0, {"title": "wrist, left"}) as writer:
        for n, picture in enumerate(pictures):
            writer.add(picture, n in whole)


@pytest.mark.parametrize("codec", [codec for codec in LOSSLESS if codec.name in av.codecs_available])
@settings(max_examples=15, deadline=None)
@given(size=SIZE, count=st.integers(1, 5), seed=st.integers(0, 9))
def test_lossless_means_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, codec: Codec, size: tuple[int, int], count: int, seed: int
) -> None:
    assume(codec.name == "libx264rgb" or min(size) >= 8)  # the other one has a least size
    path = tmp_path_factory.mktemp("video") / "camera.mkv"
    given_pictures = noise(count, size, seed)

    write(path, given_pictures, codec)

    found = list(frames_of(path))
    assert len(found) == count
    assert all(np.array_equal(a, b) for a, b in zip(found, given_pictures, strict=True))
    assert title_of(path) == "wrist, left"


def test_compact_is_small_and_close(tmp_path: Path) -> None:
    path, pictures = tmp_path / "camera.mp4", smooth(60)

    write(path, pictures, chosen(COMPACT))

    found = list(frames_of(path))
    assert len(found) == 60
    error = np.array(found, np.float64) - np.array(pictures)
    assert 10 * np.log10(255**2 / np.mean(error**2)) > 36, "PSNR in dB"
    assert path.stat().st_size < 0.05 * np.array(pictures).nbytes
    assert stream_info(path) == {"codec": "h264", "pix_fmt": "yuv420p", "height": 64, "width": 96, "fps": 20.0}


def test_colours_come_back_as_they_were(tmp_path: Path) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (200, 120, 40)]
    pictures = [np.full((32, 32, 3), colour, np.uint8) for colour in colours]

    write(tmp_path / "camera.mp4", pictures, chosen(COMPACT))

    for picture, found in zip(pictures, frames_of(tmp_path / "camera.mp4"), strict=True):
        assert np.abs(picture.astype(int) - found).max() <= 4


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_the_same_pictures_give_the_same_file(tmp_path: Path, suffix: str) -> None:
    codec = chosen(COMPACT if suffix == ".mp4" else LOSSLESS)
    for name in ("a", "b"):
        write(tmp_path / f"{name}{suffix}", smooth(20), codec, whole=(7,))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("first", [0, 1, 6, 7, 39])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_part_is_the_same_as_in_the_whole(tmp_path: Path, first: int, suffix: str) -> None:
    path = tmp_path / f"camera{suffix}"
    write(path, smooth(40), chosen(COMPACT if suffix == ".mp4" else LOSSLESS), whole=(7,))

    whole, part = list(frames_of(path)), list(frames_of(path, first, 3))

    assert len(part) == min(3, 40 - first)
    assert all(np.array_equal(a, b) for a, b in zip(part, whole[first:], strict=False))


def test_a_whole_picture_begins_where_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "camera.mp4", smooth(12), chosen(COMPACT), whole=(7,))
    with av.open(str(tmp_path / "camera.mp4")) as video:
        keys = [frame.key_frame for frame in video.decode(video=0)]
    assert keys[7]
    assert keys[0]


def test_pictures_of_changing_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EncodeError, match="picture 1 is 4x6, the first one 4x4"):
        write(tmp_path / "camera.mkv", [*noise(1, (4, 4)), *noise(1, (4, 6))], chosen(LOSSLESS))


def test_odd_sides_are_refused_where_colours_are_halved(tmp_path: Path) -> None:
    with pytest.raises(EncodeError, match="5x4; a compact video needs even sides"):
        write(tmp_path / "camera.mp4", noise(1, (5, 4)), chosen(COMPACT))


def test_an_encoder_that_is_not_there_is_named() -> None:
    with pytest.raises(EncodeError, match="none of the encoders no-such-codec: install its wheel"):
        chosen([Codec("no-such-codec", "rgb24")])


@given(size=SIZE, seed=st.integers(0, 99))
def test_png_loses_nothing(size: tuple[int, int], seed: int) -> None:
    (picture,) = noise(1, size, seed)
    assert np.array_equal(unpng(png(picture)), picture)
