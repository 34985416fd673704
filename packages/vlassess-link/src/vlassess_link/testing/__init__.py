"""Fakes and conformance kits for those who write policies and benchmarks, and for our own tests.

The fakes keep the contracts to the letter and can be told to break them in one chosen way. The kit for policies is
imported by its own name, `vlassess_link.testing.policy_kit`: it needs Python 3.10.
"""

from vlassess_link.testing.benchmark_kit import run_benchmark_kit
from vlassess_link.testing.benchmark_subject import BenchmarkSubject, benchmark_subject
from vlassess_link.testing.fakes import FakeBenchmark, FakeClock, FakePolicy
from vlassess_link.testing.kit import Broken, Check, CheckResult, KitReport, NotApplicable

__all__ = [
    "BenchmarkSubject",
    "Broken",
    "Check",
    "CheckResult",
    "FakeBenchmark",
    "FakeClock",
    "FakePolicy",
    "KitReport",
    "NotApplicable",
    "benchmark_subject",
    "run_benchmark_kit",
]
