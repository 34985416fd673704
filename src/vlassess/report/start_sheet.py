"""A fixture sheet: numbered start pictures, as files, as one picture, and as a page that holds them all.

The page needs no network and runs no script.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from PIL import Image, ImageDraw, ImageFont

from vlassess.report.text import label, one_line, printable
from vlassess.schema.starts import Start, StartSheet

GAP, MARGIN, LINE, SIZE = 4, 8, 17, 12
LEAST = 220
"""Least width of one start on the sheet, in pixels: smaller pictures are enlarged by a whole factor."""
ACROSS = 1600
"""Width of a sheet in pixels, about."""
ON_SHEET = 120
"""Starts on one sheet; more go onto further ones."""
PAPER, INK, MUTED = (18, 21, 26), (230, 233, 238), (152, 162, 174)


def write_sheet(folder: Path, sheet: StartSheet) -> list[Path]:
    """Write ``start-NNNN.png`` of each start, ``sheet-N.png`` and ``states.html``; return the sheets and the page.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for start in sheet.starts:
        if start.pictures:
            (folder / f"start-{start.number:04d}.png").write_bytes(png(joined(start.pictures)))
    written = []
    for number, first in enumerate(range(0, len(sheet.starts), ON_SHEET), 1):
        path = folder / f"sheet-{number}.png"
        path.write_bytes(png(sheet_picture(sheet.starts[first : first + ON_SHEET])))
        written.append(path)
    page = folder / "states.html"
    partial = page.with_name(page.name + ".partial")
    partial.write_text(render_page(sheet), encoding="utf-8")
    os.replace(partial, page)
    return [*written, page]


def joined(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Return a start's pictures side by side, (height, width, 3) uint8; smaller ones stand at the top."""
    height = max(picture.shape[0] for picture in pictures)
    width = sum(picture.shape[1] for picture in pictures) + GAP * (len(pictures) - 1)
    whole = np.full((height, width, 3), PAPER, np.uint8)
    left = 0
    for picture in pictures:
        whole[: picture.shape[0], left : left + picture.shape[1]] = picture
        left += picture.shape[1] + GAP
    return whole


def png(picture: np.ndarray) -> bytes:
    """Return a picture as PNG."""
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "PNG")
    return out.getvalue()


def sheet_picture(starts: Sequence[Start]) -> np.ndarray:
    """Return all starts in one picture, row by row, each with its number, place, cell and instruction below it."""
    tiles = [_tile(start) for start in starts]
    width, height = max(tile.width for tile in tiles), max(tile.height for tile in tiles)
    columns = max(1, min(len(tiles), ACROSS // (width + MARGIN)))
    rows = -(-len(tiles) // columns)
    size = (columns * (width + MARGIN) + MARGIN, rows * (height + MARGIN) + MARGIN)
    whole = Image.new("RGB", size, PAPER)
    for i, tile in enumerate(tiles):
        whole.paste(tile, (MARGIN + i % columns * (width + MARGIN), MARGIN + i // columns * (height + MARGIN)))
    found: np.ndarray = np.asarray(whole)
    return found


def render_page(sheet: StartSheet) -> str:
    """Return the page's HTML, pictures included."""
    environment = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["picture"] = lambda start: base64.b64encode(png(joined(start.pictures))).decode()
    return environment.get_template("states.html.jinja").render(sheet=sheet)


def _tile(start: Start) -> Image.Image:
    shown = Image.fromarray(joined(start.pictures)) if start.pictures else Image.new("RGB", (LEAST, LEAST // 2), PAPER)
    factor = max(1, -(-LEAST // shown.width))
    shown = shown.resize((shown.width * factor, shown.height * factor), Image.Resampling.NEAREST)
    lines = [(f"{start.number}  {start.place}", INK), (start.cell, INK)]
    lines.append((start.instruction or "", MUTED) if start.error is None else (f"no picture: {start.error}", MUTED))
    tile = Image.new("RGB", (shown.width, shown.height + LINE * len(lines) + 4), PAPER)
    tile.paste(shown, (0, 0))
    draw = ImageDraw.Draw(tile)
    for i, (text, colour) in enumerate(lines):
        draw.text((0, shown.height + 2 + LINE * i), _cut(text, tile.width), colour, _font())
    return tile


def _cut(text: str, room: int) -> str:
    whole = one_line(text)
    limit = len(whole)
    while limit > 1 and _font().getlength(label(whole, limit)) > room:
        limit -= 1
    return label(whole, limit) if whole else ""


@cache
def _font() -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), SIZE)
