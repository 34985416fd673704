"""Fakes for the tests of those who write policies and benchmarks, and for our own.

They keep the contracts to the letter and can be told to break them in one chosen way.
"""

from vlassess_link.testing.fakes import FakeBenchmark, FakeClock, FakePolicy

__all__ = ["FakeBenchmark", "FakeClock", "FakePolicy"]
