"""``vlassess validate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from vlassess.campaign import BUNDLED_CAMPAIGNS, PATHS, CampaignConfig, RegionRecord
from vlassess.catalog import Catalog
from vlassess.cli.output import console, print_json
from vlassess.cli.validate_options import ValidateOptions
from vlassess.config import load_model
from vlassess.config.shorthand import expand_policy
from vlassess.pipeline.validating import Validated, resume_campaign, start_campaign
from vlassess.pipeline.verifying import verify
from vlassess.report.validation_page import render_validation
from vlassess.schema.config import PolicySource
from vlassess_link.errors import VlassessError

VERIFY = "verify"
FAILED = 4


def validate(options: ValidateOptions) -> int:
    """Validate, resume or verify, show what came of it, and return the exit code."""
    if options.subject == VERIFY:
        return verify_certificate(options)
    if options.certificate is not None:
        raise typer.BadParameter(f"it belongs to `{VERIFY}`", param_hint="CERT")
    with ProgressWatcher(Console(stderr=True), quiet=options.json) as watcher:
        if options.resume is not None:
            if options.subject is not None or options.set or options.policy or options.all_radii:
                raise typer.BadParameter(
                    "a campaign is resumed as it was begun; give nothing else with it", param_hint="--resume"
                )
            found = resume_campaign(options.resume, Catalog.discover(), watcher)
        else:
            found = start_campaign(campaign_config(options), Catalog.discover(), watcher)
    show(found, options.json)
    return found.exit_code


def campaign_config(options: ValidateOptions) -> CampaignConfig:
    """Return the campaign that the options mean.

    Raises:
        ConfigError: names every mistake.
        typer.BadParameter: no config is given.
    """
    if options.subject is None:
        raise typer.BadParameter("give a config, or a campaign to finish with --resume DIR", param_hint="CONFIG")
    overrides = [f"policies={json.dumps(options.policy)}"] if options.policy else []
    overrides += options.set
    overrides += ["all_radii=true"] if options.all_radii else []
    overrides += [f"output={json.dumps(str(options.output))}"] if options.output is not None else []
    return load_model(CampaignConfig, options.subject, overrides, BUNDLED_CAMPAIGNS, PATHS)


def show(found: Validated, as_json: bool) -> None:
    """Print the tables and where everything is, or JSON."""
    if as_json:
        print_json(
            {
                "folder": str(found.folder),
                "report": str(found.folder / "report.html"),
                "exit_code": found.exit_code,
                "interrupted": found.interrupted,
                "summary": found.summary.model_dump(mode="json", exclude={"policies": {"__all__": {"gallery"}}}),
            }
        )
        return
    out = console()
    out.print(render_validation(found.summary))
    out.print(Text(f"report: {found.folder / 'report.html'}"), soft_wrap=True)
    if found.exit_code:
        sys.stderr.write(f"to finish it: vlassess validate --resume {found.folder}\n")


def verify_certificate(options: ValidateOptions) -> int:
    """Check a certificate and return 0 if it holds, else 4."""
    if options.certificate is None:
        raise typer.BadParameter("name a file in certificates/ of a campaign's folder", param_hint="CERT")
    if len(options.policy) > 1 or options.set or options.resume is not None or options.all_radii:
        raise typer.BadParameter("with `verify` only one --policy and --json can be given", param_hint="options")
    policy = PolicySource(**expand_policy(options.policy[0])) if options.policy else None
    found = verify(options.certificate, policy, Catalog.discover())
    if options.json:
        print_json(
            {
                "holds": not found.problems,
                "verdict": found.verdict,
                "queries": found.queries,
                "asked_again": found.asked,
                "problems": list(found.problems),
                "conditional_on": list(found.conditional_on),
            }
        )
        return FAILED if found.problems else 0
    out = console()
    if found.problems:
        out.print(Text(f"the certificate does not hold ({found.verdict}, {found.queries} queries)"))
        for problem in found.problems:
            out.print(Text(f"- {problem}"), soft_wrap=True)
        return FAILED
    out.print(
        Text(f"{found.verdict}: the verdict follows from {found.queries} queries, and {found.asked} asked again agree")
    )
    for condition in found.conditional_on:
        out.print(Text(f"- conditional on: {condition}"), soft_wrap=True)
    return 0


class ProgressWatcher:
    """Shows regions, queries and the time that is left on a terminal; elsewhere the beginning and notes alone."""

    def __init__(self, out: Console, quiet: bool) -> None:
        self._out, self._quiet = out, quiet
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=out,
            disable=quiet or not out.is_terminal,
        )
        self._task = self._bar.add_task("regions", total=None)
        self._folder: Path | None = None
        self._queries = 0
        self._verdicts = {"robust": 0, "adversarial": 0, "unknown": 0}

    def __enter__(self) -> ProgressWatcher:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self._folder is not None and isinstance(error, VlassessError | OSError):
            sys.stderr.write(f"what was decided is kept; to finish it: vlassess validate --resume {self._folder}\n")

    def planned(self, folder: Path, total: int, finished_before: int) -> None:
        """Begin."""
        self._folder = folder
        self._bar.reset(self._task, total=total, completed=finished_before)
        before = f", {finished_before} of them decided before" if finished_before else ""
        self.note(f"{folder}: {total} regions{before}")

    def note(self, text: str) -> None:
        """Print it."""
        if not self._quiet:
            self._bar.console.print(Text(text), soft_wrap=True)

    def record(self, record: RegionRecord, first: bool) -> None:
        """Count it."""
        if first:
            self._verdicts[record.verdict] += 1
            self._bar.update(self._task, advance=1, description=self._told())

    def asked(self, queries: int) -> None:
        """Count them."""
        self._queries += queries
        self._bar.update(self._task, description=self._told())

    def _told(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self._verdicts.items())
        return f"{counts}, {self._queries} queries"
