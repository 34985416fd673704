"""Run in Fetch's own environment: does a picture change what follows, and does a start repeat?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link import Benchmark, Episode
from vlassess_link.digest import ArrayDigest
from vlassess_link.loading import load_target

BENCHMARKS = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks"


def course(benchmark: Any, task: str, seed: int, look: bool) -> list[str]:
    raw = benchmark.reset(Episode("e", "00", "fetch@1", "main", task, 0, seed, 0, 50))
    digest, picture = ArrayDigest(), ArrayDigest()
    for name, value in raw.state.items():
        digest.update(name, value)
    picture.update("picture", benchmark.make_obs(raw).images["front"])
    for action in np.random.default_rng(seed).uniform(-1, 1, (10, 4)):
        result = benchmark.step(action)
        if look:
            benchmark.make_obs(result.raw)
        digest.update("positions", benchmark.privileged().env.data.qpos)
    return [digest.hexdigest(), picture.hexdigest()]


def main() -> None:
    target = f"{BENCHMARKS / 'gym_bridge' / 'adapter.py'}:GymnasiumBenchmark"
    benchmark = load_target(target, Benchmark, json.loads(sys.argv[1]))
    found = {
        task: [course(benchmark, task, seed, look) for seed, look in ((1, False), (2, True), (1, True))]
        for task in ("reach", "pick-and-place")
    }
    benchmark.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
