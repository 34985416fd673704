"""Real peers in their own environments: `make test-peers` builds these once and runs the tests."""

from __future__ import annotations

import os

import pytest

from tools import peers


def _python(name: str) -> str:
    if os.environ.get("VLASSESS_PEERS") != "1":
        pytest.skip(f"NOT TESTED AGAINST {name.upper()}: its environment is large; run `make test-peers`")
    return peers.built(name)


@pytest.fixture(scope="session")
def vla_eval() -> str:
    """The interpreter that has vla-eval 0.8.0."""
    return _python("vla-eval")


@pytest.fixture(scope="session")
def openpi() -> str:
    """The interpreter that has openpi-client 0.1.2."""
    return _python("openpi")
