"""Videos of one camera, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from vlassess.media.codecs import Codec, EncodeError

MATRIX = 6
"""SMPTE 170M: how RGB becomes YUV. It is what decoders take for granted at this size, and it is written down too."""
NARROW = 1
"""Range of YUV: 16 to 235."""
# Without bitexact, files hold random ids, and two of the same pictures differ; with faststart, a browser shows the
# beginning before it has the end.
CONTAINERS = {
    ".mp4": ("mp4", {"movflags": "+faststart", "fflags": "+bitexact"}),
    ".mkv": ("matroska", {"fflags": "+bitexact"}),
}


def rate_of(fps: float) -> Fraction:
    """Return pictures per second as a fraction that containers can hold."""
    return Fraction(fps).limit_denominator(1001)


class VideoWriter:
    """Writes one stream of equally large pictures; to be closed.

    Args:
        path: The file; its ending, ``.mp4`` or ``.mkv``, says in which container.
        codec: See `codecs.chosen`.
        fps: Pictures per second.
        metadata: Of the container.

    Attributes:
        frames: How many were given.
        bytes: Size of what came out of the encoder so far.
        shape: (height, width) of the first picture; None before it.
    """

    def __init__(self, path: Path, codec: Codec, fps: float, metadata: Mapping[str, str] | None = None) -> None:
        import av

        self.frames = 0
        self.bytes = 0
        self.shape: tuple[int, int] | None = None
        self._codec = codec
        self._rate = rate_of(fps)
        self._even = codec.pixels == "yuv420p"
        name, options = CONTAINERS[path.suffix]
        self._container: Any = av.open(str(path), "w", format=name, options=dict(options))
        self._container.metadata.update(metadata or {})
        self._stream: Any = None

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, image: np.ndarray, whole: bool = False) -> None:
        """Add a picture, (height, width, 3) uint8; ``whole``: it must not need an earlier one to be decoded.

        Raises:
            EncodeError: its size is not that of the first one, or odd where the codec halves the colours.
        """
        import av

        size = (int(image.shape[0]), int(image.shape[1]))
        if self.shape is None:
            self._begin(size)
        if size != self.shape:
            raise EncodeError(f"picture {self.frames} is {_said(size)}, the first one {_said(self.shape or size)}")
        frame: Any = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
        if self._codec.pixels == "yuv420p":
            frame = frame.reformat(format="yuv420p", dst_colorspace=MATRIX, dst_color_range=NARROW)
        frame.pts = self.frames
        frame.time_base = 1 / self._rate
        if whole:
            frame.pict_type = av.video.frame.PictureType.I
        self._mux(self._stream.encode(frame))
        self.frames += 1

    def close(self) -> None:
        """Write what the encoder still holds, and the end of the file."""
        if self._container is None:
            return
        try:
            if self._stream is not None:
                self._mux(self._stream.encode())
        finally:
            container, self._container = self._container, None
            container.close()

    def _begin(self, size: tuple[int, int]) -> None:
        if self._even and (size[0] % 2 or size[1] % 2):
            raise EncodeError(f"pictures are {_said(size)}; a compact video needs even sides: keep them lossless")
        self.shape = size
        self._stream = self._container.add_stream(self._codec.name, rate=self._rate, options=dict(self._codec.options))
        self._stream.height, self._stream.width = size
        self._stream.pix_fmt = self._codec.pixels
        if self._codec.pixels == "yuv420p":
            context = self._stream.codec_context
            context.colorspace, context.color_range = MATRIX, NARROW

    def _mux(self, packets: Any) -> None:
        for packet in packets:
            self.bytes += packet.size
            self._container.mux(packet)


def frames_of(path: Path, first: int = 0, count: int | None = None) -> Iterator[np.ndarray]:
    """Yield pictures of a video, (height, width, 3) uint8: ``count`` from number ``first`` on, None: to the end."""
    import av

    with av.open(str(path)) as container:
        stream: Any = container.streams.video[0]
        stream.codec_context.thread_count = 1
        step = 1 / (stream.average_rate * stream.time_base)
        if first:
            container.seek(round(first * step), stream=stream)
        given = 0
        for frame in container.decode(stream):
            number = round(frame.pts / step)
            if number < first:
                continue
            if count is not None and given >= count:
                return
            given += 1
            image: np.ndarray = frame.to_ndarray(format="rgb24")
            yield image


def count_of(path: Path) -> int:
    """Return how many pictures a video has; none is decoded."""
    import av

    with av.open(str(path)) as container:
        return sum(packet.size > 0 for packet in container.demux(video=0))


def title_of(path: Path) -> str:
    """Return the title in a video's container, empty where it has none."""
    return _told(path, "title")


def comment_of(path: Path) -> str:
    """Return the comment in a video's container, empty where it has none."""
    return _told(path, "comment")


def _told(path: Path, key: str) -> str:
    import av

    with av.open(str(path)) as container:
        return next((text for name, text in container.metadata.items() if name.lower() == key), "")


def stream_info(path: Path) -> dict[str, Any]:
    """Return codec, pixel format, height, width and pictures per second of a video."""
    import av

    with av.open(str(path)) as container:
        stream: Any = container.streams.video[0]
        return {
            "codec": stream.codec_context.codec.canonical_name,
            "pix_fmt": stream.pix_fmt,
            "height": stream.height,
            "width": stream.width,
            "fps": float(stream.average_rate),
        }


def _said(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
