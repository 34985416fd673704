"""Plans and records as a run would write them, made through the real types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from vlassess.schema.config import PolicySource, RunConfig
from vlassess.schema.items import WorkItem, episode_item
from vlassess.schema.manifest import RunManifest
from vlassess_link.data import Episode, EpisodeRecord, ErrorInfo, Outcome
from vlassess_link.digest import content_hash, content_id
from vlassess_link.jsonable import to_json
from vlassess_link.seeds import episode_seed, policy_seed
from vlassess_link.spaces import end_effector_delta
from vlassess_link.specs import BenchmarkSpec, PolicyIdentity, PolicySpec, TaskSpec

BEGIN = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
TASKS = (("pick", "red"), ("pick", "blue"), ("place", "bowl"))
LIMIT = 120
IDENTITY = PolicyIdentity("octo", "1", "w" * 8, "c" * 8, "s" * 8)


def plan(
    policies: Sequence[str] = ("main",),
    tasks: Sequence[tuple[str, str]] = TASKS,
    episodes: int = 4,
    cells: Sequence[dict[str, str]] = ({},),
) -> tuple[WorkItem, ...]:
    """Every policy on every task, index and cell."""
    return tuple(
        episode_item(policy, episode(suite, task, index, cell))
        for policy in policies
        for suite, task in tasks
        for index in range(episodes)
        for cell in cells
    )


def episode(suite: str, task: str, index: int, cell: dict[str, str] | None = None) -> Episode:
    """One planned episode."""
    pair = content_hash(["tabletop@1", suite, task, index, None])
    seed, noise = episode_seed(0, pair), policy_seed(0, pair, 0)
    own = content_id([pair, cell or {}, None, seed, 0])
    return Episode(own, pair, "tabletop@1", suite, task, index, seed, noise, LIMIT, perturbation=cell or {})


def record(item: WorkItem, attempt: int = 1, **changes: Any) -> EpisodeRecord:
    """One attempt, a success after 40 steps unless told otherwise."""
    planned = item.episode
    made = EpisodeRecord(
        item_id=item.item_id,
        attempt=attempt,
        policy=item.policy,
        episode_id=planned.episode_id,
        pair_key=planned.pair_key,
        suite=planned.suite,
        task=planned.task,
        index=planned.index,
        seed=planned.seed,
        policy_seed=planned.policy_seed,
        perturbation=planned.perturbation,
        instruction=f"{planned.suite} the {planned.task} block",
        identity=IDENTITY.digest,
        steps=40,
        outcome=success(40),
        state_digest=content_hash([planned.pair_key, "state"]),
        action_low=(-0.5,) * 6 + (-1.0,),
        action_high=(0.5,) * 6 + (1.0,),
        observations=4,
        horizon=10,
        seconds={"reset": 0.5, "step": 1.0, "render": 0.25, "inference": 1.25, "total": 4.0},
        started=BEGIN.isoformat(),
        host="host",
        worker="1",
    )
    return replace(made, **changes)


def success(step: int = 40, progress: float = 1.0, **metrics: float) -> Outcome:
    """Success at a step."""
    return Outcome(True, "success", progress, progress, {"reach": 5}, metrics, step)


def failure(progress: float = 0.5, **metrics: float) -> Outcome:
    """The step limit without success."""
    return Outcome(False, "limit", progress, progress / 2, {}, metrics)


def failed(item: WorkItem, attempt: int = 1, **changes: Any) -> EpisodeRecord:
    """An attempt that ran to the step limit."""
    return record(item, attempt, **{"outcome": failure(), "steps": LIMIT, "observations": 12, **changes})


def broken(item: WorkItem, origin: str, attempt: int = 1, message: str = "it broke", **changes: Any) -> EpisodeRecord:
    """An attempt that ended in an error."""
    phase = "inference" if origin == "policy" else "step"
    error = ErrorInfo(origin, phase, "FakeError", message, f"Traceback:\nFakeError: {message}")
    return record(item, attempt, **{"outcome": None, "error": error, "steps": 7, "observations": 1, **changes})


def manifest(
    items: Sequence[WorkItem], privileged: Iterable[str] = (), primary: str = "success", **config: Any
) -> RunManifest:
    """What ``run.json`` would say of these items."""
    labels = list(dict.fromkeys(item.policy for item in items)) or ["main"]
    specs = {
        label: PolicySpec(IDENTITY, chunk=10, horizon=10, action=end_effector_delta(), privileged=label in privileged)
        for label in labels
    }
    # A config takes plain labels only; what is read from a plan or a record may hold anything.
    plain = [label if re.fullmatch(r"[\w-]+", label, re.ASCII) else "policy" for label in labels]
    sources = {label: PolicySource(name="random") for label in plain}
    asked = {"name": "demo", "benchmark": {"name": "tabletop-v1"}, "policies": sources, **config}
    tasks = dict.fromkeys((item.episode.suite, item.episode.task) for item in items)
    benchmark = BenchmarkSpec(
        "tabletop",
        "1",
        tuple(TaskSpec(suite, task, LIMIT) for suite, task in tasks),
        end_effector_delta(),
        primary_metric=primary,
    )
    return RunManifest(
        run_id="demo-20260301",
        created=BEGIN.isoformat(),
        config=RunConfig.model_validate(asked),
        plan_hash=content_hash([item.item_id for item in items]),
        items=len(items),
        benchmark_spec=to_json(benchmark),
        policy_specs={label: to_json(spec) for label, spec in specs.items()},
        policy_identities={label: spec.identity.digest for label, spec in specs.items()},
        versions={"vlassess": "0.1.0", "python": "3.11"},
        git={"commit": "abc", "dirty": "false"},
        hardware={"cpu": "2 cores"},
    )


def realistic(items: Sequence[WorkItem], seed: int = 0, workers: int = 2) -> list[EpisodeRecord]:
    """Records of a whole run: skills differ by policy and task, some attempts break, some items are missing."""
    rng = np.random.default_rng(seed)
    labels = list(dict.fromkeys(item.policy for item in items))
    tasks = list(dict.fromkeys(item.episode.task for item in items))
    records: list[EpisodeRecord] = []
    for number, item in enumerate(items):
        skill = 0.92 - 0.25 * labels.index(item.policy) - 0.05 * (tasks.index(item.episode.task) % 7)
        skill -= 0.2 * len(item.episode.perturbation)
        started = (BEGIN + timedelta(seconds=4 * (number // workers))).isoformat()
        draw = rng.random()
        if draw < 0.02:
            continue
        if draw < 0.06:
            records.append(broken(item, "infrastructure", 1, "the connection was lost", started=started))
        if draw < 0.035:
            records.append(broken(item, "benchmark", 2, f"physics diverged at step {number}", started=started))
        elif draw > 0.985:
            records.append(broken(item, "policy", 1, "action 3 of the chunk has nan", started=started))
        elif rng.random() < skill:
            step = int(np.clip(rng.lognormal(3.8, 0.35), 5, LIMIT - 1))
            records.append(
                record(item, 3, steps=step, outcome=success(step), observations=step // 10 + 1, started=started)
            )
        else:
            progress = float(rng.choice([0, 0.25, 0.5, 0.75]))
            records.append(failed(item, 3, outcome=failure(progress), started=started))
    return records
