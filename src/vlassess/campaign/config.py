"""What a validation campaign is asked to do: frozen, strict models; an unknown key is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from vlassess.robustness.perturbations import GRIDS, family
from vlassess.robustness.settings import METHODS, HoelderCoverage, Settings
from vlassess.robustness.specifications import GRIPPER_FLOOR, PRESETS
from vlassess.schema.config import Count, Deadlines, Name, Number, PolicySource, Strict
from vlassess_link.errors import ContractError

BATCH = 16
SOURCES = ("name", "npz", "dataset", "run", "images")
Positive = Annotated[Number, Field(gt=0)]
Radii = tuple[Positive, ...]


class ObservationSource(Strict):
    """Where the observations are from. Exactly one of name, npz, dataset, run and images."""

    name: str | None = None
    """Observations that come with vlassess ("tabletop")."""
    npz: Path | None = None
    """A file of arrays: `images_CAMERA` (n, height, width, 3), `state` (n, D), `instruction` (n,); or an `inputs.npz`
    of a run."""
    dataset: Path | None = None
    """A LeRobotDataset v3: one frame of each episode, episodes spread over the tasks."""
    run: Path | None = None
    """A run with `artifacts.inputs`: the first delivered observation of each episode."""
    images: Path | None = None
    """A folder of pictures, each an observation with the one camera `image`."""
    instruction: str = ""
    """What the robot is told, for observations that do not say."""
    limit: Annotated[Count, Field(ge=1)] = 40
    """Most observations; which ones follows from the campaign's seed."""
    cameras: dict[str, str] = Field(default_factory=dict)
    """The policy's camera -> the camera of the observations that it is shown, where their names differ."""

    @model_validator(mode="after")
    def _one_source(self) -> ObservationSource:
        given = [key for key in SOURCES if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(SOURCES)}, not {' and '.join(given) or 'none'}")
        return self


class FamilyGrid(Strict):
    """One family of perturbations at several radii."""

    family: Annotated[str, AfterValidator(lambda text: _family(text))]
    """Changes joined with `+`, as `brightness` or `brightness+dual-rotation`; `dual-` draws one parameter a view."""
    radii: Annotated[
        tuple[Radii, ...],
        BeforeValidator(lambda value: _rows(value)),
        Field(min_length=1),
    ]
    """Increasing radii; for several changes a list of one radius each. Brightness is a share of the range, angles are
    in degrees."""

    @model_validator(mode="after")
    def _increasing(self) -> FamilyGrid:
        found = family(self.family)
        try:
            for radii in self.radii:
                found.box(radii, 1)
        except ContractError as error:
            raise ValueError(str(error)) from None
        for i, (one, next_) in enumerate(zip(self.radii, self.radii[1:], strict=False)):
            if one == next_ or any(a > b for a, b in zip(one, next_, strict=True)):
                raise ValueError(f"radii[{i + 1}] is {list(next_)}, which does not contain {list(one)}: let them grow")
        return self


