"""Letters of answer blocks are read back from the agent's picture at 224 pixels, by comparing them with strokes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from vlassess_link import Benchmark, Episode
from vlassess_link.benchmarks.base import View
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.answers import Answers

SIDE = 24
"""Points along the edge of a read face."""


@pytest.fixture(scope="module")
def answers(folder: Path) -> Iterator[Answers]:
    benchmark: Answers = load_target(f"{folder / 'answers.py'}:Answers", Benchmark, {})
    yield benchmark
    benchmark.close()


def drawn(segments: Any, margin: float, wide: float, width: float) -> np.ndarray:
    """Return how a letter looks on its face, (SIDE, SIDE), 1 where there is ink; row 0 is its upper edge."""
    at = (np.arange(SIDE) + 0.5) / SIDE
    x, y = np.meshgrid(at, at[::-1])
    tall = 1 - 2 * margin
    ink = np.zeros((SIDE, SIDE))
    for (ax, ay), (bx, by) in segments:
        a = np.array(((ax - 0.5) * tall * wide + 0.5, (ay - 0.5) * tall + 0.5))
        b = np.array(((bx - 0.5) * tall * wide + 0.5, (by - 0.5) * tall + 0.5))
        along = np.clip(((x - a[0]) * (b - a)[0] + (y - a[1]) * (b - a)[1]) / ((b - a) @ (b - a)), 0, 1)
        away = np.hypot(x - a[0] - along * (b - a)[0], y - a[1] - along * (b - a)[1])
        ink = np.maximum(ink, away < 1.3 * width * tall)
    return ink


def top_face(picture: np.ndarray, camera: Any, item: Any, half: float, module: Callable[[str], Any]) -> np.ndarray:
    """Return the darkness of a block's top as its letter stands, (SIDE, SIDE), bilinear."""
    project, rotated = module("views").project, module("rotations").rotated
    at = (np.arange(SIDE) + 0.5) / SIDE - 0.5
    gray = 255.0 - picture.mean(2)
    size = picture.shape[0]
    found = np.zeros((SIDE, SIDE))
    for row, up in enumerate(at[::-1]):
        for column, right in enumerate(at):
            # The letter's right is the block's y, its up the block's -x.
            place = item.position + rotated(item.quaternion, (-2 * half * up, 2 * half * right, half))
            u, v = project(camera, tuple(place))
            x, y = (u + 1) / 2 * size - 0.5, (1 - v) / 2 * size - 0.5
            x0, y0 = int(np.clip(x, 0, size - 2)), int(np.clip(y, 0, size - 2))
            fx, fy = x - x0, y - y0
            square = gray[y0 : y0 + 2, x0 : x0 + 2]
            found[row, column] = np.array((1 - fy, fy)) @ square @ np.array((1 - fx, fx))
    return found


@pytest.mark.parametrize("suite", ["rsb-math-4", "rsb-math-10"])
def test_letters_are_legible_at_224_pixels(
    answers: Answers, make_episode: Callable[..., Episode], module: Callable[[str], Any], suite: str
) -> None:
    glyphs, scene = module("glyphs"), module("answer_scene")
    camera = next(camera for camera in scene.answer_base("bimanual").cameras if camera.name == "agent")
    looks = {
        letter: drawn(glyphs.strokes(letter), glyphs._MARGIN, glyphs._WIDE, glyphs._STROKE) for letter in glyphs.LETTERS
    }
    answers.view = View({"agent": (224, 224)})
    read, total = 0, 0
    for seed in range(12):
        raw = answers.reset(make_episode(suite, "answer", seed, step_limit=200))
        picture = answers.make_obs(raw).images["agent"]
        truth = answers.privileged()
        for name in truth.names:
            face = top_face(picture, camera, truth.items[name], glyphs.HALF, module)
            best = max(looks, key=lambda letter: float(np.corrcoef(face.ravel(), looks[letter].ravel())[0, 1]))
            read, total = read + (best == name), total + 1
    assert total == 12 * int(suite.rpartition("-")[2])
    assert read >= 0.98 * total, f"{read} of {total} letters were read"
