"""How often a robust verdict is false: wells that reach below zero, and lattice functions with their true bound."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from instances import Instance, decide, outcomes, spread, wells
from matplotlib.figure import Figure
from reporting import at_most, bench

from vlassess.robustness import HoelderCoverage, HoelderMargin, Lipschitz
from vlassess.robustness.settings import COVER

PROMISED = {1: (0.0005, 2000, 0.0), 2: (0.03, 1000, 0.0), 3: (0.08, 1000, 0.005)}
"""Parameters: width from which on, instances, share that may be false."""
SHORT = 10
"""By which the short form divides the number of instances."""
RATIOS = (0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.5, 2.0)
"""Widths of the curve's wells, by cover^(1/N)."""
COVERS = {1: (1e-3, 1e-2), 2: (1e-3, 1e-2), 3: (1e-3, 1e-2)}
LATTICES = 10_000


class Point(NamedTuple):
    """False certificates at one width."""

    dimension: int
    cover: float
    ratio: float
    false: int
    paper: int
    number: int


def measure_false_certificates(full: bool, plot: Path | None = None) -> None:
    """Print all of it; draw the curve if a file is given."""
    print(f"# 1. false certificates, {'full' if full else 'short'} form", flush=True)
    for dimension in PROMISED:
        promised(dimension, full)
    supplied(LATTICES if full else LATTICES // SHORT)
    if plot is not None or full:
        points = curve(100 if full else 20)
        if plot is not None:
            draw(points, plot)


def promised(dimension: int, full: bool) -> None:
    """Print the number of false certificates at the narrowest width that is promised, ours and the paper's rule."""
    width, number, share = PROMISED[dimension]
    number = number if full else number // SHORT
    found = outcomes([HoelderCoverage(batch=16), HoelderMargin(batch=16)], wells(dimension, width, number))
    ours, paper = (sum(one[at].kind == "robust" for one in found) for at in (0, 1))
    unknown = sum(one[0].kind == "unknown" for one in found)
    name = f"n{dimension}_sigma_{width:g}"
    print(
        f"N={dimension} sigma={width:g} cover={COVER[dimension]:g}: false {ours}, unknown {unknown} of {number}; "
        f"H2V-M, without coverage: false {paper}"
    )
    at_most(f"false_certificates_{name}_of_{number}", ours, share * number)
    bench(f"false_certificates_paper_rule_{name}_of_{number}", paper)


def supplied(number: int) -> None:
    """Print the number of false verdicts with a true Lipschitz bound."""
    found = spread(decide_lattice, range(number))
    false = sum(one == "false" for one in found)
    print(f"lattice functions, true bound: {[(kind, found.count(kind)) for kind in sorted(set(found))]}")
    at_most(f"false_verdicts_supplied_bound_of_{number}", false, 0)


def decide_lattice(seed: int) -> str:
    """Return "false", or the kind of a verdict that is true."""
    minimum = float(np.random.default_rng(seed).uniform(-0.3, 0.3))
    instance = Instance("lattice", 1 + seed % 3, seed, minimum)
    objective = instance.objective()
    assert objective.lipschitz is not None
    kind = decide(Lipschitz(bound=objective.lipschitz, batch=16, budget=2000), objective, instance.dimension).kind
    return "false" if kind == ("robust" if minimum < 0 else "adversarial") else kind


def curve(number: int) -> list[Point]:
    """Print how false certificates fall with the width of the well in units of cover^(1/N)."""
    points = []
    for dimension, covers in COVERS.items():
        for cover in covers:
            for ratio in RATIOS:
                instances = wells(dimension, ratio * cover ** (1 / dimension), number, first=100_000)
                found = outcomes([HoelderCoverage(cover=cover, batch=16), HoelderMargin(batch=16)], instances)
                ours, paper = (sum(one[at].kind == "robust" for one in found) for at in (0, 1))
                points.append(Point(dimension, cover, ratio, ours, paper, number))
                print(
                    f"N={dimension} cover={cover:g} sigma/cover^(1/N)={ratio:g}: false {ours}, "
                    f"without coverage {paper}, of {number}",
                    flush=True,
                )
    return points


def draw(points: list[Point], path: Path) -> None:
    """Draw the shares of false certificates into an SVG file."""
    mpl.rcParams.update({"svg.hashsalt": "vlassess", "font.size": 10})
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    for axis, dimension in zip(axes, COVERS, strict=True):
        for cover, colour in zip(COVERS[dimension], ("#0072b2", "#d55e00"), strict=True):
            mine = [one for one in points if (one.dimension, one.cover) == (dimension, cover)]
            ratios = [one.ratio for one in mine]
            axis.plot(
                ratios,
                [100 * one.false / one.number for one in mine],
                "o-",
                color=colour,
                label=f"H2V-C, cover {cover:g}",
            )
            axis.plot(
                ratios,
                [100 * one.paper / one.number for one in mine],
                "x:",
                color=colour,
                label="H2V-M, no coverage, same wells",
            )
        axis.set(title=f"N = {dimension}", xlabel="width of the well / cover$^{1/N}$", ylim=(-3, 103))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("false certificates, %")
    axes[-1].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
