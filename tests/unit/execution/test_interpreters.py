"""A benchmark's own interpreter: built once, whole or not at all, and every way of not getting one says its mend."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import vlassess_link
from vlassess.execution import in_environment, prepare, worker_launch
from vlassess.execution.cache import cache_folder, fresh_folder, locked
from vlassess.execution.interpreters import MARKER, Environment, choose_python, inspect
from vlassess.execution.link_copy import link_folder
from vlassess.execution.requirements import read_pinned
from vlassess.execution.uv import UvFailedError, find_uv, run_uv
from vlassess.schema.interpreter import Interpreter
from vlassess_link.errors import PluginError

PINNED = "numpy==1.26.4\nmsgpack==1.1.0\nwebsockets==14.0\n"
# Makes an environment whose packages are this interpreter's; says and does what UV_FAKE_* ask for.
FAKE_UV = f"""#!{sys.executable}
import os, subprocess, sys, time
from pathlib import Path

with open(os.environ["UV_FAKE_LOG"], "a") as log:
    log.write(" ".join(sys.argv[1:3]) + "\\n")
if sys.argv[1] == "venv":
    folder = Path(sys.argv[-1])
    subprocess.run([{sys.executable!r}, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/*/site-packages")
    (site / "borrowed.pth").write_text({next(path for path in sys.path if path.endswith("site-packages"))!r})
else:
    print("Resolved 3 packages in 1ms", file=sys.stderr, flush=True)
    time.sleep(float(os.environ.get("UV_FAKE_SLEEP", "0")))
    if "UV_FAKE_ERROR" in os.environ:
        print(os.environ["UV_FAKE_ERROR"], file=sys.stderr)
        sys.exit(2)
    print("Installed 3 packages in 1ms", file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VLASSESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def uv_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fake uv on the path; returns the file that it logs to."""
    program = tmp_path / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(FAKE_UV)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UV_FAKE_LOG", str(tmp_path / "uv.log"))
    return tmp_path / "uv.log"


def requirements(tmp_path: Path, text: str = PINNED) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    return path


def wanted(tmp_path: Path, text: str = PINNED, disk_mb: int | None = None, licence: str = "") -> Interpreter:
    return Interpreter(requirements=requirements(tmp_path, text), disk_mb=disk_mb, licence=licence)


def test_an_environment_is_built_once(tmp_path: Path, cache: Path, uv_log: Path) -> None:
    notes: list[str] = []
    order = wanted(tmp_path, disk_mb=3, licence="MIT and more")
    built = prepare(order, "kitchen-v1", notes.append)
    assert notes[0] == (
        f"building the environment of kitchen-v1, once: 3 packages, about 3 MB in {cache}/environments; "
        "licences: MIT and more"
    )
    assert notes[1:3] == ["Resolved 3 packages in 1ms", "Installed 3 packages in 1ms"]
    assert inspect(built.python, "kitchen-v1").digest == built.digest
    assert built.python.is_relative_to(cache)
    assert uv_log.read_text().split("\n")[:-1] == ["venv --quiet", "pip install"]

    again = prepare(order, "kitchen-v1", notes.append)
    assert again == built
    assert len(uv_log.read_text().splitlines()) == 2
    assert len(notes) == 4


def test_comments_and_order_are_no_other_environment(tmp_path: Path, uv_log: Path) -> None:
    first = prepare(wanted(tmp_path), "a", print)
    lines = PINNED.splitlines()
    text = f"# for all\n{lines[2]}  # the wire\n\n{lines[0]}\n{lines[1]}\n"
    assert prepare(wanted(tmp_path, text), "b", print) == first
    other = prepare(wanted(tmp_path, PINNED.replace("14.0", "14.1")), "b", print)
    assert other.python != first.python


def test_two_at_once_build_one(tmp_path: Path, uv_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_FAKE_SLEEP", "0.3")
    notes: list[str] = []
    order = wanted(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: prepare(order, "kitchen-v1", notes.append), range(2))
    assert first == second
    assert len(uv_log.read_text().splitlines()) == 2
    assert "another process builds the environment of kitchen-v1; waiting for it" in notes


def test_what_a_killed_build_leaves_is_never_taken_for_whole(
    tmp_path: Path, cache: Path, uv_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from vlassess.execution import prepare; from vlassess.schema.interpreter import Interpreter\n"
        "prepare(Interpreter(requirements=Path(sys.argv[1])), 'kitchen-v1', print)"
    )
    path = requirements(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "UV_FAKE_SLEEP": "30"}, start_new_session=True
    )
    environments = cache / "environments"
    try:
        for _ in range(200):
            if uv_log.exists() and "pip install" in uv_log.read_text():
                break
            time.sleep(0.05)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    left = [path.name for path in environments.iterdir() if path.is_dir()]
    assert len(left) == 1
    assert left[0].startswith(".")

    built = prepare(Interpreter(requirements=path), "kitchen-v1", print)
    assert [path.name for path in environments.iterdir() if path.is_dir()] == [built.python.parents[1].name]


@pytest.mark.parametrize("missing", [MARKER, "bin/python"])
def test_an_environment_that_lost_a_part_is_built_again(tmp_path: Path, uv_log: Path, missing: str) -> None:
    order = wanted(tmp_path)
    folder = prepare(order, "kitchen-v1", print).python.parents[1]
    (folder / missing).unlink()
    assert prepare(order, "kitchen-v1", print).python.exists()
    assert (folder / missing).exists()


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("error: No space left on device (os error 28)", "free disk space, or move the cache with VLASSESS_CACHE"),
        ("error: Failed to fetch: dns error", "is the package index reachable?.*UV_DEFAULT_INDEX"),
        ("error: no version of numpy==9", "no version of numpy==9"),
    ],
)
def test_a_build_that_fails_says_why_and_leaves_nothing(
    tmp_path: Path, cache: Path, uv_log: Path, monkeypatch: pytest.MonkeyPatch, said: str, mend: str
) -> None:
    monkeypatch.setenv("UV_FAKE_ERROR", said)
    with pytest.raises(UvFailedError, match=rf"uv pip failed \(2\): .*{mend}"):
        prepare(wanted(tmp_path), "kitchen-v1", print)
    assert not [path for path in (cache / "environments").iterdir() if path.is_dir()]


def test_too_small_a_disk_is_found_before_the_download(tmp_path: Path, uv_log: Path) -> None:
    with pytest.raises(
        PluginError, match=r"takes about 999999999 MB and .* free; free some, or move the cache: VLASSESS"
    ):
        prepare(wanted(tmp_path, disk_mb=999_999_999), "kitchen-v1", print)
    assert not uv_log.exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, uv_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VLASSESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(PluginError, match=r"cannot be written: .*VLASSESS_CACHE=/path"):
        prepare(wanted(tmp_path), "kitchen-v1", print)
    with pytest.raises(PluginError, match=r"cannot be written: .*VLASSESS_CACHE=/path"):
        link_folder()


def test_without_uv_the_mend_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_uv()[1:] == ("-m", "uv")  # it is installed beside the harness
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(PluginError, match=r"install it \(pip install uv\), or .*benchmark.interpreter="):
        find_uv()


def test_the_real_uv_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    uv = find_uv()
    assert "uv " in run_uv(uv, ("--version",), print)
    with pytest.raises(UvFailedError, match=r"uv pip failed \(\d+\): .*none.txt"):
        run_uv(uv, ("pip", "install", "--requirement", str(tmp_path / "none.txt"), "--target", str(tmp_path)), print)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gymnasium", r"requirements.txt:4: 'gymnasium' is not pinned; write NAME==VERSION"),
        ("gymnasium>=1.0", "is not pinned"),
        ("gymnasium==1.*", "is not pinned"),
        ("gymnasium==1.0,<2", "is not pinned"),
        ("-r other.txt", "is not pinned"),
        ("--index-url https://example.invalid/simple", "is not pinned"),
    ],
)
def test_an_unpinned_requirement_is_refused(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        read_pinned(requirements(tmp_path, f"{PINNED}{line}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "Gym_Nasium==1.4.0",
        "gymnasium[mujoco]==1.4.0  # why",
        "gymnasium==1.4.0 ; python_version >= '3.10'",
        "gymnasium @ https://example.invalid/g.whl",
        "gymnasium==1.4.0 --hash=sha256:0123",
        "gymnasium==1.4.0 \\\n    --hash=sha256:0123 \\\n    --hash=sha256:4567",
    ],
)
def test_a_pinned_requirement_is_taken(tmp_path: Path, line: str) -> None:
    assert len(read_pinned(requirements(tmp_path, f"{PINNED}{line}\n"))) == 4


def test_what_every_worker_needs_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="lacks msgpack and websockets, which every worker needs"):
        read_pinned(requirements(tmp_path, "numpy==2.2.6\n"))
    with pytest.raises(PluginError, match="cannot be read"):
        read_pinned(tmp_path / "none.txt")


def test_this_python_is_taken_where_it_fits() -> None:
    assert choose_python(">=3.10", "x")[0] == sys.executable


@pytest.mark.parametrize(
    ("requires", "said"),
    [("<3.0", "x needs Python <3.0, and neither .* is one; install one"), ("3 or so", "write it as '>=3.10,<3.13'")],
)
def test_no_python_that_fits_is_said(requires: str, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        choose_python(requires, "x")


def test_another_python_is_found_by_asking_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shim that starts nothing is on the path before it."""
    for minor, body in ((13, "exit 1"), (12, "echo 3.99.1")):
        program = tmp_path / f"python3.{minor}"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose_python(">=3.99", "x") == (str(tmp_path / "python3.12"), "3.99.1")


def test_a_python_on_the_path_that_does_not_start_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python3.14"
    broken.write_text("#!/no/such/program\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PluginError, match="needs Python"):
        choose_python("==3.99.*", "x")


def test_an_existing_interpreter_is_asked_what_it_has() -> None:
    found = inspect(Path(sys.executable), "x")
    assert found.packages["numpy"]
    assert prepare(Interpreter(python=Path(sys.executable)), "x", print) == found


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho hello\n", "is no Python of 3.8 or newer that works: it said nothing"),
        ("#!/bin/sh\necho 1\n", "that works: it said nothing"),
        ("#!/bin/sh\necho '[1, 2]'\n", "that works: it said nothing"),
        ("#!/bin/sh\nprintf '\\377'\n", "that works: it said nothing"),
        ("#!/bin/sh\necho no such module >&2; exit 1\n", "that works: no such module; name another"),
        (
            '#!/bin/sh\necho \'["3.9.1", {"numpy": "1", "msgpack": "1"}]\'\n',
            "lacks websockets.*-m pip install websockets",
        ),
        ("no program", "does not start"),
    ],
)
def test_an_interpreter_that_cannot_serve_is_refused(tmp_path: Path, script: str, said: str) -> None:
    program = tmp_path / "python"
    program.write_text(script)
    program.chmod(0o755)
    with pytest.raises(PluginError, match=said):
        inspect(program, "x")


def test_the_digest_is_of_contents_and_not_of_places() -> None:
    first = Environment(Path("/a"), "3.11.7", {"numpy": "2.0"})
    assert Environment(Path("/b"), "3.11.7", {"numpy": "2.0"}).digest == first.digest
    assert Environment(Path("/a"), "3.11.8", {"numpy": "2.0"}).digest != first.digest
    assert Environment(Path("/a"), "3.11.7", {"numpy": "2.1"}).digest != first.digest


def test_the_link_folder_holds_the_link_and_nothing_else(cache: Path) -> None:
    folder = link_folder()
    assert folder.is_relative_to(cache)
    assert [path.name for path in folder.iterdir()] == ["vlassess_link"]
    source = Path(vlassess_link.__file__).parent
    theirs = {path.relative_to(folder / "vlassess_link"): path.read_bytes() for path in folder.rglob("*.py")}
    assert theirs == {path.relative_to(source): path.read_bytes() for path in source.rglob("*.py")}
    assert link_folder() == folder


def test_another_interpreter_sees_none_of_this_ones_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("VIRTUAL_ENV", "/elsewhere")
    environment = inspect(Path(sys.executable), "x")
    launch = in_environment(worker_launch("a.py:A", {"n": 1}, {"MUJOCO_GL": "egl"}), environment)
    assert launch.command == (sys.executable, "-m", "vlassess_link.worker")
    assert launch.env["PYTHONPATH"] == str(link_folder())
    assert "VIRTUAL_ENV" not in launch.env
    assert launch.benchmark == {"target": "a.py:A", "params": {"n": 1}}
    code = "import vlassess_link, json; print(json.dumps(vlassess_link.__file__))"
    said = subprocess.run([launch.command[0], "-c", code], env=dict(launch.env), capture_output=True, check=True)
    assert json.loads(said.stdout).startswith(str(cache_folder()))


def test_a_workers_variables_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Config over what the user has set over the benchmark's; the harness's own stay as they are."""
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setenv("LP_NUM_THREADS", "3")
    before = dict(os.environ)
    first = worker_launch("a.py:A", {}, {"MUJOCO_GL": "egl", "LP_NUM_THREADS": "0"})
    second = worker_launch("b.py:B", {}, {"MUJOCO_GL": "osmesa"}, {"LP_NUM_THREADS": "7", "OMP_NUM_THREADS": "2"})
    assert (first.env["MUJOCO_GL"], first.env["LP_NUM_THREADS"]) == ("egl", "3")
    assert (second.env["MUJOCO_GL"], second.env["LP_NUM_THREADS"], second.env["OMP_NUM_THREADS"]) == (
        "osmesa",
        "7",
        "2",
    )
    assert dict(os.environ) == before


def test_a_folder_takes_its_place_whole_or_not_at_all(tmp_path: Path) -> None:
    final = tmp_path / "made"
    with pytest.raises(ZeroDivisionError), fresh_folder(final) as folder:
        (folder / "half").write_text(str(1 // 0))
    assert not list(tmp_path.iterdir())
    for content in ("first", "second"):
        with fresh_folder(final) as folder:
            (folder / "file").write_text(content)
    assert (final / "file").read_text() == "first"


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    said: list[str] = []

    def hold() -> None:
        with locked(tmp_path / "a.lock", lambda: said.append("waiting")):
            said.append("held")

    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path / "a.lock", lambda: said.append("never")):
            other = pool.submit(hold)
            while not said:
                time.sleep(0.01)
            assert not other.done()
        other.result(timeout=10)
    assert said == ["waiting", "held"]


def test_a_cache_in_an_unknown_home_is_refused_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VLASSESS_CACHE", "~nosuchuser/cache")
    with pytest.raises(PluginError, match="~nosuchuser/cache is in a home that is not known here"):
        cache_folder()
    assert not list(tmp_path.glob("~*"))
