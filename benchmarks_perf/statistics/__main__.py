"""How often the statistics are right and how soon they are, by enumeration and simulation.

Usage: ``make bench NAME=statistics``, or with ``ARGS="stopping --plot docs/img/sequential.svg"`` for one part. A
folder, since a file of this name would hide the standard library's module. Simulations are seeded, so that every run
prints the same but for times.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from alarms import measure_alarms
from coverage_of_intervals import measure_coverage
from looks import measure_looks
from speed import measure_speed
from stopping import measure_stopping

PARTS = {
    "coverage": measure_coverage,
    "alarms": measure_alarms,
    "looks": measure_looks,
    "speed": measure_speed,
}


def main() -> None:
    """Measure all parts, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join([*PARTS, 'stopping'])}; all without it")
    parser.add_argument("--plot", type=Path, help="draw the expected number of pairs into this SVG file")
    arguments = parser.parse_args()
    for name, measure in PARTS.items():
        if not arguments.parts or name in arguments.parts:
            measure()
    if not arguments.parts or "stopping" in arguments.parts:
        measure_stopping(arguments.plot)


if __name__ == "__main__":
    main()
