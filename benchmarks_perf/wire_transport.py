"""One observation there and one action back, process to process: two 256x256 RGB images, 8 floats, a trivial predict.

Every contender is a server process and a client process, which measures on request; they take turns, so that
what else the machine does falls on all of them. A measurement is the median of its round trips, and a figure the
median of five measurements; the mean rate is printed beside it.

The two processes stay on a core each, as a simulator and a policy do that both have work. Left to itself the system
puts them together or apart as it happens, and the bare socket, which then has its bytes in the cache or has to wake
another core for them, takes 35 or 100 microseconds by that alone; these figures follow, without a verdict.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from reporting import at_least, at_most, bench

ROOT = Path(__file__).resolve().parents[1]
SIDES = Path(__file__).resolve().parent / "wire_sides"
ROUNDS = 5
SECONDS = 0.6
"""Of one measurement; the number of round trips follows from the first."""

OURS = sys.executable


class Contender:
    """One way to carry observations: its two processes."""

    def __init__(self, name: str, python: str, side: str, *options: str) -> None:
        self.name = name
        self._command = [python, str(SIDES / f"{side}.py")]
        self._options = options
        self._calls = 3
        self.seconds: list[float] = []
        self.means: list[float] = []

    def open(self, stack: ExitStack, apart: bool) -> None:
        """Start both processes and warm up; ``apart``: each stays on a core of its own."""
        cores = sorted(os.sched_getaffinity(0)) if apart else []
        server = self._start(stack, cores[-1:], "server", *self._options)
        address = server.stdout.readline().strip()
        self._client = self._start(stack, cores[:1], "client", address, *self._options)
        self.version = self._client.stdout.readline().strip()
        self._calls = max(5, int(SECONDS / self._measure(self._calls)[0]))

    def _start(self, stack: ExitStack, cores: list[int], *arguments: str) -> subprocess.Popen[str]:
        command = [*self._command, *arguments]
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(process.kill)
        if cores:
            os.sched_setaffinity(process.pid, cores)
        return process

    def measure(self) -> None:
        """Keep the seconds of one round trip."""
        typical, mean = self._measure(self._calls)
        self.seconds.append(typical)
        self.means.append(mean)

    def _measure(self, calls: int) -> tuple[float, float]:
        self._client.stdin.write(f"{calls}\n")
        self._client.stdin.flush()
        typical, mean = map(float, self._client.stdout.readline().split())
        return typical, mean

    @property
    def median(self) -> float:
        """Seconds of a round trip."""
        return statistics.median(self.seconds)


def contenders() -> dict[str, Contender]:
    """Return all, those of peers only where these can be had."""
    found = [
        Contender("bare socket", OURS, "bare"),
        Contender("ours, TCP", OURS, "ours", "tcp"),
        Contender("ours, shared memory", OURS, "ours", "shared"),
    ]
    for name, sides in (("vla-eval", ("png", "raw")), ("openpi", ("-",))):
        try:
            python = _peer(name)
        except RuntimeError as error:
            print(f"NOT MEASURED AGAINST {name.upper()}: {error}")
            continue
        found += [Contender(f"{name} {side}".rstrip(" -"), python, name.replace("-", ""), side) for side in sides]
    return {contender.name: contender for contender in found}


def _peer(name: str) -> str:
    command = [OURS, str(ROOT / "tools" / "peers.py"), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    return done.stdout.strip()


def measure_transport() -> None:
    """Measure and print."""
    _judge(_measured(contenders(), apart=True))
    print("And where the system puts them:")
    others = {name: contender for name, contender in contenders().items() if name != "vla-eval png"}
    for name, seconds in _measured(others, apart=False).items():
        bench(f"wire_anywhere_us.{name.replace(' ', '_').replace(',', '')}", seconds * 1e6)


def _measured(by_name: dict[str, Contender], apart: bool) -> dict[str, float]:
    """Return each contender's seconds for a round trip, and print more about it."""
    with ExitStack() as stack:
        for contender in by_name.values():
            contender.open(stack, apart)
            print(f"{contender.name}: {contender.version}")
        order = list(by_name.values())
        for number in range(ROUNDS):
            for contender in order[number % len(order) :] + order[: number % len(order)]:
                contender.measure()
    for contender in order:
        spread = ", ".join(f"{1 / value:.0f}" for value in sorted(contender.seconds, reverse=True))
        rate = 1 / statistics.median(contender.means)
        print(
            f"{contender.name}: {1 / contender.median:.0f} round trips/s (median of {spread}; by the mean {rate:.0f})"
        )
    return {name: contender.median for name, contender in by_name.items()}


def _judge(median: dict[str, float]) -> None:
    bare, tcp, shared = (median[name] for name in ("bare socket", "ours, TCP", "ours, shared memory"))
    best = min(tcp, shared)
    at_most("wire_tcp_over_bare_socket", tcp / bare, 10)
    at_most("wire_shared_memory_over_bare_socket", shared / bare, 3.5)
    for peer, least in (("vla-eval png", 20.0), ("vla-eval raw", 1.5), ("openpi", 1.2)):
        if peer in median:
            label = peer.replace(" ", "_").replace("-", "_")
            at_least(f"wire_over_{label}", median[peer] / tcp, least)
            bench(f"wire_shared_memory_over_{label}", median[peer] / best)


if __name__ == "__main__":
    measure_transport()
