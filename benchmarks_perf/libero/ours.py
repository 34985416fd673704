"""vlassess_link in LIBERO's interpreter: ``ours.py server ACTIONS``, ``ours.py worker ACTIONS URL NUMBER``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from shared import ADAPTER, CHUNK, WARM_STEPS, chunk, episode, recorded

from vlassess_link import Benchmark, Observation, PolicyIdentity, PolicySpec, PredictModelServer, SessionContext
from vlassess_link.benchmarks.attempt import Attempt, Job
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.loading import load_target
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.server import PolicyServer

Timed = list[float]


class Replay(PredictModelServer):
    """Answers recorded actions, ten at a time; looks at both cameras."""

    spec = PolicySpec(PolicyIdentity("replay", revision="1"), chunk=CHUNK, horizon=CHUNK)

    def __init__(self, file: str) -> None:
        self._entries = recorded(file)

    def predict(self, obs: Observation, ctx: SessionContext) -> dict[str, Any]:
        """Answer."""
        return {"actions": chunk(self._entries, obs.instruction, obs.step)}


def serve(file: str) -> None:
    """Serve until stdin ends or somebody kills it."""
    with PolicyServer(Replay(file)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def timed(function: Callable[..., Any], into: Timed) -> Callable[..., Any]:
    """Return a function that notes its CPU seconds."""

    def call(*arguments: Any) -> Any:
        begin = time.process_time()
        try:
            return function(*arguments)
        finally:
            into.append(time.process_time() - begin)

    return call


def work(file: str, url: str, number: str) -> None:
    """Run a short episode to warm up, then the whole one as the harness's worker would; print what it cost."""
    entry = recorded(file)[int(number)]
    benchmark = load_target(ADAPTER, Benchmark, {})
    policy = RemotePolicy(url)
    _attempt(benchmark, policy, entry, WARM_STEPS)
    simulator = benchmark._simulator
    steps: Timed = []
    pictures: Timed = []
    looks: Timed = []
    simulator.step, simulator.render = timed(simulator.step, steps), timed(simulator.render, pictures)
    benchmark.make_obs = timed(benchmark.make_obs, looks)
    settled: Timed = []
    reset = benchmark.reset

    def marked(start: Any) -> Any:
        raw = reset(start)
        settled.append(time.process_time())
        steps.clear()
        return raw

    benchmark.reset = marked
    begin = time.process_time()
    record = _attempt(benchmark, policy, entry, len(entry["actions"]))
    spent = time.process_time() - settled[0]
    inside = sum(steps) + sum(pictures)
    found = {
        "steps": record.steps,
        "success": record.outcome is not None and record.outcome.success,
        "state": simulator._env.get_sim_state().tolist(),
        "reset": settled[0] - begin,
        "per_step": [spent / record.steps] * record.steps,
        "look": looks,
        "simulator": inside,
        "loop": spent - inside,
    }
    print(json.dumps(found), flush=True)


def _attempt(benchmark: Any, policy: Any, entry: dict[str, Any], limit: int) -> Any:
    start = episode(entry["task"], entry["state"], limit)
    return Attempt(Job("item", 1, "replay", start), benchmark, policy, Monitor()).run()


if __name__ == "__main__":
    {"server": serve, "worker": work}[sys.argv[1]](*sys.argv[2:])
