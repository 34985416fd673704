"""The findings as files: numbers, a config that runs with them, and both curves as a picture and a page."""

from __future__ import annotations

import base64
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vlassess.tune.findings import Findings
from vlassess.tune.point import LOAD

BOUND_BY = {
    "policy": "more workers would ask more of the policy than it can answer without a queue",
    "benchmark": "more workers would make no more observations",
    "range": "more workers were not tried; raise --max-workers if memory allows",
}
DEMAND, SUPPLY = "#1f77b4", "#d95f02"

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
img {{ width: 100% }} table {{ border-collapse: collapse }} td, th {{ padding: .2rem 1rem; text-align: right }}</style>
<h1>{title}</h1><p>{sentence}</p><img alt="demand and supply" src="data:image/png;base64,{picture}">
<h2>Demand</h2><table><tr><th>workers</th><th>observations/s</th></tr>{demand}</table>
<h2>Supply</h2><table><tr><th>batch</th><th>observations/s</th></tr>{supply}</table></html>
"""


def write_findings(findings: Findings, folder: Path) -> Path:
    """Write ``tuned.yaml``, ``tuning.json``, ``tuning.png`` and ``tuning.html``; returns the config's path.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    picture = picture_of(findings)
    (folder / "tuning.json").write_text(json.dumps(numbers_of(findings), indent=2, allow_nan=False) + "\n")
    (folder / "tuning.png").write_bytes(picture)
    (folder / "tuning.html").write_text(page_of(findings, picture), encoding="utf-8")
    config = folder / "tuned.yaml"
    config.write_text(config_text(findings), encoding="utf-8")
    return config


def numbers_of(findings: Findings) -> dict[str, Any]:
    """Return the findings as JSON."""
    point = findings.point
    return {
        "benchmark": findings.benchmark,
        "policy": findings.label,
        "demand": {str(workers): value for workers, value in findings.demand.items()},
        "supply": {str(batch): value for batch, value in findings.supply.items()},
        "operating_point": {
            "workers": point.workers,
            "max_batch": point.max_batch,
            "demand": point.demand,
            "supply": point.supply,
            "load": point.load,
            "bound_by": point.bound_by,
        },
    }


def sentence_of(findings: Findings) -> str:
    """Return the operating point as a sentence."""
    point = findings.point
    return (
        f"{point.workers} workers and batches of {point.max_batch}: they ask about {point.demand:.1f} observations a "
        f"second, {100 * point.load:.0f} % of the {point.supply:.1f} that {findings.label} answers; "
        f"{BOUND_BY[point.bound_by]}."
    )


def config_text(findings: Findings) -> str:
    """Return the config, with the findings above it."""
    note = f"# {findings.label} on {findings.benchmark}: {sentence_of(findings)}\n"
    if findings.config.policies[findings.label].urls:
        note += f"# Start the policy's server with --max-batch {findings.point.max_batch}.\n"
    values = findings.config.model_dump(mode="json", exclude_defaults=True)
    return note + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=120)


def page_of(findings: Findings, picture: bytes) -> str:
    """Return the page, which needs no other file."""
    rows = {
        name: "".join(f"<tr><td>{size}</td><td>{value:.1f}</td></tr>" for size, value in curve.items())
        for name, curve in (("demand", findings.demand), ("supply", findings.supply))
    }
    title = escape(f"{findings.label} on {findings.benchmark}")
    coded = base64.b64encode(picture).decode("ascii")
    return PAGE.format(title=title, sentence=escape(sentence_of(findings)), picture=coded, **rows)


def picture_of(findings: Findings) -> bytes:
    """Return both curves with the operating point, as PNG."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_demand(left, findings)
    right.plot(list(findings.supply), list(findings.supply.values()), marker="s", color=SUPPLY)
    right.plot(findings.point.max_batch, findings.point.supply, marker="*", markersize=16, color="black")
    right.set(xlabel="batch size B", title="supply of the policy")
    right.grid(alpha=0.3)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    return out.getvalue()


def _draw_demand(axes: Axes, findings: Findings) -> None:
    point = findings.point
    axes.plot(list(findings.demand), list(findings.demand.values()), marker="o", color=DEMAND, label="demand")
    for batch, value in findings.supply.items():
        axes.axhline(value, color=SUPPLY, linestyle="--", linewidth=0.8)
        axes.annotate(f"B = {batch}", (max(findings.demand), value), color=SUPPLY, ha="right", va="bottom", fontsize=8)
    axes.axhline(LOAD * point.supply, color="grey", linewidth=1.2, label=f"{LOAD:.0%} of the supply at its knee")
    axes.plot(point.workers, point.demand, marker="*", markersize=16, color="black", linestyle="none", label="run here")
    axes.set(xlabel="workers K", ylabel="observations a second", title="demand of the environments", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)