class SpecificationConfig(Strict):
    """What has to hold under every perturbation of a region."""

    kind: Literal["actions", "answers"] = "actions"
    """`actions`: the action stays within tolerances of the clean one; `answers`: the largest of the policy's `logits`
    stays the largest."""
    preset: Literal["libero"] | None = None
    """Published tolerances: `libero` is 0.1529 for positions and 0.0264 for rotations."""
    tolerances: dict[str, Positive] | None = None
    """Tolerance by name or kind of the action's component, in the action's own numbers."""
    demonstrations: Path | None = None
    """A LeRobotDataset v3: tolerances are a percentile of the distances between its consecutive actions."""
    percentile: Annotated[Number, Field(gt=0, le=100)] = 90.0
    """Which one."""
    index: Annotated[Count, Field(ge=0)] = 0
    """Which action of the chunk."""
    gripper_floor: Annotated[Number, Field(gt=0, le=1)] = GRIPPER_FLOOR
    """How far from its threshold a clean gripper command has to be, as a share of half its range; one that is nearer
    is called ambiguous and nothing is claimed of it."""
    bins: tuple[Number, Number] | None = None
    """[low, high] of the centres of a policy's equal action bins, where it offers `logits` (D, B): the expectation over
    them is used instead of the decoded action, which jumps."""
    allowed: tuple[Annotated[Count, Field(ge=0)], ...] | None = None
    """With `answers`: which of the logits are answers; None: all."""

    @model_validator(mode="after")
    def _one_source(self) -> SpecificationConfig:
        given = [key for key in ("preset", "tolerances", "demonstrations") if getattr(self, key) is not None]
        if self.kind == "actions" and len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"give exactly one of preset, tolerances and demonstrations, not {found}")
        if self.kind == "answers" and (given or self.bins is not None):
            raise ValueError("preset, tolerances, demonstrations and bins are for kind: actions; leave them out")
        return self

    @property
    def given_tolerances(self) -> dict[str, float] | None:
        """Tolerances that need no demonstrations."""
        return dict(PRESETS[self.preset]) if self.preset is not None else self.tolerances


class CampaignConfig(Strict):
    """A whole campaign: policies, observations, regions about each, and who decides them."""

    name: Name = "validation"
    """Used in the folder's name and the report's title."""
    policies: dict[Name, PolicySource] = Field(min_length=1)
    """Label -> whose answers are validated. `policy:` is the short form for one."""
    observations: ObservationSource
    """What they are asked about."""
    families: Annotated[tuple[FamilyGrid, ...], BeforeValidator(lambda value: _preset(value)), Field(min_length=1)]
    """Families with their radii; `vla` and `vlm` stand for the published grids."""
    specification: SpecificationConfig
    """What has to hold."""
    solver: Annotated[Settings, BeforeValidator(lambda value: _solver(value))] = HoelderCoverage(batch=BATCH)
    """Who decides a region, `method: h2v-c` where it says nothing else; its `budget` is the most queries of one region,
    its `batch` how many of them may be under way."""
    all_radii: bool = Field(default=False, strict=True)
    """Decide every radius by itself instead of bisecting."""
    draws: Annotated[Count, Field(ge=0)] = 100
    """Random draws from each region that has a counterexample, to tell what sampling would have said; 0: none."""
    seed: Annotated[Count, Field(ge=0)] = 0
    """Chooses observations and draws; the policy's noise seed too."""
    deadlines: Deadlines = Deadlines()
    """Seconds per phase; `load`, `connect` and `inference` count here."""
    output: Path = Path("validations")
    """Folder that the campaign's folder is made in."""


def _family(text: str) -> str:
    try:
        family(text)
    except ContractError as error:
        raise ValueError(str(error)) from None
    return text


def _rows(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return [row if isinstance(row, list | tuple) else [row] for row in value]


def _solver(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    method = value.get("method", "h2v-c")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; use one of {', '.join(METHODS)}")
    return {"method": method, "batch": BATCH, **value}


def _preset(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in GRIDS:
        raise ValueError(f"{value!r} is no preset; use {' or '.join(GRIDS)}, or a list of family and radii")
    return [{"family": name, "radii": radii} for name, radii in GRIDS[value].items()]


PATHS = (
    ("output",),
    ("observations", "npz"),
    ("observations", "dataset"),
    ("observations", "run"),
    ("observations", "images"),
    ("specification", "demonstrations"),
)
"""Places of a config that hold paths."""
_HERE = Path(__file__).resolve().parent
BUNDLED_OBSERVATIONS = {path.stem: path for path in sorted((_HERE / "observations").glob("*.npz"))}
"""Observations that come with vlassess: name -> file."""
BUNDLED_CAMPAIGNS = {path.stem: path for path in sorted((_HERE / "configs").glob("*.yaml"))}
"""Campaigns that come with vlassess: name -> file."""
