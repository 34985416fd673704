"""Tests that may be looked at after every block, and stopped at any of these looks, without more false alarms.

**Blocks.** A block holds one episode of every task and cell for each arm, in an order fixed before the run; a look
takes place when a block and all before it are finished. What is counted are the outcomes of finished blocks, never
those that happened to finish first: short episodes are mostly successes.

**The bet.** Against the claim "rate A minus rate B is d" one bets a share u of one's capital on every pair, for A or
for B: a pair with difference s in {-1, 0, 1} multiplies the capital by 1 + l (s - d), where l = u / (1 + d) if the bet
is on A and l = -u / (1 - d) if on B, so that no loss exceeds the share. If the claim is true, the expected factor of
a block is at most 1: for tasks with differences d_t the product of 1 + l (d_t - d) is at most (1 + l (mean d_t - d))^T
= 1 (arithmetic and geometric mean). So the claim tested is about the *mean over tasks*; the tasks may differ. A
mixture of such bets is the capital (e-value), and by Ville's inequality it reaches 1 / alpha at any time with
probability at most alpha.

This needs the episodes of a block to be independent given all earlier blocks, and their starts to be drawn at random
(or a fixed list of starts in a random order).

**The mixture.** u is spread as the upper half of a semicircle over both sides (the Beta(3/2, 3/2) law of (1 + l) / 2
at d = 0), by Gauss-Chebyshev nodes. For d = 0 this is a beta-binomial on the pairs that differ. The law was chosen
before any use, for a small expected number of pairs at effects of 10 to 40 points; see the page "Statistics".

**Cells of one start.** The cells of a task in a block share their start, so their pairs are not independent evidence.
Their mean difference is one bet with s anywhere in [-1, 1], for which all of the above holds (`mixed`).

**Pairs without a common start.** Outcomes of two arms on different starts are put together by task and index in the
block, which the plan fixes. They form pairs of correlation about 0, for which all of the above holds.

Sources: Ville, Etude critique de la notion de collectif (1939); Robbins, Annals of Mathematical Statistics 41 (1970)
1397-1409; Waudby-Smith and Ramdas, JRSS B 86 (2024) 1-27. States are plain data, so that a stopped run goes on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, xlog1py, xlogy

from vlassess.schema.interval import Interval
from vlassess.stats.checks import check_share
from vlassess.stats.paired import paired_table

_HALVINGS = 50
_NODES = 256
_ANGLES = np.arange(1, _NODES + 1) * np.pi / (2 * _NODES + 1)
_SHARES: NDArray[np.float64] = np.cos(_ANGLES)
"""Shares u of the capital: the positive nodes of Gauss-Chebyshev quadrature of the second kind."""
_LOG_WEIGHTS: NDArray[np.float64] = np.log(np.sin(_ANGLES) ** 2 / np.sum(np.sin(_ANGLES) ** 2) / 2)


class Block(NamedTuple):
    """The pairs of one finished block.

    Attributes:
        only_a: Pairs in which A alone succeeded.
        only_b: Pairs in which B alone succeeded.
        same: Pairs in which both or neither did.
    """

    only_a: int
    only_b: int
    same: int


@dataclass(frozen=True)
class DifferenceState:
    """What a sequential comparison knows after its finished blocks; all fields are JSON numbers.

    Attributes:
        alpha: Chance of a false alarm, and 1 - alpha the confidence of the interval; fixed before the run.
        only_a: Pairs so far in which A alone succeeded.
        only_b: Pairs so far in which B alone succeeded.
        same: Pairs so far in which both or neither did.
        blocks: Finished blocks.
        log_e: Natural logarithm of the capital now.
        max_log_e: Its largest value so far, which the p-value is made of.
        low: Lower end of the confidence sequence: the largest so far.
        high: Upper end: the smallest so far.
        mixed: Mean differences so far of starts that have several cells.
    """

    alpha: float = 0.05
    only_a: int = 0
    only_b: int = 0
    same: int = 0
    blocks: int = 0
    log_e: float = 0.0
    max_log_e: float = 0.0
    low: float = -1.0
    high: float = 1.0
    mixed: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        object.__setattr__(self, "mixed", tuple(self.mixed))  # JSON gives a list

    @property
    def pairs(self) -> int:
        """Pairs so far; a start with several cells counts once."""
        return self.only_a + self.only_b + self.same + len(self.mixed)

    @property
    def difference(self) -> float | None:
        """Observed rate of A minus that of B; None for no pair."""
        return (self.only_a - self.only_b + math.fsum(self.mixed)) / self.pairs if self.pairs else None

    @property
    def interval(self) -> Interval:
        """The confidence sequence now: it contains the true difference at all times with confidence 1 - alpha."""
        return Interval(self.low, self.high)

    @property
    def p_value(self) -> float:
        """Evidence against "no difference" that is valid whenever one stops looking."""
        return math.exp(-self.max_log_e)

    @property
    def decided(self) -> bool:
        """Whether "no difference" is rejected at alpha; once true it stays so."""
        return self.max_log_e >= -math.log(self.alpha)


@dataclass(frozen=True)
class RateState:
    """What a confidence sequence of one rate knows after its finished blocks; all fields are JSON numbers.

    Attributes:
        alpha: 1 - alpha is the confidence.
        successes: Successes so far.
        failures: Failures so far.
        blocks: Finished blocks.
        low: Lower end: the largest so far.
        high: Upper end: the smallest so far.
    """

    alpha: float = 0.05
    successes: int = 0
    failures: int = 0
    blocks: int = 0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)

    @property
    def interval(self) -> Interval:
        """The confidence sequence now: it contains the true rate at all times with confidence 1 - alpha."""
        return Interval(self.low, self.high)


def block_of(a: ArrayLike, b: ArrayLike) -> Block:
    """Count one block's pairs; ``a[i]`` and ``b[i]`` are the two arms' outcomes for one task, cell and index.

    Raises:
        ValueError: the arrays differ in length, or a value is neither 0 nor 1.
    """
    table = paired_table(a, b)
    return Block(table.only_a, table.only_b, table.both + table.neither)


def advance(state: DifferenceState, block: Block, mixed: tuple[float, ...] = ()) -> DifferenceState:
    """Return the state after one more finished block; blocks come in their planned order, and each once.

    Args:
        state: What is known so far.
        block: The block's pairs.
        mixed: Mean difference, in [-1, 1], of each start of the block that has several cells; these are not in
            ``block``.

    Raises:
        ValueError: a count is negative, or the block holds no pair.
    """
    if min(block) < 0 or sum(block) + len(mixed) == 0 or any(abs(mean) > 1 for mean in mixed):
        raise ValueError(
            f"a block needs pairs, counts that are not negative, and means in [-1, 1]; it is {block} with {mixed}"
        )
    only_a, only_b = state.only_a + block.only_a, state.only_b + block.only_b
    same, mixed = state.same + block.same, (*state.mixed, *mixed)
    log_e = log_capital(only_a, only_b, same, mixed=mixed)
    estimate = (only_a - only_b + math.fsum(mixed)) / (only_a + only_b + same + len(mixed))
    limit = -math.log(state.alpha)

    def rejected(difference: float) -> bool:
        return log_capital(only_a, only_b, same, difference, mixed) >= limit

    low, high = _narrowed(state.interval, _edge(rejected, estimate, -1.0), _edge(rejected, estimate, 1.0))
    return replace(
        state,
        only_a=only_a,
        only_b=only_b,
        same=same,
        blocks=state.blocks + 1,
        log_e=log_e,
        max_log_e=max(state.max_log_e, log_e),
        low=low,
        high=high,
        mixed=mixed,
    )


def advance_rate(state: RateState, successes: int, failures: int) -> RateState:
    """Return the state after one more finished block of episodes.

    Definition of the interval: all rates p against which the capital B(k + 1/2, n - k + 1/2) / (B(1/2, 1/2) p^k
    (1 - p)^(n - k)) has always been below 1 / alpha. Source: Robbins (1970). Valid at every look for the mean rate
    over the tasks of a block.

    Raises:
        ValueError: a count is negative, or both are 0.
    """
    if min(successes, failures) < 0 or successes + failures == 0:
        raise ValueError(f"a block needs episodes; it has {successes} successes and {failures} failures")
    k, missed = state.successes + successes, state.failures + failures
    mixture = float(betaln(k + 0.5, missed + 0.5) - betaln(0.5, 0.5))
    limit = -math.log(state.alpha)

    def rejected(p: float) -> bool:
        return mixture - float(xlogy(k, p) + xlog1py(missed, -p)) >= limit

    estimate = k / (k + missed)
    low, high = _narrowed(state.interval, _edge(rejected, estimate, 0.0), _edge(rejected, estimate, 1.0))
    return replace(
        state,
        successes=k,
        failures=missed,
        blocks=state.blocks + 1,
        low=low,
        high=high,
    )


def log_capital(only_a: int, only_b: int, same: int, difference: float = 0.0, mixed: tuple[float, ...] = ()) -> float:
    """Return the logarithm of the capital won against "rate A minus rate B is ``difference``" (module docstring).

    Raises:
        ValueError: ``difference`` is outside [-1, 1].
    """
    if not -1 <= difference <= 1:
        raise ValueError(f"difference is {difference}; it must lie in [-1, 1]")
    for_a = _log_products(only_a, only_b, same, difference) + _log_mixed(mixed, difference)
    for_b = _log_products(only_b, only_a, same, -difference) + _log_mixed(tuple(-mean for mean in mixed), -difference)
    logs = np.concatenate([for_a + _LOG_WEIGHTS, for_b + _LOG_WEIGHTS])
    top = float(logs.max())
    return top if math.isinf(top) else top + math.log(float(np.exp(logs - top).sum()))


def _log_products(won: int, lost: int, same: int, d: float) -> NDArray[np.float64]:
    """Return the logarithm of the capital of each share that was bet on the one side throughout."""
    if d == -1.0:
        return np.asarray(np.full(_NODES, math.inf if won or same else 0.0) + lost * np.log1p(-_SHARES))
    bets = _SHARES / (1 + d)
    return np.asarray(won * np.log1p(bets * (1 - d)) + lost * np.log1p(-_SHARES) + same * np.log1p(-bets * d))


def _log_mixed(mixed: tuple[float, ...], d: float) -> NDArray[np.float64]:
    """Return the logarithm of what each share made of starts with several cells."""
    total = np.zeros(_NODES)
    for mean, times in Counter(mixed).items():
        if d == -1.0:
            total += times * (np.log1p(-_SHARES) if mean == -1.0 else math.inf)
        else:
            total += times * np.log1p(_SHARES / (1 + d) * (mean - d))
    return total


def _narrowed(before: Interval, low: float, high: float) -> Interval:
    """Return what is in both intervals; the earlier one where nothing is, which has probability below alpha."""
    common = max(before.low, low), min(before.high, high)
    return Interval(*common) if common[0] <= common[1] else before


def _edge(rejected: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where rejection begins between the estimate and the end of the range.

    The capital is convex in the claim (each bet's is), so there is one such place; it is rounded outward.
    """
    if not rejected(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
    return outside
