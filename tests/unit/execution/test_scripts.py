"""Scripts with a header of dependencies: read, and run in the environment that uv builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vlassess.execution import server_launch
from vlassess.execution.scripts import BUNDLED, Header, is_met_here, own_python, read_header
from vlassess.execution.uv import UvFailedError
from vlassess_link.errors import PluginError

SCRIPT = """# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "numpy>=1.24",
#     "msgpack>=1.0.8",
#     "websockets>=13.1",
# ]
# ///
import sys
import numpy as np
from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer

class Where(PredictModelServer):
    spec = PolicySpec(PolicyIdentity(sys.prefix), cameras=())

    def predict(self, obs, ctx):
        return {"actions": np.zeros(1)}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "where.py"
    path.write_text(SCRIPT)
    return path


def silent(text: str) -> None:
    """Keep it to oneself."""


def test_the_header_is_read(script: Path, tmp_path: Path) -> None:
    assert read_header(script) == Header(">=3.10", ("numpy>=1.24", "msgpack>=1.0.8", "websockets>=13.1"))
    plain = tmp_path / "plain.py"
    plain.write_text("# script\nx = 1\n")
    assert read_header(plain) is None


@pytest.mark.parametrize(
    "content",
    [
        "# dependencies = [",
        '# dependencies = ["not a requirement !"]',
        '# requires-python = "three"',
        "# dependencies = [3]",
    ],
)
def test_a_header_that_is_none_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(f"# /// script\n{content}\n# ///\n")
    with pytest.raises(PluginError, match=r"the header of .*bad\.py cannot be read"):
        read_header(path)


def test_what_this_interpreter_has_is_known() -> None:
    assert is_met_here(Header(">=3.10", ("numpy>=1.24", "no-such-thing; python_version < '3'")))
    assert not is_met_here(Header(">=3.10", ("numpy>=99",)))
    assert not is_met_here(Header("<3.10", ()))
    assert not is_met_here(Header("", ("no-such-distribution",)))


def test_a_bundled_script_that_is_met_here_and_one_without_header_run_here(tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text("x = 1\n")
    for target in (
        f"{BUNDLED / 'random_.py'}:Random",
        "vlassess_link.testing:FakePolicy",
        f"{plain}:X",
        "/nowhere.py:X",
    ):
        assert own_python(target, silent) is None
    assert server_launch(f"{plain}:X", {}).command[0] == sys.executable


def test_no_python_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text('# /// script\n# requires-python = "<3.9"\n# ///\n')
    with pytest.raises(PluginError, match=r"the policy old\.py needs Python <3\.9,>=3\.10"):
        own_python(str(path), silent)


def test_a_script_is_served_in_its_own_environment(script: Path) -> None:
    notes: list[str] = []
    try:
        launch = server_launch(f"{script}:Where", {}, note=notes.append)
    except UvFailedError as error:
        pytest.skip(f"NOT TESTED: no environment could be built here: {error}")
    assert launch.command[0] != sys.executable
    assert "preparing the environment of where.py" in notes
    with subprocess.Popen(
        launch.command, env=dict(launch.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        server.communicate(timeout=20)
    assert Path(launch.command[0]).is_relative_to(ready["policy"])
    assert not Path(ready["policy"]).is_relative_to(sys.prefix)


def test_a_header_that_leaves_out_what_serves_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text("# /// script\n# dependencies = []\n# ///\n" + SCRIPT.partition("# ///\n")[2])
    try:
        with pytest.raises(PluginError, match=r"bare\.py leaves out numpy and msgpack and websockets.*dependencies = "):
            own_python(str(path), silent)
    except UvFailedError as error:
        pytest.skip(f"NOT TESTED: no environment could be built here: {error}")
