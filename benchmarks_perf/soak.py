"""200 sessions against one batching server for ten minutes, some of them killed again and again: does it stay flat?

Usage: ``python benchmarks_perf/soak.py [SECONDS]``. Clients are processes of 50 threads; each thread plays episodes of
its own image size, thinks a second between two observations, and notes how long each answer took. One of the processes
at a time is killed and replaced. Memory is the server's resident set.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from reporting import at_most, bench

from vlassess_link import EpisodeStart, Observation
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.policies.server import main as server_main

SECONDS = 600.0
PROCESSES, THREADS = 4, 50
THINK = 1.0
SIDES = (32, 64, 128, 224)
"""Pixels of the images; each session has one of them."""
EPISODE_STEPS = 20
MODEL = Path(__file__).parent / "stand_ins.py"
SETTLED = 0.2
"""Share of the time after which memory should no longer grow."""


def play(url: str, number: int, until: float, waits: list[float]) -> None:
    """Play episodes until the time is up and keep how long each answer took."""
    rng = random.Random(number)
    side = SIDES[number % len(SIDES)]
    image = np.full((side, side, 3), number % 256, np.uint8)
    policy = RemotePolicy(url)
    while time.time() < until:
        policy.reset(EpisodeStart(f"{number}", "soak", "any", "go"), number)
        for step in range(EPISODE_STEPS):
            time.sleep(THINK * rng.uniform(0.5, 1.5))
            begin = time.perf_counter()
            policy.predict(Observation({"front": image, "wrist": image}, "go", np.zeros(8, np.float32), {}, step))
            waits.append(time.perf_counter() - begin)
            if time.time() >= until:
                break
    policy.close()


def client(url: str, first: int, until: float, file: Path) -> None:
    """Run `THREADS` sessions and write their waits."""
    waits: list[list[float]] = [[] for _ in range(THREADS)]
    threads = [
        threading.Thread(target=play, args=(url, first + number, until, waits[number])) for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.write_text(json.dumps([wait for own in waits for wait in own]), encoding="utf-8")


def resident(pid: int) -> int:
    """Return a process's resident set in KiB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


class Crowd:
    """The client processes, one of which is killed and replaced from time to time."""

    def __init__(self, url: str, until: float, folder: Path) -> None:
        self._url, self._until, self._folder = url, until, folder
        self._started = 0
        self._running = [self._start() for _ in range(PROCESSES)]

    def _start(self) -> subprocess.Popen[bytes]:
        self._started += 1
        arguments = [self._url, str(self._started * THREADS), str(self._until), str(self._folder / f"{self._started}")]
        return subprocess.Popen([sys.executable, __file__, "--client", *arguments])

    def replace_one(self) -> None:
        """Kill the oldest with no goodbye, and start another."""
        victim = self._running.pop(0)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        self._running.append(self._start())

    def waits(self) -> list[float]:
        """Wait for the end and return what all that lived that long have noted."""
        for process in self._running:
            process.wait(120)
        return [wait for file in self._folder.iterdir() for wait in json.loads(file.read_text(encoding="utf-8"))]


def measure_soak(seconds: float = SECONDS) -> None:
    """Run the crowd and print growth of memory, the tail of the waits, and what the server dropped."""
    command = [sys.executable, __file__, "--server", f"{MODEL}:Batched", "--exit-with-parent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        ready = json.loads(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            crowd = Crowd(ready["url"], time.time() + seconds, Path(folder))
            memory = watch(crowd, ready["pid"], seconds)
            waits = np.array(crowd.waits())
        server.stdin.close()
    settled = memory[int(len(memory) * SETTLED) :]
    fifth = max(1, len(settled) // 5)
    before, after = float(np.median(settled[:fifth])), float(np.median(settled[-fifth:]))
    bench("soak.sessions", PROCESSES * THREADS)
    bench("soak.answers", waits.size)
    bench("soak.memory_mib", after / 1024)
    at_most("soak.memory_growth", after / before - 1, 0.05)
    bench("soak.median_wait_ms", float(np.median(waits)) * 1000)
    at_most("soak.p99_over_median_wait", float(np.percentile(waits, 99) / np.median(waits)), 3.0)


def watch(crowd: Crowd, pid: int, seconds: float) -> list[int]:
    """Return the server's memory, twice a second; kills a client process ten times on the way."""
    memory = []
    begin, killed = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        memory.append(resident(pid))
        if passed > (killed + 1) * seconds / 11 and passed < seconds * 10 / 11:
            killed += 1
            crowd.replace_one()
        time.sleep(0.5)
    return memory


if __name__ == "__main__":
    if sys.argv[1:2] == ["--server"]:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        sys.exit(server_main(sys.argv[2:]))
    elif sys.argv[1:2] == ["--client"]:
        client(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
    else:
        measure_soak(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
