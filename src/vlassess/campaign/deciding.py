"""One region from its first query to its record: the solver, the witness asked again alone, the random draws.

Nothing here asks a policy. Each step is a generator that yields parameters and is sent what came of them, so that the
questions of many regions can share a batch.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vlassess.campaign.asking import Answered
from vlassess.campaign.items import RegionItem, RegionRecord
from vlassess.robustness import Adversarial, Certificate, Robust, Run, Settings, Unknown
from vlassess.robustness.perturbations import Box
from vlassess.robustness.specifications import Floats

DRAWS_AT_ONCE = 16
NO_ANSWER = "the policy gave no valid answer"


class Ask(NamedTuple):
    """Parameters whose answers are wanted.

    Attributes:
        thetas: (n, N).
        alone: Each is asked in a query of its own.
    """

    thetas: Floats
    alone: bool = False


Steps = Generator[Ask, Answered, "Decided"]
Draws = Generator[Ask, Answered, int]


class Decided(NamedTuple):
    """A region's record, and the certificate that it rests on."""

    record: RegionRecord
    certificate: Certificate


@dataclass(frozen=True)
class Region:
    """One region, and what is known of it before the first query.

    Attributes:
        item: The work item.
        box: Its parameters.
        settings: The solver, with the policy's noise.
        terms: The terms' names.
        ambiguous: What nothing is claimed of.
        draws: Random draws if it has a counterexample.
        seed: Of these.
    """

    item: RegionItem
    box: Box
    settings: Settings
    terms: tuple[str, ...]
    ambiguous: tuple[str, ...]
    draws: int
    seed: int

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.box.low)


def decide(region: Region) -> Steps:
    """Decide a region; see `Decided`."""
    began = time.monotonic()
    run = Run(region.settings, region.dimension, len(region.terms))
    while run.verdict is None:
        answered = yield Ask(region.box.parameters(run.ask()))
        run.tell(answered.terms)
    certificate = run.certificate()
    numbers: dict[str, float] = {"smallest": run.smallest}
    verdict = run.verdict
    reason, theta, answer = "", (), ()
    constants: tuple[float, ...] = ()
    kind: str = verdict.kind
    if isinstance(verdict, Robust):
        numbers |= {"lower_bound": verdict.lower_bound, "cover": verdict.cover}
        constants = verdict.constants
    elif isinstance(verdict, Unknown):
        reason = verdict.reason
        numbers |= {
            name: value
            for name, value in (("lower_bound", verdict.lower_bound), ("cover", verdict.cover))
            if value is not None and np.isfinite(value)
        }
    elif isinstance(verdict, Adversarial):
        parameters = region.box.parameters(np.array([verdict.witness]))
        again = yield Ask(parameters, alone=True)
        numbers |= {"value": verdict.value, "replayed": float(again.terms.min())}
        theta, fault = tuple(parameters[0].tolist()), again.faults[0]
        answer = () if fault else tuple(again.answers[0].tolist())
        reason = f"{NO_ANSWER}: {fault}" if fault else ""
        if again.terms.min() >= 0:
            kind, reason, theta = "unknown", "the counterexample did not replay alone", ()
    violations = 0
    if kind == "adversarial":
        violations = yield from draw(region)
    record = RegionRecord(
        region.item.item_id,
        kind,
        "run",
        region.item.item_id,
        queries=verdict.queries,
        reason=reason,
        theta=theta,
        numbers=numbers,
        constants=constants,
        terms=region.terms,
        ambiguous=region.ambiguous,
        draws=region.draws if kind == "adversarial" else 0,
        violations=violations,
        answer=answer,
        seconds=round(time.monotonic() - began, 3),
    )
    return Decided(record, certificate)


def draw(region: Region) -> Draws:
    """Draw parameters at random; returns how many of them are counterexamples. The same for the same region."""
    rng = np.random.default_rng([region.seed, int(region.item.item_id, 16)])
    points = rng.random((region.draws, region.dimension))
    violations = 0
    for first in range(0, region.draws, DRAWS_AT_ONCE):
        answered = yield Ask(region.box.parameters(points[first : first + DRAWS_AT_ONCE]))
        violations += int((answered.terms.min(axis=1) < 0).sum())
    return violations
