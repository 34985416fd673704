"""Run in MetaWorld's own environment: measures what the tests beside it assert."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from vlassess_link import Benchmark, Episode, Policy
from vlassess_link.benchmarks.base import View
from vlassess_link.digest import ArrayDigest
from vlassess_link.loading import load_target

FOLDER = Path(__file__).parents[3] / "src" / "vlassess" / "benchmarks" / "metaworld"
NAMED = ("reach", "pick-place", "door-open", "drawer-close", "button-press-topdown")
MOVED_BY_UPSTREAM_LATE = ("push", "window-open")
SIZE = (224, 224)


def load(**params: Any) -> Any:
    return load_target(f"{FOLDER / 'adapter.py'}:MetaWorld", Benchmark, params)


def episode(task: str, seed: int) -> Episode:
    return Episode(f"{task}-{seed}", "00", "metaworld@1", "mt50", task, 0, seed, 0, 500)


def digest_of_course(benchmark: Any, expert: Any, start: Episode, steps: int, look: bool) -> dict[str, Any]:
    """Run an episode's beginning; with ``look`` a picture is taken at every step."""
    raw = benchmark.reset(start)
    course, pictures = ArrayDigest(), ArrayDigest()
    for name, value in raw.state.items():
        course.update(name, value)
    for step in range(steps):
        if look or step == 0:
            pictures.update("picture", benchmark.make_obs(raw).images["corner2"])
        action = expert.predict(None).actions[0]
        result = benchmark.step(action)
        raw = result.raw
        course.update("observed", benchmark.privileged()[1])
    return {"course": course.hexdigest(), "first_picture": pictures.hexdigest() if not look else ""}


def determinism() -> list[dict[str, Any]]:
    """Run each start three times: fresh, after another task and another start, and with a picture at every step."""
    found = []
    for task in (NAMED[1], *MOVED_BY_UPSTREAM_LATE):
        runs = []
        for look in (False, True):
            benchmark = load(fast_rendering=True)
            benchmark.view = View({"corner2": (128, 128)})
            expert = load_target(f"{FOLDER / 'experts.py'}:Expert", Policy, {})
            expert.bind(benchmark)
            if look:
                runs.append(digest_of_course(benchmark, expert, episode(task, 5), 6, look))
            else:
                runs.append(digest_of_course(benchmark, expert, episode(task, 5), 6, look))
                digest_of_course(benchmark, expert, episode("reach", 1), 3, look)
                digest_of_course(benchmark, expert, episode(task, 6), 9, look)
                runs.append(digest_of_course(benchmark, expert, episode(task, 5), 6, look))
                other = digest_of_course(benchmark, expert, episode(task, 7), 6, look)
            benchmark.close()
        found.append({"task": task, "runs": runs, "other": other})
    return found


def against_upstream() -> list[dict[str, Any]]:
    """Compare courses and pictures with the environment used as its authors do, from the same start."""
    import metaworld
    from metaworld.env_dict import ENV_CLS_MAP
    from metaworld.policies import ENV_POLICY_MAP

    found = []
    for task in NAMED:
        ours = load()
        ours.view = View({"corner2": SIZE})
        ours.reset(episode(task, 11))
        name = f"{task}-v3"
        kind = ENV_CLS_MAP[name]
        theirs = kind(render_mode="rgb_array", camera_name="corner2", width=SIZE[1], height=SIZE[0])
        data = {"env_cls": kind, "rand_vec": ours._env._last_rand_vec, "partially_observable": False}
        theirs.set_task(metaworld.Task(env_name=name, data=pickle.dumps(data)))
        observed, _ = theirs.reset()
        expert, equal, success = ENV_POLICY_MAP[name](), [np.array_equal(observed, ours.privileged()[1])], []
        for _ in range(12):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                action = expert.get_action(observed.copy())
            observed, _, _, _, info = theirs.step(action)
            result = ours.step(action)
            equal.append(np.array_equal(observed, ours.privileged()[1]))
            success.append(bool(info["success"]) == ours.get_step_result(result).success)
        same = True
        if task in NAMED[:2]:
            same = np.array_equal(ours.make_obs(result.raw).images["corner2"], np.rot90(theirs.render(), 2))
        theirs.close()
        ours.close()
        found.append({"task": task, "observations": all(equal), "success": all(success), "picture": same})
    return found


def cameras() -> dict[str, Any]:
    """Say which way each camera's picture is up: the height of its upward axis, after what the adapter turns."""
    adapter = load()
    adapter.reset(episode("reach", 1))
    env = adapter._env
    module = vars(sys.modules[type(adapter).__module__])
    rolled = module["ROLLED"]
    up = {}
    for name in module["CAMERAS"]:
        axis = env.data.cam(name).xmat.reshape(3, 3)[:, 1]
        up[name] = float(axis[2] * (-1 if name in rolled else 1))
    adapter.close()
    return up


def pictures() -> dict[str, Any]:
    """Take the same picture as upstream has it and fast, at two sizes."""
    taken = {}
    for fast in (False, True):
        benchmark = load(cameras=["corner2", "gripperPOV"], fast_rendering=fast)
        raw = benchmark.reset(episode("pick-place", 3))
        for size in (SIZE, (128, 128)):
            benchmark.view = View({"corner2": size, "gripperPOV": size})
            images = benchmark.make_obs(raw).images
            taken[f"{'fast' if fast else 'whole'}-{size[0]}"] = images["corner2"].astype(int)
            assert images["gripperPOV"].shape == (*size, 3)
        version = benchmark.spec.version
        benchmark.close()
    return {
        "version": version,
        "shapes": [list(image.shape) for image in taken.values()],
        "difference": float(np.abs(taken["whole-224"] - taken["fast-224"]).mean()),
    }


def main() -> None:
    from metaworld.env_dict import MT50_V3

    print(
        json.dumps(
            {
                "tasks": list(MT50_V3),
                "determinism": determinism(),
                "upstream": against_upstream(),
                "up": cameras(),
                "pictures": pictures(),
            }
        )
    )


if __name__ == "__main__":
    main()
