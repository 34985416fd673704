"""Measures weights on a suite that asks questions: plain and under every control, in runs that are gone on with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from vlassess import api, pipeline
from vlassess.catalog import Catalog
from vlassess.records import RunDirectory
from vlassess.report.text import interval, percent
from vlassess.schema.events import SilentListener
from vlassess.schema.grounded import GroundedSuite, ShareOf
from vlassess.schema.grounding import Control
from vlassess.training.progress import Reporter
from vlassess_link.jsonable import from_json
from vlassess_link.specs import PolicySpec

BENCHMARK = "tabletop-answers-single-v1"
CONTROLS: tuple[Control, ...] = get_args(Control)


def measure_controls(
    weights: Path, suite: str, episodes: int, output: Path, reporter: Reporter
) -> dict[str, GroundedSuite]:
    """Run a suite plain and under its four controls and write what they came to beside the weights.

    A run that was interrupted goes on, and one that is whole is taken as it is, as long as the weights are the same.

    Args:
        weights: ONNX file.
        suite: One that asks questions.
        episodes: Of each.
        output: Folder that the runs are made in.
        reporter: Told of each.
    """
    found: dict[str, GroundedSuite] = {}
    for control in CONTROLS:
        found[control] = _measured(weights, suite, control, episodes, output)
        reporter.say(f"{control}: {told(found[control])}")
        text = json.dumps({name: one.model_dump(mode="json") for name, one in found.items()}, indent=1)
        weights.with_suffix(".measured.json").write_text(text + "\n")
    return found


def told(one: GroundedSuite) -> str:
    """Return what a suite came to, in a line."""
    parts = [f"GSR {_share(one.gsr)}", f"right among grasps {_share(one.choice)}", f"placed {_share(one.tsr_place)}"]
    parts += [one.sentence, *filter(None, (one.followed_sentence, one.bias))]
    return "; ".join(parts)


def _share(share: ShareOf) -> str:
    rate = "undefined" if share.rate is None else f"{percent(share.rate)} ({interval(share.interval)})"
    return f"{share.times} of {share.n}, {rate}"


def _measured(weights: Path, suite: str, control: Control, episodes: int, output: Path) -> GroundedSuite:
    config: Mapping[str, object] = {
        "name": f"{weights.stem}-{control}",
        "benchmark": BENCHMARK,
        "suites": [suite],
        "episodes": episodes,
        "grounding": {"control": control},
        "policies": {"mini-vla": {"name": "mini-vla", "params": {"weights": str(weights.resolve())}}},
    }
    run = _gone_on(output, str(config["name"]), episodes, weights) or api.run(config, output=output)
    (policy,) = run.summary().policies
    (measured,) = policy.grounding
    return measured


def _gone_on(output: Path, name: str, episodes: int, weights: Path) -> api.Run | None:
    """Return the last run of this name, run to its end; None where there is none of these weights and this length."""
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    for path in sorted(output.glob(f"{name}-[0-9]*"), reverse=True):
        manifest = RunDirectory.open(path).manifest
        identities = [from_json(PolicySpec, spec).identity for spec in manifest.policy_specs.values()]
        if manifest.items == episodes and [one.weights_digest for one in identities] == [digest]:
            return api.Run.open(pipeline.resume(path, None, Catalog.discover(), SilentListener()).run_dir)
    return None
