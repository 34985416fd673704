"""Recomputes a verdict from nothing but the queries of a certificate; shares no code with the solvers.

Kept short and plain, so that it can be read in one sitting: the curve is Skilling's transform bit by bit, intervals
are a sorted list, bounds are the formulas of the documentation. What it cannot tell is whether the values are true:
`replay` asks the policy again.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlassess.robustness.certificates import Certificate, digest_of
from vlassess.robustness.settings import Hoelder, HoelderCoverage, HoelderMargin, Lipschitz
from vlassess.robustness.verdicts import Adversarial, Robust, Unknown

CLOSE = 1e-9
"""Relative difference between a claimed and a recomputed number that rounding accounts for."""
CELL = 1e-6
"""By how much the widest interval may exceed the cover that was asked for, relatively: positions are rounded."""

CurveSettings = Hoelder | HoelderMargin | HoelderCoverage


@dataclass(frozen=True)
class Replayed:
    """What asking the policy again has shown.

    Attributes:
        asked: Number of queries that were asked again.
        differing: Numbers of those whose values differ by more than the noise allows.
        largest: The largest difference.
    """

    asked: int
    differing: tuple[int, ...]
    largest: float


def check(certificate: Certificate) -> tuple[str, ...]:
    """Return what is wrong with a certificate, in sentences; nothing if its verdict follows from its queries."""
    problems = list(_form(certificate))
    if not problems:
        verdict = certificate.verdict
        if isinstance(verdict, Robust):
            problems += _robust(certificate, verdict)
        elif isinstance(verdict, Adversarial):
            problems += _adversarial(certificate, verdict)
        elif isinstance(verdict, Unknown):
            problems += _unknown(certificate, verdict)
    return tuple(problems)


def replay(
    certificate: Certificate, evaluate: Callable[[npt.NDArray[np.float64]], npt.ArrayLike], batch: int = 16
) -> Replayed:
    """Ask again wherever the certificate says that it was asked, and compare.

    Args:
        certificate: What to check.
        evaluate: Takes places (n, N) in the unit box, returns values (n,) or (n, T).
        batch: How many places are asked for at once.
    """
    places = np.array([_place(certificate, query) for query in range(len(certificate.values))])
    parts = [np.asarray(evaluate(places[at : at + batch]), np.float64) for at in range(0, len(places), batch)]
    values = np.array(certificate.values).reshape(len(places), certificate.terms)
    again = np.concatenate([part.reshape(-1, certificate.terms) for part in parts]) if parts else values
    allowed = 2.0 * certificate.settings.noise + CLOSE * np.maximum(1.0, np.abs(values))
    away = np.abs(again - values)
    wrong = ~(away <= allowed).all(axis=1)
    return Replayed(len(places), tuple(np.flatnonzero(wrong).tolist()), float(away.max(initial=0.0)))


def _form(certificate: Certificate) -> list[str]:
    """Return what is wrong before any mathematics."""
    values, where = certificate.values, certificate.positions or certificate.points
    problems = []
    if certificate.digest != digest_of(certificate):
        problems.append("the digest does not fit what the certificate says: something was altered")
    if certificate.verdict is None:
        return [*problems, "the run was not finished, so there is no verdict to check"]
    if not len(where) == len(values) == certificate.verdict.queries:
        problems.append(
            f"the verdict counts {certificate.verdict.queries} queries, but there are {len(where)} places and "
            f"{len(values)} values"
        )
    if any(len(row) != certificate.terms or not all(map(math.isfinite, row)) for row in values):
        problems.append(f"a value is not finite, or not of {certificate.terms} term(s)")
    numbers = [*certificate.positions, *itertools.chain.from_iterable(certificate.points)]
    if not all(0.0 <= number <= 1.0 for number in numbers):
        problems.append("a place lies outside of the region")
    if any(len(point) != certificate.dimension for point in certificate.points):
        problems.append(f"a place has not {certificate.dimension} coordinate(s)")
    return problems


def _adversarial(certificate: Certificate, verdict: Adversarial) -> list[str]:
    if not 0 <= verdict.query < len(certificate.values):
        return [f"the witness is query {verdict.query}, but there are {len(certificate.values)}"]
    row = certificate.values[verdict.query]
    problems = []
    if row != verdict.values or min(row) != verdict.value:
        problems.append(f"the witness has the values {verdict.values}, but query {verdict.query} has {row}")
    if not verdict.value < -certificate.settings.noise:
        problems.append(f"the witness has the value {verdict.value:g}, which is not below minus the noise")
    if _place(certificate, verdict.query) != verdict.witness:
        problems.append(f"the witness is at {verdict.witness}, but query {verdict.query} was asked elsewhere")
    return problems


def _unknown(certificate: Certificate, verdict: Unknown) -> list[str]:
    smallest = min(itertools.chain.from_iterable(certificate.values))
    problems = []
    if smallest != verdict.smallest:
        problems.append(f"the smallest value is {smallest:g}, not {verdict.smallest:g}")
    if smallest < -certificate.settings.noise:
        problems.append(f"the value {smallest:g} is a counterexample")
    return problems


def _robust(certificate: Certificate, verdict: Robust) -> list[str]:
    settings = certificate.settings
    smallest = min(itertools.chain.from_iterable(certificate.values))
    problems = []
    if smallest != verdict.smallest:
        problems.append(f"the smallest value is {smallest:g}, not {verdict.smallest:g}")
    if isinstance(settings, Lipschitz):
        return problems + _boxes(certificate, settings, verdict)
    if isinstance(settings, Hoelder | HoelderMargin | HoelderCoverage):
        return problems + _intervals(certificate, settings, verdict)
    return [*problems, f"the method {settings.method} cannot show that an instance is robust"]


def _differs(name: str, claimed: float | None, found: float | None) -> list[str]:
    if claimed is None or found is None:
        return [] if claimed is found else [f"{name} is {claimed}, but {found} follows from the queries"]
    if abs(claimed - found) <= CLOSE * max(abs(found), 1e-3):
        return []
    return [f"{name} is {claimed:.12g}, but {found:.12g} follows from the queries"]


def _intervals(certificate: Certificate, settings: CurveSettings, verdict: Robust) -> list[str]:
    """Build the intervals again in the order of the queries, and bound the objective on each of them."""
    dimension, terms = certificate.dimension, certificate.terms
    if not certificate.positions:
        return ["there are no positions on the curve"]
    positions, largest = _in_order(certificate, settings)
    if positions[0] != 0.0 or positions[-1] != 1.0:
        return ["the ends of the curve were not asked"]
    at = dict(zip(certificate.positions[::-1], certificate.values[::-1], strict=True))
    widths = [right - left for left, right in itertools.pairwise(positions)]
    constants = [settings.reliability * max(slope, settings.floor) for slope in largest]
    bounds = [
        (bound, term, width)
        for term in range(terms)
        for bound, width in zip(
            _bounds([at[x][term] for x in positions], widths, largest[term], settings, dimension), widths, strict=True
        )
    ]
    lowest, term, _ = min(bounds)
    narrow = min(width for value, _, width in bounds if value - lowest <= CLOSE * max(abs(lowest), 1e-3))
    half_cell = dimension * max(constants) * 0.5 ** (settings.levels + 1) if dimension > 1 else 0.0
    margin = lowest - half_cell
    epsilon = _epsilon(settings, margin / constants[term], dimension)
    bound = margin - constants[term] * (epsilon / 2.0) ** (1.0 / dimension)
    problems = _differs("lower_bound", verdict.lower_bound, bound) + _differs("epsilon", verdict.epsilon, epsilon)
    problems += _differs("cover", verdict.cover, max(widths))
    for claimed, found in itertools.zip_longest(verdict.constants, constants):
        problems += _differs("constants", claimed, found)
    if bound <= 0.0:
        problems.append(f"the bound that follows from the queries is {bound:g}, which is not positive")
    if narrow > epsilon * (1.0 + CELL):
        problems.append(f"the interval with the smallest bound is {narrow:g} wide, more than epsilon")
    if isinstance(settings, HoelderCoverage) and max(widths) > settings.covered(dimension) * (1.0 + CELL):
        problems.append(f"an interval is {max(widths):g} wide, more than the cover, {settings.covered(dimension):g}")
    return problems


def _in_order(certificate: Certificate, settings: CurveSettings) -> tuple[list[float], list[float]]:
    """Return the sorted positions, and for each term the largest slope that ever was between neighbours."""
    power, seen, largest = 1.0 / certificate.dimension, list[float](), [0.0] * certificate.terms
    rows: dict[float, tuple[float, ...]] = {}
    for number, (position, row) in enumerate(zip(certificate.positions, certificate.values, strict=True)):
        place = bisect.bisect_left(seen, position)
        beside = [x for x in seen[max(0, place - 1) : place + 1] if abs(x - position) < 2.0**-45]
        if beside:
            rows.setdefault(position, row)
            continue
        seen.insert(place, position)
        rows[position] = row
        for left, right in itertools.pairwise(seen[max(0, place - 1) : place + 2]) if number else ():
            for term in range(certificate.terms):
                rise = max(abs(rows[right][term] - rows[left][term]) - 2.0 * settings.noise, 0.0)
                largest[term] = max(largest[term], rise / (right - left) ** power)
    return seen, largest


def _bounds(
    values: list[float], widths: list[float], largest: float, settings: CurveSettings, dimension: int
) -> list[float]:
    """Return the lower bound of one term on every interval."""
    power, noise, reach = 1.0 / dimension, 2.0 * settings.noise, settings.neighbours
    rises = [math.copysign(max(abs(b - a) - noise, 0.0), b - a) for a, b in itertools.pairwise(values)]
    slopes = [abs(rise) / width**power for rise, width in zip(rises, widths, strict=True)]
    widest = max(widths) ** power
    found = []
    for number, (width, rise) in enumerate(zip(widths, rises, strict=True)):
        local = max(slopes[max(0, number - reach) : number + reach + 1])
        steep = settings.reliability * max(local, largest * width**power / widest, settings.floor)
        split = width / 2.0 - rise / (2.0 * steep) * width ** (1.0 - power)
        left, right = values[number] - steep * split**power, values[number + 1] - steep * (width - split) ** power
        found.append(min(left, right) - settings.noise)
    return found


def _epsilon(settings: CurveSettings, ratio: float, dimension: int) -> float:
    """Return how narrow the interval with the smallest bound has to be; ratio is that bound by the largest slope."""
    if isinstance(settings, Hoelder):
        return settings.epsilon
    return min(settings.epsilon_max, max(settings.epsilon_min, max(0.0, ratio) ** dimension))


def _boxes(certificate: Certificate, settings: Lipschitz, verdict: Robust) -> list[str]:
    """Divide the region again, and demand a query at the centre of every box that needs one."""
    slopes = settings.bound if isinstance(settings.bound, tuple) else (settings.bound,) * certificate.dimension
    if len(slopes) != certificate.dimension:
        return [f"there are {len(slopes)} bounds for {certificate.dimension} parameter(s)"]
    values = {point: min(row) for point, row in zip(certificate.points, certificate.values, strict=True)}
    queue = [((0,) * certificate.dimension, (0,) * certificate.dimension)]
    least, largest = math.inf, 0.0
    while queue:
        indices, levels = queue.pop()
        centre = tuple((2 * i + 1) / (2 * 3**k) for i, k in zip(indices, levels, strict=True))
        if centre not in values:
            return [f"nothing was asked at {centre}, and no larger box around it is certain"]
        falls = [slope * 0.5 / 3**level for slope, level in zip(slopes, levels, strict=True)]
        fall = sum(falls) if isinstance(settings.bound, tuple) else math.hypot(*falls)
        bound = values[centre] - fall - settings.noise
        if bound > 0.0:
            least, largest = min(least, bound), max(largest, 3.0 ** -sum(levels))
            continue
        axis = falls.index(max(falls))
        below = tuple(level + (number == axis) for number, level in enumerate(levels))
        queue += [((*indices[:axis], 3 * indices[axis] + third, *indices[axis + 1 :]), below) for third in range(3)]
    problems = _differs("lower_bound", verdict.lower_bound, least) + _differs("cover", verdict.cover, largest)
    if (
        verdict.constants != (slopes if isinstance(settings.bound, tuple) else slopes[:1])
        or verdict.epsilon is not None
    ):
        problems.append("constants or epsilon are not those that were supplied")
    return problems + _violations(certificate, settings, slopes)


def _violations(certificate: Certificate, settings: Lipschitz, slopes: tuple[float, ...]) -> list[str]:
    """Compare every query with the next ones along each axis."""
    places, values = np.array(certificate.points), np.array(certificate.values).min(axis=1)
    for axis, ahead in itertools.product(range(certificate.dimension), range(1, 5)):
        order = np.argsort(places[:, axis], kind="stable")
        one, other = order[:-ahead], order[ahead:]
        apart = np.abs(places[one] - places[other]) * np.array(slopes)
        allowed = apart.sum(axis=1) if isinstance(settings.bound, tuple) else np.sqrt((apart**2).sum(axis=1))
        if (np.abs(values[one] - values[other]) > allowed * (1.0 + CLOSE) + 2.0 * settings.noise + 1e-12).any():
            return ["two queries contradict the supplied bound"]
    return []


def _place(certificate: Certificate, query: int) -> tuple[float, ...]:
    """Return where a query was made, by Skilling's transform where the curve is used."""
    if not certificate.positions:
        return certificate.points[query]
    position, dimension = certificate.positions[query], certificate.dimension
    if dimension == 1:
        return (position,)
    levels: int = getattr(certificate.settings, "levels", 32)
    numerator, denominator = position.as_integer_ratio()
    cell = min((1 << dimension * levels) - 1, (numerator << dimension * levels) // denominator)
    gray = cell ^ cell >> 1
    axes = [0] * dimension
    for bit in range(dimension * levels):
        axes[dimension - 1 - bit % dimension] |= (gray >> bit & 1) << bit // dimension
    for level in range(1, levels):
        below = (1 << level) - 1
        for axis in range(dimension - 1, -1, -1):
            if axes[axis] >> level & 1:
                axes[0] ^= below
            else:
                exchanged = (axes[0] ^ axes[axis]) & below
                axes[0] ^= exchanged
                axes[axis] ^= exchanged
    return tuple((axis + 0.5) / (1 << levels) for axis in axes)
