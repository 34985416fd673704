from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from vlassess import provenance
from vlassess_link import __version__


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_versions_are_those_of_this_interpreter() -> None:
    found = provenance.versions()
    assert found["python"] == platform.python_version()
    assert found["vlassess-link"] == __version__
    assert {"vlassess", "numpy", "pydantic"} <= set(found)


def test_the_machine_is_described_in_texts() -> None:
    found = provenance.hardware()
    assert set(found) == {"host", "system", "cpu", "cores", "memory_gib"}
    assert all(found.values())
    assert float(found["memory_gib"]) > 0
    assert 1 <= int(found["cores"]) <= (os.cpu_count() or 1)


def test_a_checkout_has_a_commit_and_may_be_dirty(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / "file"
    file.write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "untracked").write_text("not counted")
    assert provenance.git_state(tmp_path) == {"commit": commit, "dirty": "no"}
    file.write_text("two")
    assert provenance.git_state(tmp_path) == {"commit": commit, "dirty": "yes"}


def test_elsewhere_there_is_no_state(tmp_path: Path) -> None:
    assert provenance.git_state(tmp_path / "nowhere") == {}
