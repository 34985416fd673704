"""Pictures of an answer suite: its scene from above, and what choices go with."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from vlassess.grounding.biases import ALPHA, STRONG
from vlassess.report.plots import GRID, INK, MUTED, colour, page_style, svg
from vlassess.report.text import label
from vlassess.schema.grounded import Bias, GroundedSuite

PAINT = {"red": "#e0625a", "green": "#6fbf68", "blue": "#6f9fee", "yellow": "#efd04e", "pale": "#e9e2cc"}
"""How candidates of a colour are drawn, on a light page and on a dark one."""
TITLES = {
    "candidate": "which one",
    "place": "place from the left",
    "colour": "colour",
    "arm": "side of which arm",
    "distance": "nearest to a hand: 1",
    "listed": "order in the instruction",
}
"""Of the bars, as short as they must be."""
_ON_PAINT = "#101418"
_ZONE_HALF = 0.06
_HALF = 0.024
_NAME = 10
_COLUMNS = 3
_ROUGH = 5
"""Kinds beyond which, or beyond so many letters of a name, names stand upright."""


def scene_plot(suite: GroundedSuite) -> Markup:
    """Return the first episode's scene as the agent's camera sees it, arms at the top; empty where it is not known."""
    if all(item.name == "zone" for item in suite.scene):
        return Markup("")
    with page_style():
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for item in suite.scene:
            if item.name == "zone":
                corner = (item.y - _ZONE_HALF, item.x - _ZONE_HALF)
                axes.add_patch(Rectangle(corner, 2 * _ZONE_HALF, 2 * _ZONE_HALF, color=MUTED, alpha=0.4))
                axes.text(item.y, item.x, "zone", ha="center", va="center", color=INK, fontsize=9)
                continue
            _draw_candidate(axes, item.name, item.y, item.x, PAINT.get(item.colour, PAINT["pale"]))
            if item.right:
                axes.add_patch(Circle((item.y, item.x), 0.040, fill=False, edgecolor=colour(0), linewidth=2.4))
            if item.chosen:
                ring = Circle((item.y, item.x), 0.050, fill=False, edgecolor=colour(1), linewidth=2.4, linestyle="--")
                axes.add_patch(ring)
        axes.text(0.0, 0.222, "robot", ha="center", va="top", color=MUTED, fontsize=9)
        axes.set(xlim=(-0.30, 0.30), ylim=(0.65, 0.215), xticks=[], yticks=[], aspect="equal")
        axes.spines[["left", "bottom"]].set_color(GRID)
        axes.spines[["top", "right"]].set(visible=True, color=GRID)
        return svg(figure, f"Scene of {label(suite.suite, 40)}")


def bias_plot(suite: GroundedSuite) -> Markup:
    """Return the share of choices of every kind of candidate beside what blind ones would be; empty without a grasp."""
    drawn = [bias for bias in suite.biases if bias.p_value is not None]
    if not drawn:
        return Markup("")
    rows = -(-len(drawn) // _COLUMNS)
    with page_style():
        figure = Figure(figsize=(6.4, 2.0 * rows), layout="constrained")
        grid = figure.subplots(rows, _COLUMNS, sharey=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place < len(drawn):
                _draw_bias(axes, drawn[place])
            else:
                axes.set_visible(False)
        return svg(figure, f"What choices on {label(suite.suite, 40)} go with")


def biased(bias: Bias) -> list[bool]:
    """Return for every kind whether so many more choices are of it that a bias is named for it."""
    total = sum(one.times for one in bias.chosen)
    sure = bias.adjusted_p is not None and bias.adjusted_p < ALPHA
    return [sure and total > 0 and (one.times - one.expected) / total >= STRONG for one in bias.chosen]


def _draw_candidate(axes: Axes, name: str, across: float, along: float, paint: str) -> None:
    axes.add_patch(Rectangle((across - _HALF, along - _HALF), 2 * _HALF, 2 * _HALF, color=paint))
    if len(name) == 1:
        axes.text(across, along, name, ha="center", va="center", color=_ON_PAINT, fontweight="bold")
    else:
        axes.text(across, along + _HALF + 0.005, label(name, _NAME), ha="center", va="top", color=INK, fontsize=8)


def _draw_bias(axes: Axes, bias: Bias) -> None:
    total = sum(one.times for one in bias.chosen)
    at = list(range(len(bias.chosen)))
    shades = [colour(1) if named else colour(0) for named in biased(bias)]
    axes.bar(at, [100 * one.times / total for one in bias.chosen], color=shades, width=0.7)
    blind = [100 * one.expected / total for one in bias.chosen]
    axes.hlines(blind, [place - 0.42 for place in at], [place + 0.42 for place in at], color=INK, linewidth=1.6)
    names = [label(one.value, _NAME) for one in bias.chosen]
    axes.set_xticks(at, names, fontsize=8, rotation=_turn(names))
    axes.tick_params(axis="both", length=0, labelsize=8)
    axes.set(ylim=(0, 105), yticks=[0, 50, 100])
    axes.grid(axis="y")
    axes.set_title(TITLES[bias.by], fontsize=9, fontweight="bold" if any(biased(bias)) else "normal", loc="left")


def _turn(names: Sequence[str]) -> int:
    return 90 if max(map(len, names)) > _ROUGH or sum(map(len, names)) > 4 * _ROUGH else 0
