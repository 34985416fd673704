"""``vlassess budget``: what a claim costs, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from rich.text import Text

from vlassess.cli.options import BudgetOptions
from vlassess.cli.output import console, print_json
from vlassess.cli.showing import table
from vlassess.stats.budget import (
    Requirement,
    blind_spot,
    cost,
    detectable,
    discordance_from,
    discordance_of,
    half_width,
    is_pilot,
    paired,
    unpaired,
    unpaired_without_power,
)

SIZES = (20, 50, 100, 200, 500)
"""Episodes whose resolution is shown beside the plan."""
USUAL_POWERS = (0.8, 0.9)
USUAL_CORRELATIONS = (0.3, 0.5, 0.7)


@dataclass(frozen=True)
class Plan:
    """One way to show the difference; None where no time per trial is given."""

    design: str
    power: float
    requirement: Requirement
    trials: int
    hours: float | None
    note: str = ""

    def row(self) -> tuple[str, ...]:
        """Return the plan as cells of a table."""
        hours = "" if self.hours is None else f"{self.hours:.1f}"
        return (self.design, f"{100 * self.power:g} %", str(self.requirement.n), str(self.trials), hours, self.note)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON types."""
        return {
            "design": self.design,
            "power": self.power,
            "n": self.requirement.n,
            "exact": self.requirement.exact,
            "trials": self.trials,
            "hours": self.hours,
            "note": self.note,
        }


def budget(options: BudgetOptions) -> int:
    """Print how many episodes the wanted difference needs, and what other numbers of episodes can show."""
    if options.pilot is not None and (options.correlation is not None or options.n is not None):
        raise typer.BadParameter(
            "a pilot says how alike the pairs are; leave --correlation and --n out", param_hint="--pilot"
        )
    if options.correlation is not None and not options.paired:
        raise typer.BadParameter("a correlation needs --paired", param_hint="--correlation")
    try:
        plans, sizes = _plans(options), _sizes(options)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if options.json:
        question = {"delta": options.delta, "rate": options.rate, "alpha": options.alpha, "power": options.power}
        print_json({"question": question, "plans": [plan.to_json() for plan in plans], "sizes": sizes})
        return 0
    _print(options, plans, sizes)
    return 0


def _plans(options: BudgetOptions) -> list[Plan]:
    rule = unpaired_without_power(options.delta, options.rate, options.alpha)
    note = "rule of thumb without a power term: a true difference of this size is missed every second time"
    plans = [_plan(options, "unpaired", rule, note)]
    for power in sorted({*USUAL_POWERS, options.power}):
        plans.append(_plan(options, "unpaired", unpaired(options.delta, power, options.rate, options.alpha)))
    if options.pilot is not None:
        return [*plans, *_pilot_plans(options, options.pilot)]
    if not options.paired:
        return plans
    correlations = USUAL_CORRELATIONS if options.correlation is None else (options.correlation,)
    for correlation in correlations:
        discordance = discordance_from(options.delta, correlation, options.rate)
        need = paired(options.delta, discordance, options.power, options.alpha)
        note = f"{100 * discordance:.1f} % of the pairs differ"
        plans.append(_plan(options, f"paired, correlation {correlation:g}", need, note))
    return plans


def _pilot_plans(options: BudgetOptions, pilot: tuple[str, str]) -> list[Plan]:
    """Return what the pilot's share of differing pairs asks for, and what its upper end does."""
    from vlassess.pipeline.comparing import pilot_table

    table = pilot_table(pilot)
    found = discordance_of(table)
    assert found is not None  # a table without a pair is refused
    correlation = "" if found.correlation is None else f", correlation {found.correlation:.2f}"
    seen = f"the pilot's {table.discordant} of {table.pairs} pairs differ{correlation}"
    shares = {seen: found.share, "at the upper end of the pilot's 95 % interval: the safe choice": found.interval.high}
    return [
        _plan(
            options,
            f"paired, {100 * share:.1f} % of the pairs differ",
            paired(options.delta, min(1.0, max(options.delta, share)), options.power, options.alpha),
            note
            if share >= options.delta
            else f"{note}; fewer than a difference of {100 * options.delta:g} points needs",
        )
        for note, share in shares.items()
    ]


def _plan(options: BudgetOptions, design: str, need: Requirement, note: str = "") -> Plan:
    seconds = options.seconds_per_trial
    price = cost(need.n, seconds or 1.0, options.cells, options.policies)
    return Plan(design, need.power, need, price.trials, price.hours if seconds else None, note)


def _sizes(options: BudgetOptions) -> list[dict[str, Any]]:
    """Return what numbers of episodes show, largest differences first."""
    correlation = (options.correlation or 0.0) if options.paired else None
    return [
        {
            "n": n,
            "half_width": half_width(n, options.rate, options.alpha),
            "detectable": detectable(n, options.power, options.rate, options.alpha, correlation),
            "pilot": is_pilot(n, options.delta, options.rate, options.alpha),
        }
        for n in ([options.n] if options.n else SIZES)
    ]


def _print(options: BudgetOptions, plans: list[Plan], sizes: list[dict[str, Any]]) -> None:
    out = console()
    low, high = options.rate - options.delta / 2, options.rate + options.delta / 2
    out.print(
        Text(
            f"To show a difference of {100 * options.delta:g} points between rates of {low:g} and {high:g}, "
            f"two-sided at {options.alpha:g}; trials and hours are for {options.cells} cell(s) and "
            f"{options.policies} policy(ies)."
        ),
        soft_wrap=True,
    )
    out.print(table(("design", "power", "n", "trials", "hours", "note"), [plan.row() for plan in plans]))
    header = ("n", "one rate, ± points", f"detectable at {100 * options.power:g} %, points", "")
    out.print(table(header, [_size_row(size) for size in sizes]))
    if options.n and not options.paired:
        out.print(Text(blind_spot(options.n, options.rate, options.alpha)), soft_wrap=True)


def _size_row(size: dict[str, Any]) -> tuple[str, ...]:
    found = "none" if size["detectable"] is None else f"{100 * size['detectable']:.1f}"
    return (str(size["n"]), f"{100 * size['half_width']:.1f}", found, "pilot" if size["pilot"] else "")
