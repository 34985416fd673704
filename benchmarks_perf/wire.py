"""The wire: what an observation costs, what batching gains, and what both make of a whole evaluation.

make bench NAME=wire

``python benchmarks_perf/wire.py --soak`` ends with ten minutes of 200 sessions instead of one.
"""

from __future__ import annotations

import sys

from batching import measure_batching
from paper_speedup import measure_paper_speedup
from soak import SECONDS, measure_soak
from wire_transport import measure_transport

if __name__ == "__main__":
    measure_transport()
    measure_batching()
    measure_paper_speedup()
    measure_soak(SECONDS if "--soak" in sys.argv else SECONDS / 10)
