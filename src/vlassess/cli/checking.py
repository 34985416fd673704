"""``vlassess check``."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from pydantic import ValidationError
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.check_options import CheckOptions
from vlassess.cli.output import console, print_json, say
from vlassess.config import ConfigError, load_config
from vlassess.config.sentences import sentences
from vlassess.config.shorthand import absolute, expand_benchmark, expand_policy
from vlassess.exit_codes import COMPLETE, GATE_FAILED
from vlassess.pipeline.checking import Pairs, ask_benchmark, check_pairs, reached
from vlassess.pipeline.kits import benchmark_entry, run_benchmark_kit, run_policy_kit
from vlassess.schema.checks import Line, Section, State
from vlassess.schema.config import BenchmarkSource, PolicySource
from vlassess_link.conventions.compare import undeclared_by_benchmark, undeclared_by_policy
from vlassess_link.conventions.findings import Fit
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import BenchmarkSpec, PolicySpec
from vlassess_link.testing.kit import KitReport


def check(options: CheckOptions) -> int:
    """Check both sides of a config, or one side alone, show what was found, and return 4 where something failed."""
    sections = list(_sections(options))
    ok = all(section.ok for section in sections)
    if options.json:
        print_json({"ok": ok, "sections": [dataclasses.asdict(section) for section in sections]})
    else:
        show(sections)
    return COMPLETE if ok else GATE_FAILED


def show(sections: Sequence[Section]) -> None:
    """Print each section with a line for each finding."""
    out = console()
    for section in sections:
        out.print(Text(section.title), soft_wrap=True)
        for line in section.lines:
            out.print(Text(f"  {line.state:<8} {line.text}"), soft_wrap=True)


def _sections(options: CheckOptions) -> Iterator[Section]:
    if options.benchmark is not None and options.subject != "policy":
        raise typer.BadParameter("it belongs to `policy WHAT`; leave it out", param_hint="--benchmark")
    if options.what is None:
        overrides = [*([f"policies={json.dumps(list(options.policy))}"] if options.policy else []), *options.set]
        yield from pair_sections(check_pairs(load_config(options.subject, overrides), Catalog.discover(), say))
        return
    if options.subject not in ("policy", "benchmark"):
        raise typer.BadParameter(
            f"{options.subject!r} {options.what!r}: give a config alone, or `policy` or `benchmark` and what",
            param_hint="subject",
        )
    if options.policy or options.set:
        raise typer.BadParameter("it belongs to a config; leave it out", param_hint="--policy, --set")
    with tempfile.TemporaryDirectory(prefix="vlassess-check-") as logs:
        if options.subject == "policy":
            yield from policy_sections(options.what, Path(logs), options.seconds, options.benchmark)
        else:
            yield from benchmark_sections(options.what, Path(logs), options.seconds)


def pair_sections(pairs: Pairs) -> Iterator[Section]:
    """Yield a section for each policy of a config."""
    for label, fit in pairs.fits.items():
        yield Section(f"policy {label!r} with {pairs.benchmark.name}: {fit.verdict}", fit_lines(fit))


def fit_lines(fit: Fit) -> tuple[Line, ...]:
    """Return the lines of a fit: reasons, then conversions, then what nobody can check."""
    lines = [Line("FAILED", reason) for reason in fit.reasons]
    lines += [Line("note", f"converted: {conversion}") for conversion in fit.conversions]
    lines += [Line("warning", f"cannot be checked: {sentence}") for sentence in fit.unchecked]
    return tuple(lines) or (Line("ok", "both sides declare the same"),)


def policy_sections(what: str, logs: Path, seconds: float, benchmark: str | None = None) -> Iterator[Section]:
    """Yield what a policy alone shows: it is started, or reached, and asked; then what the conformance kit says of it.

    A benchmark's own policy is not served, so of it the kit alone speaks.
    """
    catalog = Catalog.discover()
    if benchmark is None or what not in benchmark_entry(benchmark, catalog).policies:
        with reached(policy_source(what), logs, say, seconds) as policy:
            yield declared_by_policy(policy.spec)
    yield kit_section(run_policy_kit(what, catalog, say, benchmark, seconds=seconds))


def benchmark_sections(what: str, logs: Path, seconds: float) -> Iterator[Section]:
    """Yield what a benchmark alone shows: it is loaded and asked; then what the conformance kit says of it."""
    catalog = Catalog.discover()
    benchmark_entry(what, catalog)
    source = BenchmarkSource(**expand_benchmark(what))
    yield declared_by_benchmark(ask_benchmark(source, catalog, logs, say))
    yield kit_section(run_benchmark_kit(what, catalog, say, seconds=seconds))


def kit_section(report: KitReport) -> Section:
    """Return what a conformance kit says."""
    states: dict[str, State] = {"passed": "ok", "failed": "FAILED", "skipped": "note"}
    lines = []
    for result in report.results:
        skipped = " (not checked)" if result.status == "skipped" else ""
        reason = f" {result.reason}" if result.reason else ""
        lines.append(Line(states[result.status], f"{result.name}: {result.sentence}{skipped}{reason}"))
    return Section(f"conformance of the {report.kit} {report.subject!r}", tuple(lines))


def declared_by_policy(spec: PolicySpec) -> Section:
    """Return what a policy declares of its conventions and what it leaves open."""
    lines = [*_layout_lines("action", spec.action), *_layout_lines("state", spec.state)]
    return Section(f"conventions of the policy {spec.identity.name!r}", _with_open(lines, undeclared_by_policy(spec)))


def declared_by_benchmark(spec: BenchmarkSpec) -> Section:
    """Return what a benchmark declares of its conventions and what it leaves open."""
    lines = [*_layout_lines("action", spec.action), *_layout_lines("state", spec.state)]
    return Section(f"conventions of {spec.name}", _with_open(lines, undeclared_by_benchmark(spec)))


def policy_source(what: str) -> PolicySource:
    """Return where a policy that is given as one text runs: an address, or something to serve.

    Raises:
        ConfigError: it is no address.
        PluginError: no policy has this name, or it cannot be served.
    """
    given = expand_policy(what)
    if "url" in given:
        try:
            return PolicySource(**given)
        except ValidationError as error:
            raise ConfigError(f"policy {what!r}", sentences(PolicySource, error)) from None
    return PolicySource(serve=Catalog.discover().policy_target(what, absolute(".", Path.cwd())))


def _layout_lines(what: str, layout: Layout | None) -> Iterator[Line]:
    for component in layout.components if layout is not None else ():
        yield Line("note", f"{what} {component.name!r}: {described(component)}")


def described(component: Component) -> str:
    """Return everything that a component declares, as one line."""
    numbers = "1 number" if component.size == 1 else f"{component.size} numbers"
    said = [numbers, component.kind]
    given = (component.mode, component.frame, component.rotation, component.gripper, component.unit)
    said += [str(value) for value in given if value not in (None, "unknown")]
    if component.scale is not None:
        said.append(f"1 is {component.scale:g}")
    if component.binary:
        said.append("binary" if component.threshold is None else f"binary at {component.threshold:g}")
    if component.low is not None and component.high is not None:
        said.append(f"[{component.low:g}, {component.high:g}]")
    return ", ".join([*said, *([f"from {component.source}"] if component.source else [])])


def _with_open(lines: Sequence[Line], open_: Sequence[str]) -> tuple[Line, ...]:
    if not open_:
        return (*lines, Line("ok", "everything that a mismatch could hide in is declared"))
    return (*lines, *(Line("warning", sentence) for sentence in open_))
