"""What is bundled or installed, by name: found without importing any of it."""

from vlassess.catalog.entries import BenchmarkEntry, PolicyEntry
from vlassess.catalog.registry import Catalog

__all__ = ["BenchmarkEntry", "Catalog", "PolicyEntry"]
