"""The conformance kits on what is bundled and on the tutorial's two classes, each where it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.benchmarks.environments import environment_of
from tests.docs.test_examples import files
from vlassess.catalog import Catalog
from vlassess.pipeline.kits import run_benchmark_kit, run_policy_kit
from vlassess_link.errors import PluginError
from vlassess_link.testing import FakePolicy
from vlassess_link.testing.kit import KitReport
from vlassess_link.wire.server import PolicyServer

CATALOG = Catalog.discover()


@pytest.fixture
def tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tutorial's files, where we are."""
    for name, body in files().items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def skipped(report: KitReport) -> set[str]:
    """The names of what was skipped; nothing failed."""
    assert report.ok, report.text()
    return {result.name for result in report.results if result.status == "skipped"}


def test_tabletop() -> None:
    spec = CATALOG.benchmarks["tabletop-v1"].spec
    assert spec is not None
    expected = {"stored_states_are_set"} | (set() if spec.axes else {"axes_touch_what_they_say"})
    assert skipped(run_benchmark_kit("tabletop-v1", CATALOG, print)) == expected


def test_metaworld() -> None:
    """One task and the checks that render little: the others repeat what its own tests hold. (All pass; slowly.)"""
    environment_of("metaworld-v1")
    only = ("seeds_differ", "start_is_stable", "step_limit_is_exact", "processes_agree", "termination_is_as_declared")
    options = ["--tasks", "1", *(part for name in only for part in ("--only", name))]
    report = run_benchmark_kit("metaworld-v1", CATALOG, print, options=options)
    assert skipped(report) == set()
    assert report.count("passed") == len(only)


@pytest.mark.parametrize("policy", ["random", "do-nothing"])
def test_the_baselines(policy: str) -> None:
    report = run_policy_kit(policy, CATALOG, print)
    assert "socket_agrees" not in skipped(report)


def test_the_expert() -> None:
    report = run_policy_kit("expert", CATALOG, print, "tabletop-v1")
    assert {"reset_forgets", "same_in_same_out"} & skipped(report) == set()


def test_the_tutorials_classes(tutorial: Path) -> None:
    report = run_benchmark_kit("my_benchmark.py:Reach", CATALOG, print)
    assert "observation_matches_spec" not in skipped(report)
    report = run_policy_kit("my_policy.py:ColourSeeker", CATALOG, print, "my_benchmark.py:Reach")
    assert {"socket_agrees", "openpi_agrees", "query_is_stateless"} & skipped(report) == set()


def test_a_policy_behind_a_url() -> None:
    with PolicyServer(FakePolicy(chunk=2)) as server:
        report = run_policy_kit(server.url, CATALOG, print, options=["--only", "reset_forgets"])
    assert [(result.name, result.status) for result in report.results] == [("reset_forgets", "passed")]


def test_what_cannot_be_loaded_is_one_sentence(tutorial: Path) -> None:
    with pytest.raises(PluginError, match="no benchmark is called 'tabletop-v7'"):
        run_benchmark_kit("tabletop-v7", CATALOG, print)
    with pytest.raises(PluginError, match="has no 'Nobody'"):
        run_policy_kit("my_policy.py:Nobody", CATALOG, print)
    with pytest.raises(PluginError, match="metaworld-v1 has an interpreter of its own"):
        run_policy_kit("random", CATALOG, print, "metaworld-v1")


def pytest_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def test_the_pytest_plugin_fails_with_the_reason(tmp_path: Path) -> None:
    target = f"{Path(__file__).parents[1] / 'link/testing/policy_twins.py'}:KeepsQueue"
    done = pytest_run(tmp_path, "--vlassess-policy", target, "-k", "reset_forgets or chunk")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "Nothing of an episode leaks into the next one. But:" in done.stdout


def test_the_pytest_plugin_passes_nothing_that_was_not_tried(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os\nfrom vlassess_link.testing import FakeBenchmark\n"
        "class Dying(FakeBenchmark):\n    def reset(self, episode): os._exit(9)\n",
        encoding="utf-8",
    )
    done = pytest_run(tmp_path, "--vlassess-benchmark", "dying.py:Dying", "-k", "seeds_differ")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "not tried: it ended the process (exit code 9) in reset_is_deterministic" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vlassess-policy", "none.py:X", "-k", "chunk"), r"there is no file .*none\.py; mend the path"),
        (("--vlassess-policy", "none.py:X", "--vlassess-params", "[1]"), "is no JSON object"),
    ],
)
def test_the_pytest_plugin_says_what_it_cannot_examine(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = pytest_run(tmp_path, *arguments)
    said = done.stdout + done.stderr
    assert done.returncode in (1, 4), said
    assert re.search(words, said), said
    assert "Traceback" not in said
    assert "folder.py:" not in said


def test_an_ordinary_pytest_run_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_nothing_is_imported():\n    assert 'vlassess_pytest' in sys.modules\n"
        "    assert not {'vlassess', 'vlassess_link', 'numpy'} & set(sys.modules)\n",
        encoding="utf-8",
    )
    done = pytest_run(tmp_path, "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout + done.stderr
