"""How busy a campaign keeps a batched policy server, and how fast pictures are perturbed.

The stand-in for a policy on an accelerator leaves the processor alone while it is asked: a query of n observations
takes 20 ms and 2.5 ms more for each. What it was busy with is counted in the server, from the first query of the
campaign to the last.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from reporting import at_least, bench
from scipy.ndimage import map_coordinates

from vlassess.campaign import CampaignConfig
from vlassess.campaign.events import SilentWatcher
from vlassess.catalog import Catalog
from vlassess.pipeline.validating import start_campaign
from vlassess.robustness.perturbations import Source, family
from vlassess_link import ActionChunk, Observation, PolicyIdentity, PolicySpec, PredictModelServer, SessionContext
from vlassess_link.policies.model import Answer
from vlassess_link.spaces import end_effector_delta

BASE, EACH = 0.020, 0.0025
BUSY = 0.9
SPEEDUP = 5.0
SIZE = 224
OBSERVATIONS, SIDE = 12, 128


class Accelerated(PredictModelServer):
    """Answers a smooth function of both pictures, as late as an accelerator would."""

    def __init__(self, log: str = "") -> None:
        self.spec = PolicySpec(
            PolicyIdentity("accelerated", revision="1"),
            cameras=("front", "wrist"),
            image_size=(SIDE, SIDE),
            image_dtypes=("uint8", "float32"),
            action=end_effector_delta(),
        )
        self._weights = np.random.default_rng(0).normal(size=(6, 7)) / 4
        self._log = Path(log)

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Answer every row by itself."""
        began = time.monotonic()
        answers: list[Answer] = []
        for one in obs:
            seen = np.concatenate(
                [one.images[view].mean(axis=(0, 1), dtype=np.float64) for view in self.spec.cameras or ()]
            )
            answers.append(ActionChunk(np.tanh(seen / 255 @ self._weights)[None]))
        time.sleep(max(0.0, began + BASE + EACH * len(obs) - time.monotonic()))
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps([began, time.monotonic(), len(obs)]) + "\n")
        return answers


def measure_busy(full: bool) -> None:
    """Print how busy the server is, as the median of campaigns, and the speed of a rotation."""
    shares, rates = zip(*(_campaign() for _ in range(5 if full else 3)), strict=True)
    bench("validation.campaign.queries_per_second", statistics.median(rates))
    at_least("validation.campaign.server_busy", statistics.median(shares), BUSY)
    at_least("validation.rotation.speedup_batch_8", _rotation(8), SPEEDUP)
    bench("validation.rotation.speedup_one_at_a_time", _rotation(1))


def _campaign() -> tuple[float, float]:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = rng.integers(30, 220, (OBSERVATIONS, 2, SIDE, SIDE, 3), np.uint8)
        np.savez(folder / "pictures.npz", images_front=pictures[:, 0], images_wrist=pictures[:, 1])
        config = CampaignConfig.model_validate(
            {
                "policies": {"it": {"serve": f"{__file__}:Accelerated", "params": {"log": str(folder / "log")}}},
                "observations": {"npz": str(folder / "pictures.npz")},
                "families": [
                    {"family": "brightness", "radii": [0.02, 0.05]},
                    {"family": "composition", "radii": [[0.02, 1.0], [0.05, 2.0]]},
                ],
                "specification": {"tolerances": {"position": 0.2, "rotation": 0.2}},
                "solver": {"cover": 0.02, "budget": 300},
                "draws": 0,
                "output": str(folder / "campaigns"),
            }
        )
        start_campaign(config, Catalog({}, {}), SilentWatcher())
        calls = [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]
    # What is asked before the first region - clean answers, and the same question twice - is no campaign yet.
    calls = calls[OBSERVATIONS + 21 :]
    whole = calls[-1][1] - calls[0][0]
    return sum(end - begin for begin, end, _ in calls) / whole, sum(size for _, _, size in calls) / whole


def _rotation(pictures: int) -> float:
    """Return how much faster pictures are turned than by scipy: medians of processor time, in turn."""
    picture = np.random.default_rng(0).uniform(0, 255, (SIZE, SIZE, 3)).astype(np.float32)
    angles = np.linspace(-0.3, 0.3, pictures + 1)[1:, None]
    kind, views = family("rotation"), [Source(picture)]
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2

    def by_scipy() -> float:
        spent = 0.0
        for angle in angles[:, 0]:
            cos, sin = np.cos(angle), np.sin(angle)
            places = [cos * y - sin * x + (SIZE - 1) / 2, cos * x + sin * y + (SIZE - 1) / 2]
            spent += _seconds(partial(_resampled, picture, places))
        return spent

    pairs = [(by_scipy(), _seconds(lambda: kind.perturbed(views, angles))) for _ in range(1 + 40 // pictures)]
    return statistics.median(one for one, _ in pairs) / statistics.median(other for _, other in pairs)


def _resampled(picture: np.ndarray, places: list[np.ndarray]) -> None:
    for channel in range(3):
        map_coordinates(picture[..., channel], places, order=1, mode="grid-constant")


def _seconds(function: Callable[[], object]) -> float:
    began = time.thread_time()
    function()
    return time.thread_time() - began
