"""Validation campaigns: regions about observations, planned as data, decided in an order that bisects, counted."""

from vlassess.campaign.config import (
    BUNDLED_CAMPAIGNS,
    BUNDLED_OBSERVATIONS,
    PATHS,
    CampaignConfig,
    ObservationSource,
)
from vlassess.campaign.items import (
    CAMPAIGN_SCHEMA,
    CampaignManifest,
    ObservationFacts,
    PolicyFacts,
    RegionItem,
    RegionRecord,
)
from vlassess.campaign.plan import make_plan, plan_hash
from vlassess.campaign.series import Series, Witness, settled
from vlassess.campaign.summary import summarise
from vlassess.campaign.wording import radii_text, theta_text

__all__ = [
    "CAMPAIGN_SCHEMA",
    "BUNDLED_CAMPAIGNS",
    "BUNDLED_OBSERVATIONS",
    "PATHS",
    "CampaignConfig",
    "CampaignManifest",
    "ObservationFacts",
    "ObservationSource",
    "PolicyFacts",
    "RegionItem",
    "RegionRecord",
    "Series",
    "Witness",
    "make_plan",
    "plan_hash",
    "radii_text",
    "settled",
    "summarise",
    "theta_text",
]
