"""Figures over the number of demonstrations: few-shot curves, and success beside retention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from vlassess.report.plots import INK, MUTED, WIDTH, colour, page_style, svg
from vlassess.report.text import label
from vlassess.schema.findings import CurveFinding, RetentionFinding, Share

TITLE = 60
ACROSS = 3
"""Panels beside each other."""


def curves_plot(curves: Sequence[CurveFinding]) -> Markup:
    """Return success over K, all adaptation methods of a policy and target in one panel.

    Points with bars are observed rates with their intervals, lines the fitted curves, areas their bands; a dotted
    vertical is tau, where it is identified.
    """
    panels: dict[tuple[str, str], list[CurveFinding]] = {}
    for curve in curves:
        panels.setdefault((curve.policy, curve.target), []).append(curve)
    with page_style():
        figure = Figure(figsize=(WIDTH, 3.9 * len(panels)), layout="constrained")
        for axes, ((policy, target), own) in zip(
            figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels.items(), strict=True
        ):
            for index, curve in enumerate(own):
                _curve(axes, curve, index, len(own))
            _over_k(axes, sorted({point.k for curve in own for point in curve.points}))
            axes.set_ylabel("success on the target task (%)")
            axes.set_title(label(f"{policy}: {target}", TITLE), loc="left", fontsize=11)
            _named_lines(axes, [(curve.method, colour(index)) for index, curve in enumerate(own)])
        return svg(figure, "Success over demonstrations")


def tradeoff_plot(curves: Sequence[CurveFinding], retention: Sequence[RetentionFinding]) -> Markup:
    """Return success on the target and retention on the seen suite over K, one panel an adaptation method.

    Success is solid, the seen suite dashed; the grey line is the seen suite before adaptation, the area below it the
    margin.
    """
    methods = list(dict.fromkeys((one.policy, one.suite, one.method) for one in retention))
    across = min(ACROSS, len(methods))
    down = -(-len(methods) // across)
    with page_style():
        figure = Figure(figsize=(WIDTH, 3.5 * down), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
        for spare in panels[len(methods) :]:
            spare.set_axis_off()
        for index, (policy, suite, method) in enumerate(methods):
            axes = panels[index]
            seen = sorted(
                (one for one in retention if (one.policy, one.suite, one.method) == (policy, suite, method)),
                key=lambda one: one.k,
            )
            new = next((one for one in curves if (one.policy, one.method) == (policy, method)), None)
            _tradeoff(axes, new, seen)
            whole = len({one[:2] for one in methods}) > 1
            axes.set_title(label(f"{method}: {policy}, {suite}" if whole else method, 40), loc="left", fontsize=11)
        panels[0].set_ylabel("success (%)")
        return svg(figure, "Success on the target and on the seen suite over demonstrations")


def _curve(axes: Axes, curve: CurveFinding, index: int, number: int) -> None:
    shade = colour(index)
    # Side by side on the axis of roots, so that the bars of K = 0 do not hide each other.
    largest = max((point.k for point in curve.points), default=1) or 1
    aside = 0.012 * (index - (number - 1) / 2) * np.sqrt(largest)
    for point in curve.points:
        _point(axes, float(_square(np.sqrt(point.k) + aside)), point.share, shade, "o")
    if curve.band is not None:
        k, low, high = (np.array(line) for line in (curve.band.k, curve.band.low, curve.band.high))
        axes.fill_between(k, 100 * low, 100 * high, color=shade, alpha=0.14, linewidth=0)
        drawn = "dotted" if curve.unidentified == "flat" else "solid"
        axes.plot(k, 100 * np.array(curve.band.curve), color=shade, linewidth=1.8, linestyle=drawn)
    if curve.tau is not None:
        axes.axvline(curve.tau.estimate, color=shade, linewidth=1.0, linestyle="dotted")


def _tradeoff(axes: Axes, new: CurveFinding | None, seen: Sequence[RetentionFinding]) -> None:
    first = seen[0].before
    if first.rate is not None:
        axes.axhspan(100 * (first.rate - seen[0].margin), 100 * first.rate, color=MUTED, alpha=0.18, linewidth=0)
        axes.axhline(100 * first.rate, color=MUTED, linewidth=1.0)
        axes.plot(0, 100 * first.rate, marker="s", color=colour(1), markersize=5.5)
    if new is not None:
        known = [point for point in new.points if point.share.rate is not None]
        for point in known:
            _point(axes, point.k, point.share, colour(0), "o")
        rates = [100 * (point.share.rate or 0.0) for point in known]
        axes.plot([point.k for point in known], rates, color=colour(0), linewidth=1.6)
    told = [(one.k, one.after) for one in seen if one.after.rate is not None]
    for k, share in told:
        _point(axes, k, share, colour(1), "s")
    joined = ([(0, first)] if first.rate is not None else []) + told
    axes.plot(
        [k for k, _ in joined],
        [100 * (share.rate or 0.0) for _, share in joined],
        color=colour(1),
        linewidth=1.6,
        linestyle="dashed",
    )
    _over_k(axes, sorted({0, *(one.k for one in seen), *(point.k for point in (new.points if new else ()))}))


def _point(axes: Axes, at: float, share: Share, shade: str, marker: str) -> None:
    if share.rate is None or share.interval is None:
        return
    axes.vlines(at, 100 * share.interval.low, 100 * share.interval.high, color=shade, linewidth=1.6, alpha=0.6)
    axes.plot(at, 100 * share.rate, marker=marker, markersize=5.5, color=shade, linestyle="none")


def _root(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root, carried on below 0 so that marks at K = 0 have room."""
    return np.asarray(np.sign(x) * np.sqrt(np.abs(x)))


def _square(x: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the inverse of `_root`."""
    return np.asarray(np.sign(x) * np.square(x))


def _over_k(axes: Axes, k: Sequence[int]) -> None:
    """Lay out K by its root, so that the first demonstrations, where most happens, have room."""
    largest = max(k, default=1) or 1
    axes.set_xscale("function", functions=(_root, _square))
    axes.set(
        xlim=(float(_square(-0.025 * np.sqrt(largest))), largest * 1.05), ylim=(-2, 102), xlabel="demonstrations K"
    )
    axes.xaxis.set_major_locator(FixedLocator([float(value) for value in k]))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.set_xticklabels([str(value) for value in k])
    axes.grid(axis="y")


def _named_lines(axes: Axes, names: Sequence[tuple[str, str]]) -> None:
    for name, shade in names:
        axes.plot([], [], color=shade, marker="o", linewidth=1.8, label=label(name, 40))
    axes.legend(loc="lower right", frameon=False, labelcolor=INK)
