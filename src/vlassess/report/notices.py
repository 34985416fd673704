"""What a reader must know beside the numbers: each check reads plan, records and manifest, and says what it found.

A check is a function from `Findings` to notices. A new one is added to `CHECKS`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from vlassess.report.findings import NAMED, Findings, are, note, notice, sentences, some, warning
from vlassess.report.starts import identical_starts, success_at_first_step, unequal_starts
from vlassess.report.text import one_line
from vlassess.schema.attempts import Entry
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import Notice, PolicySummary
from vlassess_link.data import EpisodeRecord
from vlassess_link.specs import UNKNOWN

MUCH = 0.5
"""Share of clipped actions above which they are warned about."""


def notices(
    entries: Sequence[Entry],
    records: Sequence[EpisodeRecord],
    policies: Sequence[PolicySummary],
    manifest: RunManifest,
) -> tuple[Notice, ...]:
    """Return what every check found, warnings first."""
    findings = Findings(tuple(entries), tuple(records), tuple(policies), manifest)
    found = [told for check in CHECKS for told in check(findings)]
    return tuple(sorted(found, key=lambda told: told.severity != "warning"))


def incomplete(findings: Findings) -> Iterator[Notice]:
    """Warn of planned episodes that have no attempt."""
    declared = findings.manifest.config.comparison
    for policy in findings.policies:
        if policy.counts.missing:
            missing = policy.counts.missing
            if declared is not None and declared.stop_when_decided:
                yield Notice(
                    code="stops_when_decided",
                    severity="note",
                    policy=policy.label,
                    message=f"{missing} of {some(policy.counts.planned, 'planned episode')} {are(missing)} not run: "
                    "the run stops when its comparison is decided. What it is for is the comparison (`vlassess "
                    "compare`); the rates here are of the episodes that happened to be run.",
                )
                continue
            yield warning(
                "incomplete",
                policy.label,
                f"{missing} of {some(policy.counts.planned, 'planned episode')} {are(missing)} not run: its rates "
                "are preliminary.",
            )


def errors_left(findings: Findings) -> Iterator[Notice]:
    """Warn of episodes whose last attempt broke through benchmark or infrastructure."""
    for policy in findings.policies:
        counts = policy.counts
        if counts.error:
            yield warning(
                "errors_left",
                policy.label,
                f"{some(counts.error, 'episode')} ended in an error of the benchmark ({counts.benchmark_error}) or of "
                f"the infrastructure ({counts.infrastructure_error}) and {are(counts.error)} in no rate; the bounds "
                "say what they could have made of it.",
            )


def policy_errors(findings: Findings) -> Iterator[Notice]:
    """Warn of failures that are the policy's own errors."""
    for policy in findings.policies:
        counts = policy.counts
        if not counts.policy_error:
            continue
        every = counts.policy_error == counts.planned
        yield warning(
            "policy_errors",
            policy.label,
            "Every episode ended in an error of the policy itself: this measures its integration, not its skill."
            if every
            else f"{some(counts.policy_error, 'failure')} of {counts.failure} {are(counts.policy_error)} due to an "
            "error of the policy itself (an exception, NaN, a wrong shape, or no answer in time).",
        )


def never_moved(findings: Findings) -> Iterator[Notice]:
    """Warn of a policy whose every executed action was the same."""
    for policy in findings.policies:
        records = [r for r in findings.counting(policy.label) if r.steps > 1 and r.action_low]
        lows, highs = {r.action_low for r in records}, {r.action_high for r in records}
        if len(lows) == 1 and lows == highs:
            yield warning(
                "policy_never_moved",
                policy.label,
                f"Every action that it executed in {some(len(records), 'episode')} was the same: it did not react "
                "to anything.",
            )


def no_such_item(findings: Findings) -> Iterator[Notice]:
    """Warn of records that the plan does not know."""
    planned = {entry.item.item_id for entry in findings.entries}
    foreign = sum(record.item_id not in planned for record in findings.records)
    if foreign:
        yield warning(
            "records_not_in_plan",
            None,
            f"{some(foreign, 'record')} {are(foreign)} of no planned episode and left out: the records are of "
            "another plan, or two runs were mixed.",
        )


def several_identities(findings: Findings) -> Iterator[Notice]:
    """Warn of a label under which different policies answered."""
    for policy in findings.policies:
        if len(policy.identities) > 1:
            yield warning(
                "several_identities",
                policy.label,
                f"{len(policy.identities)} different policies answered under this label "
                f"({', '.join(policy.identities)}): its rates mix them.",
            )


def no_control(findings: Findings) -> Iterator[Notice]:
    """Warn of a headline that pools perturbed cells because the plan has no control."""
    for policy in findings.policies:
        if policy.cells and policy.basis == "all":
            yield warning("no_control", policy.label, "The plan has no unperturbed episode: its headline pools cells.")


def another_protocol(findings: Findings) -> Iterator[Notice]:
    """Warn of an overridden step limit."""
    limit = findings.manifest.config.step_limit
    if limit is not None:
        yield warning(
            "step_limit_overridden",
            None,
            f"The step limit was set to {limit} for every task: this is another protocol than the benchmark's own, "
            "and its rates cannot be compared with it.",
        )


def part_of_plan(findings: Findings) -> Iterator[Notice]:
    """Warn of a run that never was to be the whole."""
    part = findings.manifest.part
    if part is not None:
        yield warning(
            "part_of_plan",
            None,
            f"This run is a part of its plan, {part.text}: its rates are those of {len(findings.entries)} of "
            f"{part.items} items.",
        )


