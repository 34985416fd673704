"""Draws ``docs/img/grounding.png``: a start of every answer suite as the agent camera sees it, to be looked at.

Usage: ``python -m tools.draw_grounding``, with the extras `sim` and `link/images` installed. Above each picture, its
suite; below, what the robot is told.
"""

from __future__ import annotations

import textwrap

from PIL import Image, ImageDraw

from tools.draw_factors import FAINT, FOLDER, IMAGES, INK, LINE, PAPER, ROOT, declare_environment
from vlassess.config import load_config
from vlassess.pipeline import planned
from vlassess_link import Benchmark
from vlassess_link.benchmarks.base import View
from vlassess_link.loading import load_target

SIDE, GAP, COLUMNS = 224, 8, 4
LETTERS, LINES = 37, 8
START = 1


def main() -> None:
    """Draw one picture and name it with its size."""
    declare_environment()
    IMAGES.mkdir(exist_ok=True)
    benchmark = load_target(str(FOLDER / "answers.py:Answers"), Benchmark, {})
    benchmark.view = View({"agent": (SIDE, SIDE)})
    config = load_config("rsb", [f"suites=[{', '.join(benchmark.spec.suites)}]", f"episodes={START + 1}"])
    episodes = [item.episode for item in planned(config, benchmark.spec) if item.episode.index == START]
    wide, tall = SIDE + GAP, SIDE + (LINES + 2) * LINE + GAP
    rows = -(-len(episodes) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * wide, rows * tall), PAPER)
    pen = ImageDraw.Draw(sheet)
    for number, episode in enumerate(episodes):
        x, y = number % COLUMNS * wide, number // COLUMNS * tall
        raw = benchmark.reset(episode)
        pen.text((x, y), episode.suite, INK)
        sheet.paste(Image.fromarray(benchmark.make_obs(raw).images["agent"]), (x, y + LINE + 3))
        for line, text in enumerate(textwrap.wrap(raw.instruction, LETTERS)[:LINES]):
            pen.text((x, y + SIDE + (line + 1) * LINE + 6), text, FAINT)
    benchmark.close()
    path = IMAGES / "grounding.png"
    sheet.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
