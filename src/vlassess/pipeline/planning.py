"""The one place that plans: what the plan says, with questions filled in where suites ask them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from vlassess.grounding.episodes import filled
from vlassess.grounding.suites import Course, Suite, course, suite_of
from vlassess.plan import PlanError, make_plan
from vlassess.schema.config import RunConfig
from vlassess.schema.grounding import GroundingConfig
from vlassess.schema.items import WorkItem, episode_item
from vlassess_link.data import Episode
from vlassess_link.specs import BenchmarkSpec


def planned(config: RunConfig, spec: BenchmarkSpec) -> tuple[WorkItem, ...]:
    """Return every work item of a run: a pure function of config, spec and the files of questions that it names.

    Raises:
        PlanError: the config does not fit the benchmark.
        QuestionError: a file of questions cannot be used.
    """
    items = make_plan(config, spec)
    asking = {suite: found for suite in {item.episode.suite for item in items} if (found := suite_of(suite))}
    if not asking:
        if config.grounding is not None:
            raise PlanError(
                f"plan of {config.name!r} on {spec.name}",
                [f"grounding is given, but {spec.name} has no suite that asks questions; leave it out"],
            )
        return items
    return tuple(_asking(items, asking, config.grounding or GroundingConfig(), config.seed))


def _asking(items: Sequence[WorkItem], suites: dict[str, Suite], config: GroundingConfig, seed: int) -> list[WorkItem]:
    needed = 2 + max(item.episode.index for item in items)
    courses: dict[str, Course] = {}
    done: dict[str, Episode] = {}
    found = []
    for item in items:
        suite = suites.get(item.episode.suite)
        if suite is None:
            found.append(item)
            continue
        if suite.domain not in courses:
            courses[suite.domain] = course(suite.domain, config, seed, needed)
        before = item.episode.episode_id
        if before not in done:
            done[before] = filled(item.episode, suite, courses[suite.domain], config)
        found.append(dataclasses.replace(episode_item(item.policy, done[before]), schema=item.schema))
    return found
