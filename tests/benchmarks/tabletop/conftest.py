"""The benchmark is data: it is loaded from its folder, with its declared environment, as a worker does it."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vlassess_link import Benchmark, Episode
from vlassess_link.loading import load_target

if TYPE_CHECKING:
    from vlassess.benchmarks.tabletop.adapter import Tabletop

FOLDER = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks" / "tabletop"

# MuJoCo and Mesa read these when they are loaded. No TOML reader is needed for lines of KEY = "VALUE".
ENVIRONMENT = dict(re.findall(r'^([A-Z_]+) = "(.*)"$', (FOLDER / "benchmark.toml").read_text(encoding="utf-8"), re.M))
for key, value in ENVIRONMENT.items():
    os.environ.setdefault(key, value)


@pytest.fixture(scope="session")
def folder() -> Path:
    return FOLDER


@pytest.fixture(scope="session")
def module() -> Callable[[str], Any]:
    """Import one of the folder's modules by its stem."""
    if str(FOLDER.parent) not in sys.path:
        sys.path.append(str(FOLDER.parent))
    return lambda stem: importlib.import_module(f"tabletop.{stem}")


@pytest.fixture(scope="module")
def tabletop() -> Iterator[Tabletop]:
    benchmark: Tabletop = load_target(f"{FOLDER / 'adapter.py'}:Tabletop", Benchmark, {})
    yield benchmark
    benchmark.close()


@pytest.fixture(scope="module")
def bimanual() -> Iterator[Tabletop]:
    benchmark: Tabletop = load_target(f"{FOLDER / 'adapter.py'}:Tabletop", Benchmark, {"embodiment": "bimanual"})
    yield benchmark
    benchmark.close()


def new_episode(suite: str = "pick", task: str = "red_block", seed: int = 7, **fields: Any) -> Episode:
    given: dict[str, Any] = {"policy_seed": 0, "step_limit": 120, "index": 0, **fields}
    return Episode(
        episode_id=f"{suite}-{task}-{seed}",
        pair_key="00",
        benchmark="tabletop@1",
        suite=suite,
        task=task,
        seed=seed,
        **given,
    )


@pytest.fixture(scope="session")
def make_episode() -> Callable[..., Episode]:
    """Return the maker of episodes: suite, task, seed, and any other field."""
    return new_episode
