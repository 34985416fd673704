"""What a validation campaign came to: the numbers of its report."""

from __future__ import annotations

from vlassess.schema.interval import Interval
from vlassess.schema.strict import Frozen

VALIDATION_SCHEMA = 1
"""Version of the JSON that ``vlassess validate --json`` prints."""


class RadiusRow(Frozen):
    """All observations of one family at one radius."""

    radii: tuple[float, ...]
    """One for each part of the family."""
    text: str
    """The same for people: "±20 %, ±4°"."""
    robust: int
    """How many are certified."""
    adversarial: int
    """How many have a counterexample."""
    unknown: int
    """How many are undecided."""
    rate: float | None
    """Robust among the decided; None where none is decided."""
    interval: Interval | None
    """Exact interval of that rate."""
    low: float
    """Robust among all, with every undecided one counted as adversarial."""
    high: float
    """The same with every undecided one counted as robust."""


class Bracket(Frozen):
    """How far one observation is robust in a family: between two radii of the list."""

    observation: str
    """Its id."""
    source: str
    """Where it is from."""
    robust_to: float | None
    """Largest certified radius (of the family's first part); None: not even the smallest."""
    adversarial_from: float | None
    """Smallest radius with a counterexample; None: none was found."""


class CostRow(Frozen):
    """What verdicts of one kind took; regions decided by their own queries only."""

    verdict: str
    """"robust", "adversarial" or "unknown"."""
    regions: int
    """How many."""
    median: float | None
    """Median number of queries."""
    mean: float | None
    """Mean number of queries."""
    total: int
    """All queries."""


class DrawsRow(Frozen):
    """What so many random draws would have said."""

    draws: int
    """k."""
    called_robust: float
    """Expected number of regions without a counterexample among k draws."""
    wrong: float
    """How many of these have a counterexample, in expectation."""
    share_wrong: float | None
    """The share; None where no region would be called robust."""


class FamilySummary(Frozen):
    """One policy under one family."""

    family: str
    """Its name."""
    unit: str
    """What its radii are."""
    dimension: int
    """Number of parameters N."""
    cover: float | None
    """Largest cover of its certificates, as a share of the region's volume; None without one."""
    rows: tuple[RadiusRow, ...]
    """By radius."""
    brackets: tuple[Bracket, ...]
    """By observation."""
    median_robust_to: float | None
    """Median over observations of the largest certified radius; None where it is below the smallest."""
    median_adversarial_from: float | None
    """Median of the smallest radius with a counterexample; None where it is above the largest."""
    inherited: int
    """Regions that were decided by another region's certificate or counterexample."""
    withdrawn: int
    """Certificates that a counterexample contradicted: false ones."""


class Example(Frozen):
    """One counterexample for the gallery."""

    item_id: str
    """The region."""
    observation: str
    """Its id."""
    title: str
    """Family, radius and parameters for people."""
    clean: str
    """The clean picture as PNG, base64."""
    perturbed: str
    """The perturbed picture as PNG, base64."""
    changes: tuple[str, ...]
    """What changed in the answer, a sentence for each part."""


class PolicySummary(Frozen):
    """One policy."""

    label: str
    """Its label."""
    name: str
    """Its own name."""
    claim: str
    """What a robust verdict says, with its conditions, as a sentence."""
    notes: tuple[str, ...]
    """What else must be known of its claims."""
    families: tuple[FamilySummary, ...]
    """By family."""
    costs: tuple[CostRow, ...]
    """By verdict."""
    draws: tuple[DrawsRow, ...]
    """By number of draws; empty where none were made."""
    gallery: tuple[Example, ...] = ()
    """Counterexamples."""


class ValidationSummary(Frozen):
    """A campaign."""

    schema_version: int = VALIDATION_SCHEMA
    """`VALIDATION_SCHEMA` of the writer."""
    run_id: str
    """Its name."""
    regions: int
    """How many are planned."""
    finished: int
    """How many have a verdict."""
    observations: int
    """How many observations."""
    queries: int
    """All queries of verdicts."""
    drawn: int
    """All random draws."""
    specification: tuple[str, ...]
    """What had to hold, in sentences."""
    policies: tuple[PolicySummary, ...]
    """By policy."""

    @property
    def complete(self) -> bool:
        """Whether every region has a verdict."""
        return self.finished == self.regions