def merged(findings: Findings) -> Iterator[Notice]:
    """Note which runs a merged run was made from."""
    sources = findings.manifest.sources
    if sources:
        dropped = sum(source.duplicates for source in sources)
        names = ", ".join(one_line(source.run_id, 80) for source in sources[:NAMED])
        more = f" and {len(sources) - NAMED} more" if len(sources) > NAMED else ""
        yield note(
            "merged",
            None,
            f"Merged from {some(len(sources), 'run')} ({names}{more}); {some(dropped, 'record')} of the same "
            "episodes agreed and were dropped.",
        )


def privileged(findings: Findings) -> Iterator[Notice]:
    """Note that a privileged policy is an upper bound only."""
    for policy in findings.policies:
        if policy.privileged:
            yield note(
                "privileged",
                policy.label,
                "It reads the simulator's state: its rates are an upper bound, not a result to compare with.",
            )


def identity_unknown(findings: Findings) -> Iterator[Notice]:
    """Note which parts of an identity were not declared."""
    for label, spec in findings.manifest.policy_specs.items():
        unknown = sorted(name for name, value in spec.get("identity", {}).items() if value == UNKNOWN)
        if unknown:
            yield note(
                "identity_unknown",
                one_line(label),
                f"Its identity does not say {', '.join(unknown)}: a change in these cannot be noticed.",
            )


def converted(findings: Findings) -> Iterator[Notice]:
    """Note what was converted between a policy and the benchmark."""
    for label, fit in findings.manifest.policy_fits.items():
        if fit.conversions:
            yield note(
                "converted",
                one_line(label),
                f"Its conventions are not the benchmark's and were converted: {sentences(fit.conversions)}.",
            )


def unchecked(findings: Findings) -> Iterator[Notice]:
    """Warn of conventions that a side does not declare."""
    for label, fit in findings.manifest.policy_fits.items():
        if fit.unchecked:
            yield warning(
                "conventions_unchecked",
                one_line(label),
                f"Not everything is declared, so that a mismatch would not be noticed: {sentences(fit.unchecked)}.",
            )


def clipped(findings: Findings) -> Iterator[Notice]:
    """Say how many actions were outside the benchmark's bounds: much of them speaks for another unit or range."""
    for policy in findings.policies:
        records = [record for record in findings.counting(policy.label) if record.clipped]
        actions = sum(record.steps for record in findings.counting(policy.label))
        count = sum(record.clipped for record in records)
        if count:
            yield notice(
                "warning" if count > MUCH * actions else "note",
                "actions_clipped",
                policy.label,
                f"{some(count, 'action')} of {actions}, in {some(len(records), 'episode')}, {are(count)} out of "
                f"bounds and {'was' if count == 1 else 'were'} clipped, as the benchmark's protocol says.",
            )


def in_real_time(findings: Findings) -> Iterator[Notice]:
    """Say what time did to episodes that did not wait for the policy."""
    for policy in findings.policies:
        timed = [record.realtime for record in findings.counting(policy.label) if record.realtime is not None]
        steps = sum(record.steps for record in findings.counting(policy.label) if record.realtime is not None)
        if not steps:
            continue
        stale = sum(one.stale_steps for one in timed)
        named = ("control_rate_hz", "latency_p50", "latency_p95", "latency_p99")
        found = {name: [value for one in timed if (value := getattr(one, name)) is not None] for name in named}
        rate, *latency = (f"{statistics.median(found[name]):.3g}" if found[name] else "unknown" for name in named)
        yield note(
            "realtime",
            policy.label,
            f"Ran in real time ({timed[0].pace} pace): {100 * stale / steps:.1f} % of {steps} control steps had no "
            f"action and held still; control rate {rate} Hz; latency p50 {latency[0]}, p95 {latency[1]}, p99 "
            f"{latency[2]} s (medians over episodes). To see what time costs: vlassess compare with the run of "
            "`--mode sync`.",
        )


def disturbed(findings: Findings) -> Iterator[Notice]:
    """Warn that what was executed is not what the policy said."""
    if findings.manifest.config.disturbance is None:
        return
    for policy in findings.policies:
        records = findings.counting(policy.label)
        steps = sum(record.steps for record in records)
        if steps:
            share = 100 * sum(record.disturbed for record in records) / steps
            yield notice(
                "warning",
                "disturbed",
                policy.label,
                f"Its actions were disturbed in {share:.0f} % of {steps} steps, as the config asks (`disturbance`): "
                "this is how it copes with that, not how it does alone.",
            )


def observed_every_step(findings: Findings) -> Iterator[Notice]:
    """Note a policy that looked at every step, which costs a rendering each time."""
    for policy in findings.policies:
        records = [r for r in findings.counting(policy.label) if r.outcome and r.steps > 1]
        blind = findings.manifest.policy_specs.get(policy.label, {}).get("cameras") == []
        if records and not blind and all(record.observations >= record.steps for record in records):
            yield note(
                "observed_every_step",
                policy.label,
                "It was observed at every step (one action per answer, or it asked for every frame), so that every "
                "step was rendered.",
            )


CHECKS: tuple[Callable[[Findings], Iterator[Notice]], ...] = (
    incomplete,
    errors_left,
    policy_errors,
    never_moved,
    identical_starts,
    unequal_starts,
    success_at_first_step,
    no_such_item,
    several_identities,
    no_control,
    another_protocol,
    part_of_plan,
    merged,
    privileged,
    identity_unknown,
    unchecked,
    converted,
    clipped,
    observed_every_step,
    in_real_time,
    disturbed,
)
"""Every check, in the order in which their notices are shown."""
