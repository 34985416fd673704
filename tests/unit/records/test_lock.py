from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vlassess.records import RunLockedError
from vlassess.records.lock import hold

HOLD = """
import sys
from pathlib import Path
from vlassess.records.lock import hold
with hold(Path(sys.argv[1])) as left:
    print(left or "fresh", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_second_process_is_refused_and_the_owner_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "fresh\n"
        owner = rf"is being run by process {process.pid} on .* since 20"
        with pytest.raises(RunLockedError, match=owner) as refused, hold(path):
            pass
        assert "wait for it to end, or end that process and resume" in str(refused.value)
        assert str(tmp_path) in str(refused.value)
        assert json.loads(path.read_text())["pid"] == process.pid, "the refused one must not touch the owner's text"
        process.communicate()
    with hold(path) as left:
        assert left is None


def test_a_holder_that_was_killed_is_explained_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with hold(path) as left:
        assert left is not None
        assert left.startswith(f"the last coordinator (process {process.pid} on ")
        assert left.endswith("ended without releasing its lock; its unfinished episodes run again")
    with hold(path) as left:
        assert left is None


def test_a_second_opening_in_one_process_is_refused_too(tmp_path: Path) -> None:
    path, owner = tmp_path / "lock", f"process {os.getpid()}"
    with hold(path), pytest.raises(RunLockedError, match=owner), hold(path):
        pass


def test_an_error_inside_is_an_orderly_end(tmp_path: Path) -> None:
    def fail() -> None:
        with hold(tmp_path / "lock"):
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with hold(tmp_path / "lock") as left:
        assert left is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 3}', "\x00" * 8])
def test_an_unreadable_owner_is_another_process(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lock"
    path.write_text(text)
    with hold(path) as left:
        assert left is None if not text else "(another process)" in str(left)
        path.write_text(text)
        with pytest.raises(RunLockedError, match="is being run by another process"), hold(path):
            pass
