"""What all tests share: which of them run, and how hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# What is made once and used by every run lies in the checkout, not in the home of whoever runs the tests.
os.environ.setdefault("VLASSESS_CACHE", str(Path(__file__).parents[1] / ".cache" / "vlassess"))

settings.register_profile("here", deadline=None, max_examples=50)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that are marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: run it with --slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)
