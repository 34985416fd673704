"""``vlassess validate`` as people call it; what it decides is tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.functional.cli.conftest import Invoke

POLICY = Path(__file__).parents[1] / "validation_policy.py"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    pictures = np.kron(rng.integers(20, 230, (2, 4, 4, 3)), np.ones((1, 6, 6, 1))).astype(np.uint8)
    np.savez(tmp_path / "pictures.npz", images_front=pictures[:1], images_wrist=pictures[1:])
    path = tmp_path / "my.yaml"
    path.write_text(
        f"""
name: mine
policies: {{it: {{local: "{POLICY}:Looking"}}}}
observations: {{npz: pictures.npz}}
families: [{{family: brightness, radii: [0.02, 0.4]}}]
specification: {{tolerances: {{position: 0.2, rotation: 0.2}}}}
solver: {{budget: 100, cover: 0.05}}
draws: 8
output: campaigns
""",
        encoding="utf-8",
    )
    return path


def test_a_campaign_is_shown_verified_and_resumed(invoke: Invoke, config: Path) -> None:
    said = invoke("validate", str(config))
    assert said.code == 0
    assert "conditional on the estimated" in said.out
    (folder,) = (config.parent / "campaigns").iterdir()
    certificate = sorted((folder / "certificates").glob("*.json"))[0]
    assert invoke("validate", "verify", str(certificate)).code == 0
    told = json.loads(certificate.read_text(encoding="utf-8"))
    told["clean"][0] += 0.25
    certificate.write_text(json.dumps(told), encoding="utf-8")
    bent = invoke("validate", "verify", str(certificate), "--json")
    assert bent.code == 4
    assert json.loads(bent.out)["holds"] is False
    again = invoke("validate", "--resume", str(folder), "--json")
    assert again.code == 0
    assert json.loads(again.out)["summary"]["finished"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a config"),
        (("verify",), "certificates/"),
        (("quikstart",), "quickstart"),
        (("verify", "nothing.json"), "nothing.json"),
        (("quickstart", "extra.json"), "verify"),
        (("quickstart", "--resume", "x"), "nothing else"),
        (("--resume", "nothing"), "does not exist"),
        (("quickstart", "--set", "families=vlx"), "vlx"),
        (("quickstart", "--set", "solver.budgt=1"), "budgt"),
    ],
)
def test_mistakes_are_sentences(invoke: Invoke, arguments: tuple[str, ...], words: str) -> None:
    said = invoke("validate", *arguments)
    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err
