"""``vlassess compare``."""

from __future__ import annotations

import typer
from rich.text import Text

from vlassess.cli.compare_options import CompareOptions
from vlassess.cli.output import console, print_json
from vlassess.exit_codes import COMPLETE, GATE_FAILED
from vlassess.pipeline.comparing import Question, compare_sources
from vlassess.report import render_comparison, write_comparison


def compare(options: CompareOptions) -> int:
    """Compare, show what came of it, and return 0, or 4 where a gate fails."""
    if options.published_n is not None and options.published is None:
        raise typer.BadParameter("it belongs to --published RATE", param_hint="--published-n")
    asked = {
        "test": None if options.test is None else options.test.value,
        "alpha": options.alpha,
        "sides": None if options.sides is None else options.sides.value,
        "margin": options.margin,
    }
    question = Question(
        asked, options.require_better, options.require_not_worse, options.published, options.published_n
    )
    found = compare_sources(options.sources, question)
    if options.html is not None:
        write_comparison(options.html, found)
    if options.json:
        print_json(found.model_dump(mode="json"))
    else:
        out = console()
        out.print(render_comparison(found), soft_wrap=False)
        if options.html is not None:
            out.print(Text(f"page: {options.html}"), soft_wrap=True)
    return COMPLETE if all(gate.passed for gate in found.gates) else GATE_FAILED
