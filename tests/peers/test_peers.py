"""Others' published programs against ours, whole and from the command line."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.loading import load_target
from vlassess_link.policies.model import InProcessPolicy, PredictModelServer
from vlassess_link.policies.pictures import resize_with_pad
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.client import Options

ASSETS = Path(__file__).parent / "assets"
BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
FAKES = "vlassess_link.testing.fakes"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, **options)
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_healthy(url: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                assert answer.status == 200
                return
        except OSError:
            assert time.monotonic() < until, f"nothing answers at {url}"
            time.sleep(0.2)


def finished(command: list[str], code: int = 0, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == code, done.stderr[-3000:] + done.stdout[-1000:]
    return done.stdout


@contextmanager
def vlassess_serve(target: str, *options: str) -> Iterator[str]:
    port = free_port()
    with running([str(BIN / "vlassess"), "serve", target, "--port", str(port), *options]):
        wait_until_healthy(f"http://127.0.0.1:{port}/health", 30)
        yield f"ws://127.0.0.1:{port}"


def records_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]


def vlassess_run(folder: Path, policy: dict[str, Any], code: int = 0) -> list[dict[str, Any]]:
    config = {
        "name": "walk",
        "benchmark": {"target": f"{FAKES}:FakeBenchmark", "params": {"image": 4}},
        "policies": {"peer": policy},
        "episodes": 2,
        "execution": {"workers": 1},
        "output": "runs",
    }
    (folder / "walk.yaml").write_text(json.dumps(config))
    finished([str(BIN / "vlassess"), "run", "walk.yaml"], code, cwd=folder)
    (run,) = (folder / "runs").iterdir()
    return records_of(run)


@pytest.mark.parametrize("image_format", ["png", "jpeg", "raw"])
def test_vla_eval_run_evaluates_our_server(vla_eval: str, tmp_path: Path, image_format: str) -> None:
    # Not as the default of its command line alone: the other two forms are its setting of the same process.
    (tmp_path / "sitecustomize.py").write_text(
        f"import vla_eval.protocol.numpy_codec as codec\ncodec.set_image_format({image_format!r})\n"
        if image_format != "png"
        else ""
    )
    with vlassess_serve(f"{ASSETS}/seeker.py:Seeker") as url:
        config = {
            "server": {"url": url},
            "output_dir": str(tmp_path / "out"),
            "benchmarks": [
                {"benchmark": "vlaeval_bench:Reach", "episodes_per_task": 3, "max_steps": 12, "params": {}},
            ],
        }
        (tmp_path / "bench.yaml").write_text(json.dumps(config))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ASSETS}"}
        command = [str(Path(vla_eval).parent / "vla-eval"), "run", "-c", "bench.yaml", "--no-docker", "--yes"]
        interpreted = [vla_eval, "-m", "vla_eval.cli.main", *command[1:-1], "--eval-id", "x"]
        out = finished(interpreted, cwd=tmp_path, env=environment)
    results = [json.loads(path.read_text()) for path in (tmp_path / "out").rglob("*.json")]
    text = json.dumps(results) + out
    if image_format == "jpeg":
        # The goal is one red pixel, which a JPEG does not keep as 255: only that it ran is asked.
        assert "seeker" in text
        return
    assert '"mean_success": 1.0' in text, text[-2000:]
    assert '"send_state": true' in text


@pytest.fixture
def peer_server(vla_eval: str) -> Iterator[str]:
    """What `vla-eval serve` starts, in the peer's own environment."""
    port = free_port()
    config = ASSETS.parent / "assets" / "vlaeval_server.py"
    command = [vla_eval, str(config), "--address", f"127.0.0.1:{port}", "--args.chunk_size", "2"]
    with running(command):
        wait_until_healthy(f"http://127.0.0.1:{port}/health", 60)
        yield f"ws://127.0.0.1:{port}"


def test_our_run_evaluates_vla_evals_server(peer_server: str, tmp_path: Path) -> None:
    records = vlassess_run(tmp_path, {"url": peer_server})
    assert len(records) == 4
    assert all(record["outcome"]["success"] for record in records)
    # One action per observation, so it was observed at every step.
    assert all(record["observations"] == record["steps"] for record in records)


def test_our_run_sends_it_png_where_told(peer_server: str, tmp_path: Path) -> None:
    records = vlassess_run(tmp_path, {"url": peer_server, "images": "png"})
    assert all(record["outcome"]["success"] for record in records)


