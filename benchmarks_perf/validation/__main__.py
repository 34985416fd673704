"""How often region verdicts are wrong and what they cost: false certificates, queries, counterexamples, overhead.

Usage: ``make bench NAME=validation`` for the short form, which takes some minutes and has fewer instances;
``ARGS="--full"`` for all of them; ``ARGS="false --full --plot docs/img/robustness-coverage.svg"`` for one part.
Instances are seeded and were fixed before the solvers saw them, so that every run prints the same but for times. Two
processes are used, but for times.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from campaign_busy import measure_busy
from false_certificates import measure_false_certificates
from query_counts import measure_queries
from solver_overhead import measure_overhead
from to_counterexample import measure_counterexamples


def main() -> None:
    """Measure all parts, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("false", "queries", "counterexamples", "overhead", "campaign")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(names)}; all without it")
    parser.add_argument("--full", action="store_true", help="measure all instances")
    parser.add_argument("--plot", type=Path, help="draw false certificates against the width of a well into this SVG")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[bool], None]] = {
        "false": partial(measure_false_certificates, plot=arguments.plot),
        "queries": measure_queries,
        "counterexamples": measure_counterexamples,
        "overhead": measure_overhead,
        "campaign": measure_busy,
    }
    for name, measure in parts.items():
        if not arguments.parts or name in arguments.parts:
            measure(arguments.full)


if __name__ == "__main__":
    main()
