"""How many pairs the sequential test takes, beside the fixed exact test of 90 % power."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from reporting import at_least, at_most, bench

from vlassess.stats.budget import discordance_from, paired_exact
from vlassess.stats.sequential import log_capital

ALPHA = 0.05
CAP = 3
CORRELATIONS = (0.0, 0.3)
EFFECTS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
DRAWN = 40_000_000
"""Pairs that are drawn for one figure."""


class Measured(NamedTuple):
    """One effect: pairs of the fixed test, expected pairs, power and standard error of the expectation."""

    fixed: int
    expected: float
    power: float
    error: float


def measure_stopping(plot: Path | None) -> None:
    """Print expected pairs and power at 0.6 against 0.4, and the ratio at other effects around 0.5."""
    limits = _limits(5000)
    curves = {}
    for correlation in CORRELATIONS:
        curves[correlation] = [_measure(effect, correlation, limits) for effect in EFFECTS]
        for effect, found in zip(EFFECTS, curves[correlation], strict=True):
            name = f"expected pairs / fixed, effect={100 * effect:g} correlation={correlation}"
            if effect == 0.2:
                at_most(name, found.expected / found.fixed, 0.95)
                at_least(f"power, effect=20 correlation={correlation}", found.power, 0.9)
                bench(f"fixed pairs, effect=20 correlation={correlation}", found.fixed)
                bench(f"expected pairs, effect=20 correlation={correlation}", found.expected)
                bench(f"standard error of the ratio, effect=20 correlation={correlation}", found.error / found.fixed)
            else:
                bench(name, found.expected / found.fixed)
                bench(f"power, effect={100 * effect:g} correlation={correlation}", found.power)
        for size in (10, 40):
            block = _measure(0.2, correlation, limits, size)
            bench(f"expected pairs / fixed, blocks of {size}, correlation={correlation}", block.expected / block.fixed)
    if plot is not None:
        draw(curves, plot)


def _limits(most: int) -> NDArray[np.int_]:
    """Return, for each number of discordant pairs, how many the leader must have won for a decision."""
    limit = -math.log(ALPHA)
    needed = np.zeros(most + 1, dtype=np.int_)
    for pairs in range(most + 1):
        low, high = pairs // 2, pairs + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if log_capital(middle, pairs - middle, 0) >= limit else (middle, high)
        needed[pairs] = high
    return needed


def _measure(effect: float, correlation: float, limits: NDArray[np.int_], size: int = 1) -> Measured:
    discordance = discordance_from(effect, correlation)
    fixed = paired_exact(effect, discordance, 0.9, ALPHA).n
    cap = CAP * fixed // size * size
    repetitions = min(40_000, DRAWN // cap)
    rng = np.random.default_rng(8)
    times, decided = [], []
    for start in range(0, repetitions, 1000):
        drawn = rng.random((min(1000, repetitions - start), cap), dtype=np.float32)
        won = np.cumsum(drawn < (discordance + effect) / 2, axis=1, dtype=np.int32)
        moved = np.cumsum(drawn < discordance, axis=1, dtype=np.int32)
        over = (np.maximum(won, moved - won) >= limits[moved])[:, size - 1 :: size]
        hit = over.any(axis=1)
        times.append(np.where(hit, (over.argmax(axis=1) + 1) * size, cap))
        decided.append(hit)
    taken = np.concatenate(times)
    power = float(np.concatenate(decided).mean())
    return Measured(fixed, float(taken.mean()), power, float(taken.std() / math.sqrt(len(taken))))


def draw(curves: dict[float, list[Measured]], path: Path) -> None:
    """Draw ratio and pairs over the effect."""
    mpl.rcParams.update({"svg.hashsalt": "vlassess", "font.size": 10})
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    ratio, pairs = figure.subplots(1, 2)
    effects = [100 * effect for effect in EFFECTS]
    for (correlation, found), colour in zip(curves.items(), ("tab:blue", "tab:orange"), strict=True):
        label = f"correlation {correlation:g}"
        ratio.plot(effects, [one.expected / one.fixed for one in found], "o-", color=colour, label=label)
        pairs.plot(effects, [one.expected for one in found], "o-", color=colour, label=f"sequential, {label}")
        pairs.plot(effects, [one.fixed for one in found], "x--", color=colour, label=f"fixed, {label}")
    ratio.axhline(1, color="grey", linewidth=0.8)
    ratio.set(xlabel="difference, points", ylabel="expected pairs / fixed pairs", ylim=(0, 1.1))
    pairs.set(xlabel="difference, points", ylabel="pairs", yscale="log")
    ratio.legend(frameon=False)
    pairs.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
