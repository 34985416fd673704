"""What a comparison says in words: one sentence that claims no more than was shown."""

from __future__ import annotations

from collections.abc import Sequence

from vlassess.comparison.effects import Sample, table_of
from vlassess.schema.comparison import ArmSummary, Design, TwoArms
from vlassess.schema.interval import Interval
from vlassess.stats.budget import detectable

POWER = 0.8
"""Of the difference that "could not be seen"."""


def blind_spot(sample: Sample, design: Design) -> str:
    """Return which difference the comparison would miss more often than one time in five."""
    n = min(len(sample.a), len(sample.b))
    if n == 0:
        return "Nothing could be seen: the arms have no episode in common."
    pooled = sum(trial.success for trial in (*sample.a, *sample.b)) / (len(sample.a) + len(sample.b))
    rate = min(max(pooled, 0.05), 0.95)
    correlation = None
    if sample.paired and not sample.repeated:
        correlation = table_of(sample).correlation or 0.0
    found = detectable(n, POWER, rate, design.alpha, correlation)
    unit = "pairs" if sample.paired and not sample.repeated else "episodes a policy"
    if found is None:
        return f"With {n} {unit}, this comparison could not see any difference reliably."
    return f"With {n} {unit}, this comparison could not see a difference below {100 * found:.1f} points."


def verdict(two: TwoArms, design: Design, fair: Sequence[str]) -> str:
    """Return the one sentence about two arms."""
    bound = next((label for label in (two.a, two.b) if label not in fair), None)
    effect = two.overall
    if effect.difference is None:
        return f"{two.a} and {two.b} cannot be compared: they have no episode in common."
    size = f"{100 * effect.difference:+.1f} points{_told(effect.interval)}"
    if design.test == "progress" and two.progress is not None and two.progress.difference is not None:
        size = f"{100 * two.progress.difference:+.1f} points of progress"
    how = (
        f"{effect.n_a} pairs"
        if two.pairing.design != "unpaired"
        else f"{effect.n_a} and {effect.n_b} episodes, unpaired"
    )
    if bound is not None:
        told = f"{two.a} minus {two.b} is {size} over {how}"
        return f"{told}; {bound} is privileged, so this only shows the distance to a bound."
    p_value = "" if two.adjusted_p is None else f", {_p(two.adjusted_p)}"
    if two.better is not None:
        worse = two.b if two.better == two.a else two.a
        return f"{two.better} is better than {worse}: {two.a} minus {two.b} is {size} over {how}{p_value}."
    if two.equivalent is not None and two.equivalent.shown:
        return f"{two.a} and {two.b} are alike within {100 * two.equivalent.margin:g} points: {size} over {how}."
    return f"No difference between {two.a} and {two.b} is shown: {size} over {how}{p_value}. {two.blind_spot}"


def overall_verdict(arms: Sequence[ArmSummary], found: Sequence[TwoArms], groups: Sequence[Sequence[str]]) -> str:
    """Return the one sentence about the whole comparison."""
    if len(found) == 1:
        return found[0].verdict
    if not found:
        arm = arms[0]
        rate = "no rate" if arm.rate is None else f"{100 * arm.rate:.1f} %{_told(arm.interval)}"
        return f"{arm.label} has {rate} over {arm.n} episodes; there is nothing to compare it with."
    shown = [f"{two.better} over {two.b if two.better == two.a else two.a}" for two in found if two.better is not None]
    alike = "; ".join(" = ".join(group) for group in groups if len(group) > 1)
    better = f"Better, adjusted for all comparisons: {', '.join(shown)}." if shown else "No difference is shown."
    return f"{better} Not told apart: {alike}." if alike else better


def _told(interval: Interval | None) -> str:
    return "" if interval is None else f" ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})"


def _p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"
