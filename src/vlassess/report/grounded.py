"""What people read of grounding suites: a table for the terminal, and words for the page."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from vlassess.report.text import interval, number, percent
from vlassess.schema.grounded import Bias, GroundedSuite, ShareOf
from vlassess.schema.summary import PolicySummary
from vlassess.stats import Interval

SHORT = {
    "above chance": "above",
    "below chance": "below",
    "not distinguishable from chance": "not shown",
    "no grasp": "no grasp",
}
"""Verdicts as a table has room for."""
BY = {
    "candidate": "which one",
    "place": "place, from the left",
    "colour": "colour",
    "arm": "side of which arm",
    "distance": "rank by distance from a hand",
    "listed": "place in the instruction",
}


def grounding_table(policy: PolicySummary) -> Table:
    """Return the scores of a policy's grounding suites; below it, what choices go with."""
    table = Table(
        title=Text(f"{policy.label}: semantic grounding", style="bold"),
        title_justify="left",
        caption=Text("\n".join(_lines(policy)), style="dim"),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("suite", overflow="fold", min_width=12)
    for name in ("n", "GSR", "TSR\ngrasp", "TSR\nplace", "right of\ngrasps", "nSG", "nSG\n95 %", "against\nchance"):
        table.add_column(name, justify="right", overflow="fold")
    for suite in policy.grounding:
        shares = (suite.gsr, suite.tsr_grasp, suite.tsr_place)
        table.add_row(
            Text(named(suite)),
            str(suite.episodes),
            *(percent(share.rate) for share in shares),
            f"{suite.choice.times}/{suite.choice.n}",
            points(suite.nsg),
            span(suite.nsg_interval),
            SHORT.get(suite.verdict, suite.verdict),
        )
    means = averages(policy)
    if means is not None:
        table.add_section()
        table.add_row(Text("mean of suites", style="bold"), "", *means, "", "")
    return table


def named(suite: GroundedSuite) -> str:
    """Return a suite's name with its control."""
    return suite.suite if suite.control == "none" else f"{suite.suite} ({suite.control})"


def averages(policy: PolicySummary) -> tuple[str, ...] | None:
    """Return GSR, both TSR, nothing, and nSG as means over suites; None of a single one."""
    suites = policy.grounding
    if len(suites) < 2:
        return None
    rates = [[share.rate for share in (suite.gsr, suite.tsr_grasp, suite.tsr_place)] for suite in suites]
    means = [_mean([row[place] for row in rates]) for place in range(3)]
    return (*(percent(mean) for mean in means), "", points(_mean([suite.nsg for suite in suites])))


def points(score: float | None) -> str:
    """Return a score in points of a hundred, with its sign; a dash where it is undefined."""
    return "\u2013" if score is None else f"{100 * score:+.1f}"


def span(found: Interval | None) -> str:
    """Return an interval of scores in points; a dash where it is undefined."""
    return "\u2013" if found is None else f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"


def share_text(share: ShareOf | None) -> str:
    """Return a share as people read it, with its interval."""
    if share is None or share.rate is None:
        return "\u2013"
    return f"{share.times} of {share.n} ({percent(share.rate)}, 95 % {interval(share.interval)})"


def bias_text(bias: Bias) -> str:
    """Return what a property of candidates was tested for."""
    return BY[bias.by]


def sentences(suite: GroundedSuite) -> list[str]:
    """Return what is to be said of a suite, one sentence each, the verdict first."""
    found = [suite.sentence]
    if suite.bias is not None:
        found.append(suite.bias)
    if suite.followed_sentence is not None:
        found.append(suite.followed_sentence)
    if suite.language is not None:
        gap = "" if suite.language_gap is None else f", {100 * suite.language_gap:+.1f} points by what it grasps"
        found.append(f"asked without a robot, it answers {share_text(suite.language)} right{gap}")
    if suite.said is not None:
        done = "" if suite.said_and_done is None else f", and grasps what it names in {share_text(suite.said_and_done)}"
        found.append(f"its reasoning names the right candidate in {share_text(suite.said)}{done}")
    if suite.regrasps:
        found.append(f"{number(suite.regrasps)} further grasps an episode after the first")
    return found


def _mean(values: list[float | None]) -> float | None:
    """Return the mean; None where any value is undefined, since the paper's averages are over all suites."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _lines(policy: PolicySummary) -> list[str]:
    lines = [f"{named(suite)}: {sentence}." for suite in policy.grounding for sentence in sentences(suite)[:3]]
    return [*lines, "nSG in points: 0 is blind choice, 100 always right. GSR: anything was grasped."]
