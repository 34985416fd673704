"""The planned unit of a campaign, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from vlassess.campaign.config import CampaignConfig
from vlassess.schema.strict import Frozen
from vlassess_link.digest import content_id

CAMPAIGN_SCHEMA = 1
"""Version of ``campaign.json``, of a line of its plan and of a record; readers accept every earlier one."""
KIND = "region"


@dataclass(frozen=True)
class RegionItem:
    """One region to decide for one policy.

    Attributes:
        item_id: Hash of (kind, policy label, content).
        kind: "region".
        policy: The policy's label.
        observation: Id of the observation.
        family: Family of perturbations.
        level: Which radius of the family's list, from 0.
        radii: One for each part of the family.
        schema: `CAMPAIGN_SCHEMA` of the writer; not hashed.
    """

    item_id: str
    kind: str
    policy: str
    observation: str
    family: str
    level: int
    radii: tuple[float, ...]
    schema: int = CAMPAIGN_SCHEMA


def region_item(policy: str, observation: str, family: str, level: int, radii: tuple[float, ...]) -> RegionItem:
    """Return the work item of one region."""
    content = [KIND, policy, observation, family, list(radii)]
    return RegionItem(content_id(content), KIND, policy, observation, family, level, radii)


@dataclass(frozen=True)
class RegionRecord:
    """What is known of one region. A later record of the same item replaces an earlier one.

    Attributes:
        item_id: The region.
        verdict: "robust", "adversarial" or "unknown".
        how: "run": decided by its own queries; "inherited": follows from another region's certificate; "witness":
            holds another region's counterexample.
        source: The item whose certificate or counterexample it is; its own where `how` is "run".
        queries: Queries that were spent on it; the draws are not among them.
        reason: Why it is unknown, or why the policy gave no answer at the counterexample; empty otherwise.
        theta: Parameters of the counterexample; empty without one.
        numbers: What else is known by name: "smallest", "lower_bound", "cover", "value" of the counterexample.
        constants: Per term the largest slope that was assumed.
        terms: The terms' names, in the order of `constants`.
        ambiguous: Grippers of which nothing is claimed.
        withdrawn: A certificate that this record withdraws, since a counterexample was found in its region.
        draws: Random draws that were made from the region.
        violations: How many of them were counterexamples.
        answer: The policy's answer at the counterexample.
        seconds: From first query to verdict.
        schema: `CAMPAIGN_SCHEMA` of the writer.
    """

    item_id: str
    verdict: str
    how: str
    source: str
    queries: int = 0
    reason: str = ""
    theta: tuple[float, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    constants: tuple[float, ...] = ()
    terms: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    withdrawn: bool = False
    draws: int = 0
    violations: int = 0
    answer: tuple[float, ...] = ()
    seconds: float = 0.0
    schema: int = CAMPAIGN_SCHEMA


class ObservationFacts(Frozen):
    """One observation of a campaign."""

    id: str
    """Digest of its arrays."""
    source: str
    """Where it is from, for people."""
    instruction: str = ""
    """What the robot is told."""


class PolicyFacts(Frozen):
    """One policy of a campaign, as it was asked."""

    spec: dict[str, Any]
    """`PolicySpec` as JSON."""
    identity: str
    """Digest of its identity; resume refuses another."""
    views: tuple[str, ...]
    """Cameras that are perturbed."""
    quantised: bool
    """It takes whole grey levels only, so the claim is about those."""
    stateless: bool
    """It was asked without a session; else each query was the first of a session of its own."""
    tolerances: dict[str, float] = Field(default_factory=dict)
    """Tolerance by component; empty for answers."""
    noise: float
    """How far two answers to one question may lie apart, in the objective's units."""
    clean: dict[str, tuple[float, ...]]
    """Observation -> its clean answer."""


class CampaignManifest(Frozen):
    """Content of ``campaign.json``: everything that is known before the first region."""

    schema_version: int = CAMPAIGN_SCHEMA
    """`CAMPAIGN_SCHEMA` of the writer."""
    run_id: str
    """Name of the folder."""
    created: str
    """UTC, ISO 8601."""
    config: CampaignConfig
    """The resolved config."""
    plan_hash: str
    """Digest of the plan; resume refuses another."""
    items: int
    """How many regions are planned."""
    observations: tuple[ObservationFacts, ...]
    """In the order of the plan."""
    policies: dict[str, PolicyFacts]
    """Label -> what was asked."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Package or tool -> version."""
    git: dict[str, str] = Field(default_factory=dict)
    """"commit" and "dirty" of the working directory, where it is a checkout."""
    hardware: dict[str, str] = Field(default_factory=dict)
    """CPU, cores, memory, host, operating system."""
