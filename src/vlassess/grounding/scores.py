"""Does a policy choose what is meant? Grasp and task success rates, and the normalised grounding score (nSG).

The choice of an episode is the first candidate that was grasped. An episode without a grasp says nothing about
meaning: it counts for motor skill (GSR) and is left out of the choice rate, from which nSG comes.

Source: RoboSemanticBench (arXiv:2606.02277), section 4.3 and appendix C.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import binom, norm

from vlassess.schema.interval import Interval
from vlassess.stats import clopper_pearson, rate

Against = Literal["above chance", "below chance", "not distinguishable from chance", "no grasp"]


class Share(NamedTuple):
    """A rate with what it was computed from.

    Attributes:
        times: How often.
        n: Of how many.
        rate: None where n is 0.
        interval: Exact, None where n is 0.
    """

    times: int
    n: int
    rate: float | None
    interval: Interval | None


class Chance(NamedTuple):
    """The choices beside blind ones.

    Attributes:
        verdict: Two-sided at alpha.
        p_value: Exact binomial; None without a grasp.
        needed: Grasps that would tell the observed rate from chance with power 0.8; None where it equals chance.
        alpha: Of the verdict.
    """

    verdict: Against
    p_value: float | None
    needed: int | None
    alpha: float


@dataclass(frozen=True)
class Tried:
    """What one episode came to.

    Attributes:
        chosen: The first candidate grasped is the right one; None: no candidate was grasped.
        placed: At the end only the right one rests in the zone, let go.
    """

    chosen: bool | None
    placed: bool


@dataclass(frozen=True)
class Scores:
    """The scores of one policy on episodes of one number of choices.

    Attributes:
        choices: N, the candidates of an episode.
        gsr: Any candidate was grasped.
        tsr_grasp: The first candidate grasped was the right one (the paper's TSR, in its tables and in nSG).
        tsr_place: At the end only the right one rested in the zone.
        choice: The right one among grasped ones: tsr_grasp / gsr.
        nsg: (choice - 1/N) / (1 - 1/N); None where nothing was grasped.
        nsg_interval: From the exact interval of the choice rate, given which episodes had a grasp.
        nsg_bootstrap: Percentiles over resampled episodes; None where nothing was grasped.
        chance: Whether the choices differ from blind ones.
    """

    choices: int
    gsr: Share
    tsr_grasp: Share
    tsr_place: Share
    choice: Share
    nsg: float | None
    nsg_interval: Interval | None
    nsg_bootstrap: Interval | None
    chance: Chance

    @property
    def sentence(self) -> str:
        """The verdict in one line, with what it rests on."""
        if self.choice.rate is None:
            return f"nothing was grasped in {self.gsr.n} episodes: nSG is undefined"
        told = (
            f"{self.chance.verdict}: {self.choice.times} of {self.choice.n} grasped candidates were the right one, "
            f"where 1 in {self.choices} is chance (p = {self.chance.p_value:.3g})"
        )
        if self.chance.verdict != "not distinguishable from chance":
            return told
        if self.chance.needed is None:
            return f"{told}; the rate equals chance"
        return f"{told}; about {self.chance.needed} grasps would tell this rate from chance"


def nsg(tsr: float, gsr: float, choices: int) -> float | None:
    """Return the normalised grounding score: (TSR / GSR - 1/N) / (1 - 1/N).

    0 is blind choice among what was grasped, 1 always right, below 0 worse than blind. Undefined, hence None, where
    nothing was grasped.

    Args:
        tsr: Share of episodes whose grasped candidate is the right one.
        gsr: Share of episodes with a grasped candidate, on the same scale.
        choices: N, at least 2.

    Raises:
        ValueError: ``choices`` is below 2, or not 0 <= tsr <= gsr.
    """
    if choices < 2:
        raise ValueError(f"choices is {choices}; chance has no meaning with fewer than 2")
    if not 0 <= tsr <= gsr:
        raise ValueError(f"tsr is {tsr} and gsr {gsr}; tsr must be from 0 to gsr")
    return None if gsr == 0 else _normalised(tsr / gsr, choices)


def scores(episodes: Iterable[Tried], choices: int, rng: np.random.Generator, confidence: float = 0.95) -> Scores:
    """Return the scores of episodes that all offered ``choices`` candidates.

    Args:
        episodes: Those with a result.
        choices: N, at least 2.
        rng: Draws the bootstrap.
        confidence: Of every interval.

    Raises:
        ValueError: ``choices`` is below 2, or ``confidence`` not between 0 and 1.
    """
    tried = list(episodes)
    n = len(tried)
    grasps = sum(each.chosen is not None for each in tried)
    right = sum(each.chosen is True for each in tried)
    score = nsg(right, grasps, choices)
    choice = _share(right, grasps, confidence)
    return Scores(
        choices=choices,
        gsr=_share(grasps, n, confidence),
        tsr_grasp=_share(right, n, confidence),
        tsr_place=_share(sum(each.placed for each in tried), n, confidence),
        choice=choice,
        nsg=score,
        nsg_interval=None
        if choice.interval is None
        else Interval(*(_normalised(end, choices) for end in choice.interval)),
        nsg_bootstrap=_bootstrap(tried, choices, rng, confidence),
        chance=against_chance(right, grasps, choices, 1 - confidence),
    )


def against_chance(right: int, grasps: int, choices: int, alpha: float = 0.05, power: float = 0.8) -> Chance:
    """Return whether choices differ from blind ones: an exact binomial test of 1/N, two-sided.

    The p-value is twice that of the nearer tail, so that the verdict and Clopper and Pearson's interval always agree.

    ``needed`` is the normal approximation of the size of a one-sample test of a rate: with p the observed rate and c =
    1/N, ((z_alpha/2 sqrt(c (1 - c)) + z_power sqrt(p (1 - p))) / (p - c))^2.
    """
    if grasps == 0:
        return Chance("no grasp", None, None, alpha)
    blind, observed = 1 / choices, right / grasps
    tails = (binom.cdf(right, grasps, blind), binom.sf(right - 1, grasps, blind))
    p_value = min(1.0, 2 * float(min(tails)))
    needed = None
    if not math.isclose(observed, blind):
        spread = norm.isf(alpha / 2) * math.sqrt(blind * (1 - blind))
        spread += norm.isf(1 - power) * math.sqrt(observed * (1 - observed))
        needed = math.ceil((spread / (observed - blind)) ** 2)
    if p_value > alpha:
        return Chance("not distinguishable from chance", p_value, needed, alpha)
    return Chance("above chance" if observed > blind else "below chance", p_value, needed, alpha)


def _normalised(choice: float, choices: int) -> float:
    return (choice - 1 / choices) / (1 - 1 / choices)


def _share(count: int, n: int, confidence: float) -> Share:
    return Share(count, n, rate(count, n), clopper_pearson(count, n, confidence))


def _bootstrap(
    tried: list[Tried], choices: int, rng: np.random.Generator, confidence: float, draws: int = 4000
) -> Interval | None:
    """Return percentiles of nSG over resampled episodes; resamples without a grasp have none and are left out."""
    n = len(tried)
    counts = [
        sum(each.chosen is None for each in tried),
        sum(each.chosen is False for each in tried),
        sum(each.chosen is True for each in tried),
    ]
    if n == counts[0]:
        return None
    drawn = rng.multinomial(n, np.array(counts) / n, size=draws)
    grasps = drawn[:, 1] + drawn[:, 2]
    found = (drawn[grasps > 0, 2] / grasps[grasps > 0] - 1 / choices) / (1 - 1 / choices)
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))
