"""The planned unit: what plan files, hand-out, records and resume all count in."""

from __future__ import annotations

from dataclasses import dataclass

from vlassess_link.data import Episode
from vlassess_link.digest import content_id
from vlassess_link.jsonable import to_json


@dataclass(frozen=True)
class WorkItem:
    """One thing to do for one policy.

    Attributes:
        item_id: Hash of (kind, policy label, content).
        kind: "episode".
        policy: The policy's label in the run.
        episode: What to run.
    """

    item_id: str
    kind: str
    policy: str
    episode: Episode


def episode_item(policy: str, episode: Episode) -> WorkItem:
    """Return the work item of one episode for one policy."""
    return WorkItem(content_id(["episode", policy, to_json(episode)]), "episode", policy, episode)
