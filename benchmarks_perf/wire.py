"""The wire: what an observation costs, what batching gains, and what both make of a whole evaluation.

make bench NAME=wire
"""

from __future__ import annotations

from batching import measure_batching
from paper_speedup import measure_paper_speedup
from wire_transport import measure_transport

if __name__ == "__main__":
    measure_transport()
    measure_batching()
    measure_paper_speedup()