def test_our_run_evaluates_vla_eval_serve(vla_eval: str, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "server.yaml").write_text(
        json.dumps({"script": str(ASSETS / "vlaeval_server.py"), "args": {"chunk_size": 2}})
    )
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "UV_PYTHON": vla_eval}
    command = [vla_eval, "-m", "vla_eval.cli.main", "serve", "-c", "server.yaml", "--address", f"127.0.0.1:{port}"]
    with running(command, cwd=tmp_path, env=environment):
        wait_until_healthy(f"http://127.0.0.1:{port}/health", 300)
        records = vlassess_run(tmp_path, {"url": f"ws://127.0.0.1:{port}"})
    assert [record["outcome"]["success"] for record in records] == [True] * 4


TUTORIAL_IMAGE = "tutorial.npy"


def tutorial_policy(folder: Path) -> str:
    """Write the tutorial's policy as the docs have it and return its target."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    code = text.partition('```python title="my_policy.py"\n')[2].partition("```")[0]
    (folder / "my_policy.py").write_text(code)
    return f"{folder}/my_policy.py:ColourSeeker"


def tutorial_observation() -> Observation:
    image = np.zeros((64, 64, 3), np.uint8)
    image[10:14, 40:44, 0] = 255
    image[50:54, 8:12, 1] = 255
    return Observation({"top": image}, "go to the red disc", np.array([0.1, 0.2]))


def test_the_tutorials_policy_acts_the_same_everywhere(openpi: str, tmp_path: Path) -> None:
    target = tutorial_policy(tmp_path)
    obs = tutorial_observation()
    model: Any = load_target(target, (PredictModelServer,), {})
    local = InProcessPolicy(model)
    local.reset(EpisodeStart("e", "s", "t", obs.instruction), 1)
    expected = local.predict(obs).actions
    with vlassess_serve(target) as url:
        for options in (Options(), Options(shared_memory=False), Options(images="png")):
            policy = RemotePolicy(url, options=options)
            policy.reset(EpisodeStart("e", "s", "t", obs.instruction), 1)
            np.testing.assert_array_equal(policy.predict(obs).actions, expected)
            policy.close()
    out = ask_with_openpi(openpi, tmp_path, target, obs)
    np.testing.assert_array_equal(out["actions"], [expected, expected])
    assert out["dtype"] == str(expected.dtype)
    assert out["metadata"]["name"] == "colour-seeker"
    assert out["timing"]
    assert "no image under 'observation/image'" in out["error"]


def ask_with_openpi(python: str, folder: Path, target: str, obs: Observation) -> dict[str, Any]:
    np.save(folder / TUTORIAL_IMAGE, obs.images["top"])
    mapping = {"images": {"observation/image": "top"}, "state": {"observation/state": [0, None]}}
    with vlassess_serve(target, "--dialect", "openpi", "--mapping", json.dumps(mapping)) as url:
        wait_until_healthy(url.replace("ws", "http") + "/healthz", 10)
        command = [python, str(ASSETS / "asks_openpi.py"), url, str(folder / TUTORIAL_IMAGE), obs.instruction]
        out: dict[str, Any] = json.loads(finished(command, cwd=folder))
    return out


def test_images_are_resized_as_openpis_client_does(openpi: str, tmp_path: Path) -> None:
    out = ask_with_openpi(openpi, tmp_path, tutorial_policy(tmp_path), tutorial_observation())
    wide = np.random.default_rng(0).integers(0, 256, (90, 160, 3), dtype=np.uint8)
    theirs = np.array(out["resized"], np.int16)
    ours = resize_with_pad(wide, 224, 224, "image")
    assert ours.shape == theirs.shape
    # Their environment may have another Pillow.
    assert np.abs(ours - theirs).max() <= 1


@pytest.mark.parametrize("raises", [False, True])
def test_our_run_evaluates_a_server_of_openpis_protocol(openpi: str, tmp_path: Path, raises: bool) -> None:
    with running([openpi, str(ASSETS / "openpi_server.py"), *(["raises"] if raises else [])]) as server:
        assert server.stdout is not None
        url = f"ws://127.0.0.1:{server.stdout.readline().strip()}"
        mapping = {"like": "libero", "images": {"observation/image": "front"}}
        # 3: no episode ended without an error.
        records = vlassess_run(tmp_path, {"url": url, "dialect": "openpi", "mapping": mapping}, code=3 if raises else 0)
    if raises:
        assert [record["error"]["origin"] for record in records] == ["policy"] * 4
        assert "out of luck" in records[0]["error"]["message"]
        return
    assert [record["outcome"]["success"] for record in records] == [True] * 4
    assert {(record["observations"], record["steps"], record["horizon"]) for record in records} <= {
        (1, 4, 5),
        (1, 5, 5),
    }
