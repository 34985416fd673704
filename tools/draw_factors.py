"""Draws ``docs/img/factors-*.png``: every axis of the tabletop at every level beside its control, to be looked at.

Usage: ``python tools/draw_factors.py``, with the extras `sim` and `link/images` installed. A row is one axis: first the
control, then its levels from mild to strong; from top to bottom the agent camera and the wrist cameras, and what the
robot is told where that differs from the control.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from vlassess_link import Axis, Benchmark, Episode
from vlassess_link.benchmarks.base import View
from vlassess_link.loading import load_target

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "vlassess" / "benchmarks" / "tabletop"
IMAGES = ROOT / "docs" / "img"
EMBODIMENTS = ("single", "bimanual")
RENDERED, SHOWN, GAP, LINE = 224, 128, 4, 11
LETTERS = 20
SEED = 3
SUITE, TASK = "pick", "red_block"
PAPER, INK, FAINT = (255, 255, 255), (30, 30, 30), (120, 120, 120)

Column = tuple[str, list[np.ndarray], str]
"""Title, pictures from top to bottom, what is written below."""


def main() -> None:
    """Draw one picture an embodiment and name each with its size."""
    declare_environment()
    IMAGES.mkdir(exist_ok=True)
    for embodiment in EMBODIMENTS:
        benchmark = load_target(str(FOLDER / "adapter.py:Tabletop"), Benchmark, {"embodiment": embodiment})
        benchmark.view = View({camera.name: (RENDERED, RENDERED) for camera in benchmark.spec.cameras})
        rows = [draw_row(axis.name, list(columns(benchmark, axis))) for axis in benchmark.spec.axes]
        path = IMAGES / f"factors-{embodiment}.png"
        stacked(rows).quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2).save(path, optimize=True)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")
        benchmark.close()


def declare_environment() -> None:
    """Set what ``benchmark.toml`` declares, before MuJoCo is loaded."""
    text = (FOLDER / "benchmark.toml").read_text(encoding="utf-8")
    os.environ.update(re.findall(r'^([A-Z_]+) = "(.*)"$', text, re.M))


def columns(benchmark: Benchmark, axis: Axis) -> Iterator[Column]:
    """Yield the control and the levels of an axis, all of one start."""
    pictures, told = shot(benchmark, {})
    yield "control", pictures, told
    for level in axis.levels:
        pictures, text = shot(benchmark, {axis.name: level.name})
        yield level.name, pictures, "" if text == told else text


def shot(benchmark: Benchmark, perturbation: dict[str, str]) -> tuple[list[np.ndarray], str]:
    """Return the pictures of all cameras and the instruction of a start."""
    episode = Episode(
        episode_id="factors",
        pair_key="00",
        benchmark=benchmark.spec.ref,
        suite=SUITE,
        task=TASK,
        index=0,
        seed=SEED,
        policy_seed=0,
        step_limit=1,
        perturbation=perturbation,
    )
    raw = benchmark.reset(episode)
    return list(benchmark.make_obs(raw).images.values()), raw.instruction


def draw_row(name: str, shown: list[Column]) -> Image.Image:
    """Return one axis: a column for the control and for each level."""
    texts = [textwrap.wrap(text, LETTERS) for _, _, text in shown]
    head, pitch = 2 * LINE + 4, SHOWN + GAP
    tall = head + len(shown[0][1]) * pitch + LINE * max(map(len, texts)) + 8
    row = Image.new("RGB", (len(shown) * pitch, tall), PAPER)
    pen = ImageDraw.Draw(row)
    pen.text((2, 0), name, INK)
    for number, (title, pictures, _) in enumerate(shown):
        left = number * pitch
        pen.text((left + 2, LINE), title, FAINT)
        for place, picture in enumerate(pictures):
            small = Image.fromarray(picture).resize((SHOWN, SHOWN), Image.Resampling.LANCZOS)
            row.paste(small, (left, head + place * pitch))
        pen.multiline_text((left + 2, head + len(pictures) * pitch), "\n".join(texts[number]), INK, spacing=0)
    return row


def stacked(rows: list[Image.Image]) -> Image.Image:
    """Return the rows below one another."""
    page = Image.new("RGB", (max(row.width for row in rows), sum(row.height for row in rows)), PAPER)
    top = 0
    for row in rows:
        page.paste(row, (0, top))
        top += row.height
    return page


if __name__ == "__main__":
    main()
