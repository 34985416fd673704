"""Which part of a plan a run takes, when it begins and when it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vlassess.plan import plan_hash
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import PlanPart, RunManifest
from vlassess.sharding import Shard, limit_items, shard_items


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the config.

    Attributes:
        limit: Take only so many items, which stand for all; None: all.
        shard: Take only this shard of them; None: all of them.
        command: The command line, without its shard; empty where there was none.
    """

    limit: int | None = None
    shard: Shard | None = None
    command: tuple[str, ...] = ()


def part_of(items: Sequence[WorkItem], limit: int | None, shard: Shard | None) -> PlanPart | None:
    """Return what ``run.json`` says of a part of the plan ``items``; None where it is the whole plan."""
    limit = None if limit is not None and limit >= len(items) else limit
    if limit is None and shard is None:
        return None
    number, of = shard or (None, None)
    return PlanPart(plan_hash=plan_hash(items), items=len(items), limit=limit, shard=number, shards=of)


def taken(items: Sequence[WorkItem], part: PlanPart | None) -> tuple[WorkItem, ...]:
    """Return the items of a part of the plan ``items``, in plan order.

    Raises:
        ShardError: the plan has too few items for so many shards, or the limit leaves none.
    """
    chosen = tuple(items)
    if part is not None and part.limit is not None:
        chosen = limit_items(chosen, part.limit)
    shard = None if part is None else shard_of(part)
    return chosen if shard is None else shard_items(chosen, shard)


def shard_of(part: PlanPart) -> Shard | None:
    """Return the shard that a part is; None where it is all of the plan, or of its limit."""
    return None if part.shard is None or part.shards is None else Shard(part.shard, part.shards)


def whole_hash(manifest: RunManifest) -> str:
    """Return the digest of the whole plan that a run is of."""
    return manifest.plan_hash if manifest.part is None else manifest.part.plan_hash
