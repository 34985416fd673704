"""The planned unit: what plan files, hand-out, records and resume all count in."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from vlassess_link.data import Episode
from vlassess_link.digest import content_id
from vlassess_link.jsonable import to_json

PLAN_SCHEMA = 1
"""Version of a line of ``plan.jsonl``; readers accept every earlier one."""


@dataclass(frozen=True)
class WorkItem:
    """One thing to do for one policy.

    Attributes:
        item_id: Hash of (kind, policy label, content).
        kind: "episode".
        policy: The policy's label in the run.
        episode: What to run.
        schema: `PLAN_SCHEMA` of the writer; not hashed.
    """

    item_id: str
    kind: str
    policy: str
    episode: Episode
    schema: int = PLAN_SCHEMA


def episode_item(policy: str, episode: Episode) -> WorkItem:
    """Return the work item of one episode for one policy."""
    return WorkItem(content_id(["episode", policy, _told(episode)]), "episode", policy, episode)


def _told(episode: Episode) -> dict[str, Any]:
    """Return what the episode says beyond its defaults: a field that a later version adds changes no id."""
    told = to_json(episode)
    for field in dataclasses.fields(Episode):
        factory = field.default_factory
        default = factory() if factory is not dataclasses.MISSING else field.default
        if default is not dataclasses.MISSING and told[field.name] == default:
            del told[field.name]
    return dict(told)
