from __future__ import annotations

from pathlib import Path

import pytest

from vlassess.campaign import PATHS, CampaignConfig
from vlassess.config import ConfigError, load_model

TEXT = """
policy: ws://localhost:8000
observations:
  npz: pictures.npz
families: vla
specification:
  preset: libero
"""


def load(folder: Path, *overrides: str) -> CampaignConfig:
    path = folder / "my.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return load_model(CampaignConfig, str(path), overrides, {}, PATHS)


def test_a_short_config_is_a_whole_campaign(tmp_path: Path) -> None:
    config = load(tmp_path, "solver.budget=500", "draws=0")
    assert config.observations.npz == tmp_path / "pictures.npz"
    assert [len(grid.radii) for grid in config.families] == [10, 10, 10]
    assert config.families[2].radii[5] == (0.2, 4.0)
    assert (config.solver.method, config.solver.budget, config.solver.batch) == ("h2v-c", 500, 16)
    assert config.policies["localhost-8000"].url == "ws://localhost:8000"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("families=[{family: twist, radii: [1]}]", "no perturbation 'twist'"),
        ("families=[{family: rotation, radii: [2, 1]}]", "let them grow"),
        ("families=[{family: composition, radii: [1]}]", "2 part"),
        ("families=[{family: brightness, radii: [-0.1]}]", "greater than 0"),
        ("families=vlx", "'vlx' is no preset"),
        ("families=[{family: brightness, radii: [1.5]}]", "brightness is 1.5; it must be above 0 and at most 1"),
        ("families=[{family: rotation, radii: [181]}]", "at most 180"),
        ("solver.budgt=5", "solver.budgt is not a known key"),
        ("solver.budget=-5", "solver.budget is -5; it must be at least 1"),
        ("solver.cover=2", "solver.cover is 2; it must be at most 1"),
        ("solver.method=guess", "solver: method is 'guess'; use one of h2v, "),
        ("solver={method: lipschitz}", "bound is missing"),
        ("specification.tolerances={position: 1.0}", "exactly one of preset, tolerances and demonstrations"),
        ("observations.images=folder", "exactly one of name, npz"),
        ("observations.limit=0", "at least 1"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, override: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(tmp_path, override)


def test_a_config_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no config is called 'quikstart'"):
        load_model(CampaignConfig, "quikstart", [], {"quickstart": tmp_path}, PATHS)
