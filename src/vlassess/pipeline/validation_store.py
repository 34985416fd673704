"""A campaign on disk: ``campaign.json``, ``plan.jsonl``, ``regions.jsonl``, its observations and its certificates."""

from __future__ import annotations

import datetime
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlassess import provenance
from vlassess.campaign import (
    CAMPAIGN_SCHEMA,
    CampaignConfig,
    CampaignManifest,
    ObservationFacts,
    PolicyFacts,
    RegionItem,
    RegionRecord,
    plan_hash,
)
from vlassess.pipeline.validation_observations import Named
from vlassess.records import Directory, RunDirectoryError
from vlassess_link.data import Observation

OBSERVATIONS = "observations"


class CampaignDirectory(Directory[CampaignManifest, RegionItem, RegionRecord]):
    """One campaign on disk."""

    MANIFEST = CampaignManifest
    ITEM = RegionItem
    RECORD = RegionRecord
    FILE = "campaign.json"
    LOG = "regions.jsonl"
    VERSIONS = (CAMPAIGN_SCHEMA, CAMPAIGN_SCHEMA, CAMPAIGN_SCHEMA)
    WHAT = ("campaign", "vlassess validate")
    RESUME = "vlassess validate --resume {path}"

    def latest(self) -> dict[str, RegionRecord]:
        """Return the last record of each region that has one."""
        return {record.item_id: record for record in self.read()[0]}

    def keep(self, observations: Sequence[Named]) -> None:
        """Write the observations, so that a certificate can be replayed without where they came from."""
        folder = self.path / OBSERVATIONS
        folder.mkdir(exist_ok=True)
        for named in observations:
            obs = named.observation
            arrays: dict[str, Any] = {f"image_{name}": image for name, image in obs.images.items()}
            if obs.state is not None:
                arrays["state"] = obs.state
            partial = folder / f"{named.id}.partial.npz"
            np.savez_compressed(partial, **arrays)
            os.replace(partial, folder / f"{named.id}.npz")

    def observations(self) -> list[Named]:
        """Return the observations as they were kept.

        Raises:
            RunDirectoryError: one is not there, or is damaged.
        """
        found = []
        for about in self.manifest.observations:
            path = self.path / OBSERVATIONS / f"{about.id}.npz"
            try:
                with path.open("rb") as file, np.load(file) as arrays:
                    held = {name: arrays[name] for name in arrays.files}
            except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
                raise RunDirectoryError(f"{path} cannot be read ({error}): start the campaign anew") from None
            state = held.pop("state", None)
            images = {name.removeprefix("image_"): array for name, array in held.items()}
            found.append(Named(about.id, about.source, Observation(images, about.instruction, state)))
        return found


def manifest_of(
    config: CampaignConfig,
    observations: Sequence[Named],
    facts: Mapping[str, PolicyFacts],
    items: Sequence[RegionItem],
) -> CampaignManifest:
    """Return everything that is known of a campaign before its first region."""
    now = datetime.datetime.now(datetime.timezone.utc)
    digest = plan_hash(items)
    return CampaignManifest(
        run_id=f"{config.name}-{now:%Y%m%d-%H%M%S}-{digest[:6]}",
        created=now.isoformat(timespec="seconds"),
        config=config,
        plan_hash=digest,
        items=len(items),
        observations=tuple(
            ObservationFacts(id=one.id, source=one.source, instruction=one.observation.instruction)
            for one in observations
        ),
        policies=dict(facts),
        versions=provenance.versions(),
        git=provenance.git_state(Path.cwd()),
        hardware=provenance.hardware(),
    )
