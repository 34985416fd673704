"""Which episodes are filmed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from vlassess.schema.config import ArtifactsConfig
from vlassess.schema.items import WorkItem


def filmed(items: Sequence[WorkItem], config: ArtifactsConfig) -> frozenset[str]:
    """Return the ids of the items whose attempts spool frames: a function of plan and config alone.

    A sample takes tasks in turn and, within a task, the least episode ids, which are hashes: as good as drawn,
    the same for every policy, and the same after a resume.
    """
    if config.video == "off":
        return frozenset()
    if config.video != "sample":
        return frozenset(item.item_id for item in items)
    tasks: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in items:
        tasks[item.episode.suite, item.episode.task].add(item.episode.episode_id)
    ranked = sorted(
        (rank, place, episode)
        for place, episodes in enumerate(tasks.values())
        for rank, episode in enumerate(sorted(episodes))
    )
    chosen = {episode for _, _, episode in ranked[: config.sample]}
    return frozenset(item.item_id for item in items if item.episode.episode_id in chosen)
