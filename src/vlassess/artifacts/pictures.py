"""One picture of a video: every camera side by side, over a bar that says what is seen."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vlassess.artifacts.spool import Frame
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

WIDTH = 360
"""Least width in pixels: narrower pictures are enlarged by a whole factor, so that the bar can be read."""
WIDEST = 3840
"""Greatest width in pixels: wider pictures are thinned out by a whole factor."""
GAP = 4
SIZE, LINE, MARGIN = 15, 20, 8
INSTRUCTION_LINES = 3
PAPER, INK, MUTED = (18, 21, 26), (230, 233, 238), (152, 162, 174)
COLOURS = {"success": (92, 203, 157), "failure": (255, 138, 128), "error": (242, 196, 109)}


@dataclass(frozen=True)
class Caption:
    """What a video says of itself.

    Attributes:
        instruction: As delivered.
        ending: "SUCCESS after 46 steps".
        kind: One of "success", "failure" and "error".
        where: "expert, pick/red, start 3".
    """

    instruction: str
    ending: str
    kind: str
    where: str


def caption_of(item: WorkItem, record: EpisodeRecord) -> Caption:
    """Return the caption of one attempt; its texts hold nothing that acts or cannot be drawn."""
    episode = item.episode
    cell = "".join(f", {axis}={level}" for axis, level in episode.perturbation.items())
    repeat = f", repeat {episode.repeat}" if episode.repeat else ""
    where = f"{item.policy}, {episode.suite}/{episode.task}, start {episode.index}{repeat}{cell}"
    texts = (record.instruction or "", ending_of(record), where)
    instruction, ending, place = (drawable(text) for text in texts)
    return Caption(instruction, ending, record.counts_as, place)


def ending_of(record: EpisodeRecord) -> str:
    """Return how an attempt ended, as a caption says it."""
    if record.error is not None:
        return f"ERROR of the {record.error.origin} in {record.error.phase}: {record.error.kind}"
    assert record.outcome is not None
    if record.outcome.success:
        return f"SUCCESS after {record.steps} steps"
    return f"FAILURE after {record.steps} steps, best progress {100 * record.outcome.progress:.0f} %"


def drawable(text: str) -> str:
    """Return ``text`` on one line, with what acts or has no glyph written out, cut to what a bar can hold."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in " ".join(text[:1000].split()))


@dataclass(frozen=True)
class Place:
    """Where one camera is in a video's pictures: at the top, `left` pixels from the side.

    Attributes:
        camera: Its name.
        left: Pixels of the video.
        height, width: Of the camera's own pictures.
        scale: How many pixels of the video, each way, one of the camera's has become; 0: it was thinned out.
    """

    camera: str
    left: int
    height: int
    width: int
    scale: int


def metadata_of(item: WorkItem, record: EpisodeRecord, places: Sequence[Place] = ()) -> dict[str, str]:
    """Return what a video's container says: the whole instruction as title, everything else as JSON."""
    caption = caption_of(item, record)
    told = {"instruction": record.instruction, "outcome": caption.ending, "attempt": record.attempt}
    ids = {"item_id": item.item_id, "episode_id": record.episode_id, "policy": item.policy}
    place = {"suite": record.suite, "task": record.task, "index": record.index, "seed": record.seed}
    where = {"places": [dataclasses.asdict(one) for one in places]} if places else {}
    comment = json.dumps({**told, **ids, **place, **where}, ensure_ascii=True)
    return {"title": caption.instruction, "description": f"{caption.ending}; {caption.where}", "comment": comment}


