"""A campaign as data: every region of every family about every observation, for every policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlassess.campaign.config import CampaignConfig
from vlassess.campaign.items import RegionItem, region_item
from vlassess_link.digest import content_hash


def make_plan(config: CampaignConfig, observations: Sequence[str]) -> tuple[RegionItem, ...]:
    """Return the work items of a campaign; a pure function of the config and the observations' ids."""
    return tuple(
        region_item(policy, observation, grid.family, level, radii)
        for policy in config.policies
        for observation in observations
        for grid in config.families
        for level, radii in enumerate(grid.radii)
    )


def plan_hash(items: Iterable[RegionItem]) -> str:
    """Return the digest of a plan."""
    return content_hash([item.item_id for item in items])
