"""``vlassess doctor`` on benchmarks with an environment of their own, and ``run --episodes-per-task``."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlassess.catalog import Catalog
from vlassess.cli.configs import run_config
from vlassess.cli.examining import doctor, environment_check
from vlassess.cli.options import DoctorOptions, RunOptions
from vlassess.cli.running import command_of
from vlassess_link.errors import PluginError


def test_an_environment_that_is_not_built_says_disk_and_licences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLASSESS_CACHE", str(tmp_path))
    check = environment_check(Catalog.discover().benchmarks["libero-v1"])
    assert not check.ok
    assert not check.needed
    assert "2100 MB" in check.found
    assert "CC BY 4.0" in check.found
    assert "vlassess doctor --build libero-v1" in check.mend
    assert not (tmp_path / "environments").exists()


def test_building_what_has_no_environment_names_what_has() -> None:
    with pytest.raises(PluginError, match="did you mean 'libero-v1'"):
        doctor(DoctorOptions(build=["libero-v2"]))


def test_episodes_per_task_replaces_the_configs() -> None:
    options = RunOptions("tabletop-quick", episodes=3)
    config = run_config(options)
    assert config is not None
    assert config.episodes == 3
    assert command_of(options) == ("vlassess", "run", "tabletop-quick", "--episodes-per-task", "3")
