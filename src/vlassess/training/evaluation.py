"""Measures weights with the ordinary run: the embedded benchmark, its own starts, every record on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vlassess import api
from vlassess.training.world import World


@dataclass(frozen=True)
class Measured:
    """What a suite came to.

    Attributes:
        successes, episodes: Counted.
        low, high: The exact 95 % interval of the rate.
        run_dir: Where the records are.
    """

    successes: int
    episodes: int
    low: float | None
    high: float | None
    run_dir: str


def measure(weights: Path, suites: tuple[str, ...], at_least: int, output: Path) -> dict[str, Measured]:
    """Run at least so many episodes of each suite and write what they came to beside the weights.

    Args:
        weights: ONNX file.
        suites: One run each.
        at_least: Episodes a suite; every task gets equally many.
        output: Folder that the runs are made in.
    """
    found = {suite: _run(weights, suite, at_least, output) for suite in suites}
    text = json.dumps({suite: vars(measured) for suite, measured in found.items()}, indent=1)
    weights.with_suffix(".measured.json").write_text(text + "\n")
    return found


def sentence(measured: Mapping[str, Measured]) -> str:
    """Return a line a suite."""
    return "\n".join(
        f"{suite}: {one.successes} of {one.episodes} ({one.successes / one.episodes:.1%}, "
        f"95 % {one.low or 0.0:.1%} to {1.0 if one.high is None else one.high:.1%})  {one.run_dir}"
        for suite, one in measured.items()
    )


def _run(weights: Path, suite: str, at_least: int, output: Path) -> Measured:
    world = World((suite,))
    tasks = len(world.jobs)
    world.close()
    config = {
        "name": f"{weights.stem}-{suite}",
        "benchmark": "tabletop-v1",
        "suites": [suite],
        "episodes": math.ceil(at_least / tasks),
        "policies": {"mini-vla": {"name": "mini-vla", "params": {"weights": str(weights.resolve())}}},
    }
    run = api.run(config, output=output)
    (policy,) = run.summary().policies
    exact = policy.overall.rate.clopper_pearson
    return Measured(
        successes=policy.overall.counts.success,
        episodes=policy.overall.rate.n,
        low=exact.low if exact else None,
        high=exact.high if exact else None,
        run_dir=str(run.run_dir),
    )