class Composer:
    """Makes every picture of one video, all of one size.

    Args:
        first: The first frame; later ones are cut or padded to its size.
        caption: What the bar says.
        total: Frames of the video.
    """

    def __init__(self, first: Frame, caption: Caption, total: int) -> None:
        self._shapes = [image.shape for image in first]
        self._total = total
        width = sum(shape[1] for shape in self._shapes) + GAP * (len(first) - 1)
        height = max(shape[0] for shape in self._shapes)
        self._thin = -(-width // WIDEST)
        self._enlarge = max(1, -(-WIDTH // width))
        self._picture_size = (
            -(-height // self._thin) * self._enlarge,
            -(-width // self._thin) * self._enlarge,
        )
        bar = _bar(caption, self._picture_size[1])
        rows, columns = self._picture_size[0] + bar.height, self._picture_size[1]
        self.size = (rows + rows % 2, columns + columns % 2)
        """(height, width) in pixels, both even, since most codecs halve the colours."""
        self._blank = np.full((*self.size, 3), PAPER, np.uint8)
        self._blank[self._picture_size[0] : rows, :columns] = np.asarray(bar)

    def places(self, cameras: Sequence[str]) -> tuple[Place, ...]:
        """Return where each camera is, in the order of every frame's images."""
        found, left = [], 0
        for camera, (height, width, _) in zip(cameras, self._shapes, strict=True):
            scale = self._enlarge if self._thin == 1 else 0
            found.append(Place(camera, self._column(left), height, width, scale))
            left += width + GAP
        return tuple(found)

    def _column(self, left: int) -> int:
        return int(-(-left // self._thin) * self._enlarge)

    def picture(self, frame: Frame, number: int) -> np.ndarray:
        """Return the picture of the state after ``number`` steps."""
        whole = np.array(self._blank)
        left = 0
        for image, shape in zip(frame, self._shapes, strict=True):
            part = image[: shape[0], : shape[1]]
            if self._thin == self._enlarge == 1:
                whole[: part.shape[0], left : left + part.shape[1]] = part
            else:
                self._place(whole, part, left)
            left += shape[1] + GAP
        counter = self._counter(number)
        top, right = self._picture_size[0] + MARGIN - 3, self._picture_size[1] - MARGIN
        whole[top : top + LINE, right - counter.shape[1] : right] = counter
        return whole

    def _place(self, whole: np.ndarray, part: np.ndarray, left: int) -> None:
        small = part[:: self._thin, :: self._thin]
        large = small.repeat(self._enlarge, 0).repeat(self._enlarge, 1)
        rows, columns = self._picture_size
        start = self._column(left)
        room = whole[:rows, start:columns]
        room[: large.shape[0], : large.shape[1]] = large[: room.shape[0], : room.shape[1]]

    def _counter(self, number: int) -> np.ndarray:
        text = f"{number}/{self._total - 1}"
        patch = Image.new("RGB", (int(font().getlength(text)) + 1, LINE), PAPER)
        ImageDraw.Draw(patch).text((0, 0), text, MUTED, font())
        counter: np.ndarray = np.asarray(patch)
        return counter


def _bar(caption: Caption, width: int) -> Image.Image:
    room = width - 2 * MARGIN
    counter = int(font().getlength(" 00000/00000"))
    lines = [(_cut(caption.ending, room - counter), COLOURS[caption.kind])]
    lines += [(line, INK) for line in _wrapped(caption.instruction, room)]
    lines.append((_cut(caption.where, room), MUTED))
    bar = Image.new("RGB", (width, LINE * len(lines) + 2 * MARGIN - 4), PAPER)
    draw = ImageDraw.Draw(bar)
    for i, (text, colour) in enumerate(lines):
        draw.text((MARGIN, MARGIN - 3 + LINE * i), text, colour, font())
    return bar


def _wrapped(text: str, room: int) -> Sequence[str]:
    lines: list[str] = []
    rest = text
    while rest and len(lines) < INSTRUCTION_LINES - 1:
        fitting = _fitting(rest, room)
        if fitting < len(rest) and " " in rest[:fitting]:
            fitting = rest.rindex(" ", 0, fitting) + 1
        lines.append(rest[:fitting].rstrip())
        rest = rest[fitting:]
    return [*lines, _cut(rest, room)] if rest else lines


def _cut(text: str, room: int) -> str:
    fitting = _fitting(text, room)
    return text if fitting == len(text) else text[: max(0, fitting - 2)] + "…"


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit into ``room`` pixels, at least 1 for a text that has any."""
    low, high = min(1, len(text)), len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if font().getlength(text[:middle]) <= room else (low, middle - 1)
    return low


@cache
def font() -> ImageFont.FreeTypeFont:
    """Return the font of the bar, which comes with matplotlib."""
    return ImageFont.truetype(str(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), SIZE)
