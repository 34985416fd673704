"""Encoded images: read as a peer wrote them, sent as a peer reads them, and bounded before they are decoded."""

from __future__ import annotations

import io
import random
import resource
import struct
import zlib
from typing import Any

import msgpack
import numpy as np
import pytest
from PIL import Image

from vlassess_link.errors import ContractError, DecodeError, EncodeError
from vlassess_link.wire import codec, images

RNG = np.random.default_rng(5)


def noise(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    rows, columns = np.mgrid[0:height, 0:width]
    return np.stack([rows * 3, columns * 2, rows + columns], axis=-1).astype(np.uint8)


def file_of(image: np.ndarray, form: str) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, form)
    return out.getvalue()


def frame(data: Any, form: str, shape: Any, **more: Any) -> bytes:
    packed: bytes = msgpack.packb({"a": {"__image__": True, "format": form, "data": data, "shape": shape, **more}})
    return packed


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 7, 3), (6, 4, 4), (4, 6, 1), (256, 256, 3)])
def test_png_is_exact_both_ways(shape: tuple[int, ...]) -> None:
    image = noise(*shape)
    packed = codec.pack({"images": {"a": image, "b": image[::-1]}}, "png")
    back = codec.unpack(packed)["images"]
    assert back["a"].dtype == np.uint8
    assert not back["a"].flags.writeable
    np.testing.assert_array_equal(back["a"], image)
    np.testing.assert_array_equal(back["b"], image[::-1])
    raw = msgpack.unpackb(packed)["images"]["a"]
    assert (raw["__image__"], raw["format"], raw["shape"]) == (True, "png", list(shape))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(raw["data"]))).reshape(shape), image)


def test_jpeg_is_near_both_ways() -> None:
    image = smooth(48, 64)
    packed = codec.pack({"a": image}, "jpeg")
    back = codec.unpack(packed)["a"]
    assert back.shape == image.shape
    assert np.abs(back.astype(int) - image).mean() < 6
    assert not np.array_equal(back, image)
    assert len(packed) < image.nbytes / 2


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_what_is_no_picture_is_sent_raw(form: str) -> None:
    message: dict[str, np.ndarray] = {
        "float": np.zeros((2, 2, 3), np.float32),
        "empty": np.zeros((0, 4, 3), np.uint8),
        "two": noise(4, 4, 2),
    }
    back = codec.unpack(codec.pack(message, form))
    for name, array in message.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def test_what_jpeg_cannot_hold_is_refused_by_the_sender() -> None:
    with pytest.raises(EncodeError, match=r"message\.a has 4 channels.*png or raw"):
        codec.pack({"a": noise(4, 4, 4)}, "jpeg")


def test_an_unknown_format_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ContractError, match="images is 'webp'; it must be one of raw, png, jpeg"):
        images.require_format("webp")
    assert images.require_format("png") == "png"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int, bits: int = 8, colour: int = 2) -> bytes:
    """Return a PNG of a few kilobytes that says it has this size, all zeros."""
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    rows = zlib.compress(bytes(4_000_000), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "form", "shape", "says"),
    [
        (bomb(60_000, 60_000), "png", [60_000, 60_000, 3], "one image too much"),
        (bomb(60_000, 60_000), "png", [4, 4, 3], "is no PNG|its sender declared 4x4 RGB"),
        (bomb(8000, 8000), "png", [4, 4, 3], "of 8000x8000 RGB; its sender declared 4x4 RGB"),
        (bomb(60_000, 60_000, 8, 0), "png", [9_000, 9_000, 1], "at most 67108864 pixels"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [6, 4, 3], "of 4x6 RGB; its sender declared 6x4 RGB"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [4, 6, 1], "declared 4x6 L"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [4, 6], r"it must be \(H, W, 1, 3 or 4\)"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [4, 6, 2], r"it must be \(H, W, 1, 3 or 4\)"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [0, 6, 3], r"it must be \(H, W, 1, 3 or 4\)"),
        (file_of(noise(4, 6, 3), "PNG"), "png", [-4, -6, 3], "impossible shape"),
        (file_of(noise(4, 6, 3), "PNG"), "png", None, "impossible shape"),
        (file_of(noise(4, 6, 3), "PNG"), "jpeg", [4, 6, 3], "is no JPEG image: UnidentifiedImageError"),
        (file_of(noise(40, 60, 3), "PNG")[:-90], "png", [40, 60, 3], "is no PNG image"),
        (file_of(noise(40, 60, 3), "JPEG")[:-90], "jpeg", [40, 60, 3], "is no JPEG image"),
        (b"x", "png", [1, 1, 3], "is no PNG image"),
        ("text", "png", [1, 1, 3], "not bytes"),
        (b"x", "webp", [1, 1, 3], "unknown format 'webp'"),
    ],
)
def test_what_is_not_as_declared_is_refused(data: Any, form: str, shape: Any, says: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DecodeError, match=rf"message\.a .*({says})"):
        codec.unpack(frame(data, form, shape))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_the_images_of_a_frame_are_bounded_together() -> None:
    packed = bomb(8192, 8192)
    many = [{"__image__": True, "format": "png", "data": packed, "shape": [8192, 8192, 3]}] * 3
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DecodeError, match=r"is no PNG|one image too much"):
        codec.unpack(msgpack.packb({"a": many}))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_mutated_files_give_only_the_documented_error(form: str) -> None:
    rng = random.Random(1)
    whole = file_of(smooth(24, 24), form)
    for _ in range(600):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = rng.choice((len(data), rng.randrange(len(data))))
        try:
            assert codec.unpack(frame(bytes(data[:cut]), form, [24, 24, 3]))["a"].shape == (24, 24, 3)
        except DecodeError:
            continue
