"""What is claimed, in words that never say more than was shown."""

from __future__ import annotations

from collections.abc import Sequence

from vlassess.campaign.config import SpecificationConfig
from vlassess.campaign.items import PolicyFacts, RegionRecord
from vlassess.robustness.perturbations import family
from vlassess.robustness.settings import Hoelder, HoelderCoverage, HoelderMargin, Lipschitz, Settings


def radii_text(name: str, radii: Sequence[float]) -> str:
    """Return radii for people: "±20 %, ±4°"."""
    parts = family(name).parts
    return ", ".join(_radius(part.change.unit, part.change.one_sided, r) for part, r in zip(parts, radii, strict=True))


def _radius(unit: str, one_sided: bool, radius: float) -> str:
    sign = "up to " if one_sided else "±"
    if unit.startswith("share"):
        return f"{sign}{100 * radius:g} %"
    return f"{sign}{radius:g}" + ("°" if unit == "degree" else " px" if unit.startswith("pixel") else "")


def theta_text(name: str, views: Sequence[str], theta: Sequence[float]) -> str:
    """Return a counterexample's parameters for people: "brightness -30.2, rotation of wrist 1.9°"."""
    kind = family(name)
    scales = [part.change for part in kind.parts for _ in range(len(views) if part.per_view else 1)]
    told = []
    for axis, change, value in zip(kind.axes(views), scales, theta, strict=True):
        shown = value / change.scale
        in_percent = change.unit.startswith("share")
        told.append(
            f"{axis} {100 * shown:+.3g} %" if in_percent else f"{axis} {shown:+.3g}" + "°" * (change.unit == "degree")
        )
    return ", ".join(told)


def claim(solver: Settings, facts: PolicyFacts) -> str:
    """Return what a robust verdict says, and on which conditions."""
    over = (
        "every picture of whole grey levels that the policy can be given" if facts.quantised else "every perturbation"
    )
    start = f"Robust: the specification holds for {over} in the region, "
    if isinstance(solver, Lipschitz):
        return start + "on the condition that the bound on the objective's slope, which the user vouches for, is true."
    if isinstance(solver, HoelderCoverage):
        return (
            start + "conditional on the estimated Hölder constants; the region was covered at the resolution that is "
            "printed beside each family (cover c: the widest gap between queries along the curve, as a share of the "
            "region). A failure narrower than that can have been missed."
        )
    if isinstance(solver, Hoelder | HoelderMargin):
        return (
            start + "conditional on the estimated Hölder constants, without a rule of coverage: measured, such "
            "certificates are often false where failures are narrow."
        )
    return "This method looks for counterexamples only; it certifies nothing."


def notes(facts: PolicyFacts, records: Sequence[RegionRecord]) -> tuple[str, ...]:
    """Return what else must be known of a policy's verdicts."""
    told = []
    if facts.quantised:
        told.append(
            "quantised: the policy takes 8-bit pictures, so perturbed ones were rounded to whole grey levels, and the "
            "objective is a step function; slopes at steps are as large as the nearest two queries make them"
        )
    if not facts.stateless:
        told.append("each query was the first of a session of its own, since the server knows no stateless ones")
    if facts.noise > 0:
        told.append(
            f"two answers to one question differ by up to {facts.noise / 2:.3g}; bounds are lowered by twice it"
        )
    silent = sorted({record.reason for record in records if record.verdict == "adversarial" and record.reason})
    if silent:
        count = sum(record.verdict == "adversarial" and bool(record.reason) for record in records)
        told.append(f"the counterexample is a picture without an answer (regions: {count}); {silent[0]}")
    unsure = sorted({name for record in records for name in record.ambiguous})
    if unsure:
        count = sum(bool(record.ambiguous) for record in records)
        told.append(
            f"ambiguous: in {count} regions the clean command of {', '.join(unsure)} is too close to its threshold to "
            "say which it is, so nothing is claimed of it there"
        )
    return tuple(told)


def specification_text(config: SpecificationConfig) -> tuple[str, ...]:
    """Return what had to hold, in sentences."""
    if config.kind == "answers":
        return ("The clean answer keeps the largest logit among the allowed ones.",)
    return (
        f"Action {config.index} of the chunk stays within the tolerances of the clean one (Euclidean distance for each "
        "component).",
        "No gripper crosses its threshold; one whose clean command is nearer to it than "
        f"{config.gripper_floor:g} of half its range is ambiguous.",
        "Each is about the policy's own clean answer in one step, not about success.",
    )
