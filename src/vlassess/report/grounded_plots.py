"""The scene of an answer suite, from above."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from vlassess.report.plots import INK, MUTED, colour, page_style, svg
from vlassess.report.text import label
from vlassess.schema.grounded import GroundedSuite

_ZONE_HALF = 0.06
_NAME = 10


def scene_plot(suite: GroundedSuite) -> Markup:
    """Return the first episode's scene as the agent's camera sees it, arms at the top; empty where it is not known."""
    if not suite.scene:
        return Markup("")
    with page_style():
        figure = Figure(figsize=(4.6, 2.4), layout="constrained")
        axes = figure.add_subplot()
        for item in suite.scene:
            if item.name == "zone":
                size = 2 * _ZONE_HALF
                corner = (item.y - _ZONE_HALF, item.x - _ZONE_HALF)
                axes.add_patch(Rectangle(corner, size, size, color=MUTED, alpha=0.4))
                continue
            axes.text(item.y, item.x, label(item.name, _NAME), ha="center", va="center", color=INK)
            if item.right:
                axes.add_patch(Circle((item.y, item.x), 0.034, fill=False, edgecolor=colour(0), linewidth=2.2))
            if item.chosen:
                axes.add_patch(Circle((item.y, item.x), 0.042, fill=False, edgecolor=colour(1), linewidth=2.2))
        axes.set(xlim=(-0.30, 0.30), ylim=(0.63, 0.22), xticks=[], yticks=[], aspect="equal")
        return svg(figure, f"Scene of {label(suite.suite, 40)}")
