"""What a transfer study is asked to do: frozen, strict models; an unknown key is an error.

A cell is one policy's rate with one factor varied. Everything a study fixes is fixed here, before the first trial;
what changes later is an amendment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from vlassess.schema.config import BenchmarkSource, ExecutionConfig, Name, PolicySource
from vlassess.schema.strict import Count, Number, Strict

Share = Annotated[Number, Field(gt=0, lt=1)]
STAGES = ("reach", "grasp", "transport", "place")
"""The stages that partial credit is given for where a study names no others."""


class StudyCell(Strict):
    """One factor at one level beside its control.

    `camera_pose=far` is the short form of a benchmark's axis and level; a benchmark that declares no factors names the
    suites: `{axis: objects, level: new, suite: libero_object, control: libero_spatial}`.
    """

    axis: str
    """The factor. With `suite` it is the study's own word for it."""
    level: str
    """Which value it has; `*` stands for each level that the benchmark declares."""
    within: dict[str, str] = Field(default_factory=dict)
    """Levels of other axes that the cell and its control have in common: the scene of both."""
    suite: str | None = None
    """The suite whose tasks are the cell, where the benchmark declares no such axis."""
    control: str | None = None
    """The suite that it is measured against; goes with `suite`."""

    @property
    def name(self) -> str:
        """As studies write it: ``object_category=mug within background=room``."""
        scene = ", ".join(f"{axis}={level}" for axis, level in self.within.items())
        return f"{self.axis}={self.level}" + (f" within {scene}" if scene else "")

    @model_validator(mode="after")
    def _suites_go_together(self) -> StudyCell:
        if (self.suite is None) != (self.control is None):
            raise ValueError(f"{self.name}: suite and control belong together; name the suite that is the control too")
        if self.suite is not None and self.within:
            raise ValueError(f"{self.name}: within is for axes of a benchmark; a suite stands in its own scene")
        if self.suite is not None and self.suite == self.control:
            raise ValueError(f"{self.name}: suite and control are both {self.suite!r}; a control is another suite")
        return self


class ClaimConfig(Strict):
    """What a cell has to be able to show; the number of starts is worked out from it."""

    delta: Share
    """Smallest gap to the control that is to be found, as a share: 0.1 is ten points."""
    power: Share = 0.8
    """Chance that a gap of that size is found."""
    rate: Share = 0.5
    """Mean rate of cell and control; 0.5 is the cautious choice."""
    correlation: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    """How alike cell and control are on one start, from a pilot; 0: no gain from matched starts."""


class Checkpoint(Strict):
    """One adapted checkpoint."""

    k: Annotated[Count, Field(ge=1)]
    """Demonstrations that it was adapted with."""
    method: Name
    """How: LoRA on the head, all weights, replay of old data."""
    policy: PolicySource
    """Where it is."""


class DemonstrationsConfig(Strict):
    """What the adapted checkpoints were shown, so that it can be checked that the evaluation holds it out."""

    objects: tuple[str, ...] = ()
    """Physical objects in the demonstrations ("mug 1")."""
    records: Path | None = None
    """A file of starts: `demonstrations.json` of the bundled training, with `starts`: a list of seeds or pair keys."""


class FewShotConfig(Strict):
    """One cell as a function of the number of demonstrations, for each way of adapting."""

    policy: Name
    """The policy that was adapted, as `policies` has it; its own trials are K = 0."""
    cell: str
    """The cell that it was adapted to, one of `cells` ("object_category=card")."""
    k: tuple[Annotated[Count, Field(ge=1)], ...] = Field(default=(), max_length=50)
    """Numbers of demonstrations, increasing; 0 is always there and need not be given."""
    methods: tuple[Name, ...] = Field(default=(), max_length=20)
    """Names of the ways of adapting."""
    checkpoint: PolicySource | None = None
    """Where the checkpoint of each method and k is: `{method}`, `{k}` and `{folder}` stand for them in every text; one
    that is `{k}` alone becomes the number."""
    folder: Path | None = None
    """Folder of the checkpoints: `{folder}`."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Or each one by itself, with `k` and `method`."""
    demonstrations: DemonstrationsConfig = DemonstrationsConfig()
    """What they were shown."""
    objects: tuple[str, ...] = ()
    """Physical objects that the cell is evaluated with; none may be among the demonstrations'."""

    @model_validator(mode="after")
    def _one_way(self) -> FewShotConfig:
        listed, spanned = bool(self.checkpoints), self.checkpoint is not None
        if listed == spanned:
            raise ValueError("give exactly one of checkpoint (with k and methods) and checkpoints")
        if spanned and not (self.k and self.methods):
            raise ValueError("checkpoint needs k and methods, as k: [2, 5, 10] and methods: [full]")
        if listed and (self.k or self.methods):
            raise ValueError("k and methods are said by each of checkpoints; leave them out")
        if any(a >= b for a, b in zip(self.k, self.k[1:], strict=False)):
            raise ValueError(f"k is {list(self.k)}; let it increase")
        found = [(one.method, one.k) for one in self.adapted]
        if len(set(found)) < len(found) or len(set(self.methods)) < len(self.methods):
            raise ValueError("a method and k is given twice; keep one checkpoint for each")
        if spanned and len({one.policy.model_dump_json() for one in self.adapted}) < len(found):
            raise ValueError(
                "checkpoint is the same for several methods or k; put {method} and {k} where they are told apart"
            )
        return self

    @property
    def adapted(self) -> tuple[Checkpoint, ...]:
        """Every adapted checkpoint, method by method."""
        if self.checkpoint is None:
            return self.checkpoints
        return tuple(
            Checkpoint(k=k, method=method, policy=_filled(self.checkpoint, self._words(method, k)))
            for method in self.methods
            for k in self.k
        )

    def _words(self, method: str, k: int) -> dict[str, str | int]:
        return {"{method}": method, "{k}": k, "{folder}": str(self.folder or ".")}


class RetentionConfig(Strict):
    """What was forgotten: tasks that the policy could do before it was adapted, tried again after."""

    suites: tuple[str, ...] = Field(min_length=1)
    """Suites of seen tasks; nothing in them is varied."""
    tasks: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Shell patterns on "suite/task"; None: all tasks of the suites."""
    starts: Annotated[Count, Field(ge=1)] | None = None
    """Starts in all; None: as many as a cell has."""
    margin: Share = 0.1
    """How much worse still counts as not worse, as a share: 0.1 is ten points."""


class RealConfig(Strict):
    """Trials by hand, on a robot, that are entered as a file."""

    policies: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """Which of `policies`; None: all."""
    cells: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Which of `cells`; their controls come along. None: all."""
    starts: Annotated[Count, Field(ge=1)] | tuple[str, ...] | None = None
    """How many initial states, or the name of each; None: as many as a cell has."""
    pictures: Path | None = None
    """Folder with a reference picture of each initial state, `NAME.png` or `NAME.jpg`."""
    stages: tuple[str, ...] = Field(default=STAGES, min_length=1)
    """Stages that partial credit is given for, in order; progress is the share of them that was reached."""
    seconds_per_trial: Annotated[Number, Field(gt=0)] = 90.0
    """Time of one trial, with its reset."""


class StudyConfig(Strict):
    """A whole study: policies, cells beside their controls, a few-shot curve, retention, and trials by hand."""

    name: Name = "study"
    """Used in the folder's name and the report's title."""
    benchmark: BenchmarkSource | None = None
    """Where the trials are simulated; None: all are done by hand."""
    suites: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Suites whose tasks are varied; None: all, or those that cells name."""
    tasks: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Shell patterns on "suite/task"; None: all tasks of the suites."""
    policies: dict[Name, PolicySource] = Field(min_length=1)
    """Label -> what is compared, every one in every cell."""
    cells: tuple[StudyCell, ...] = Field(min_length=1)
    """One factor at one level each; their controls are added."""
    starts: Annotated[Count, Field(ge=1)] | None = None
    """Matched initial states of a cell, over its tasks; or give `claim`."""
    claim: ClaimConfig | None = None
    """What has to be shown, from which the starts are worked out; or give `starts`."""
    seed: Annotated[Count, Field(ge=0)] = 0
    """Base seed of the initial states."""
    few_shot: FewShotConfig | None = None
    """The curve over demonstrations."""
    retention: RetentionConfig | None = None
    """What the adapted checkpoints have forgotten; needs `few_shot`."""
    real: RealConfig | None = None
    """Trials by hand."""
    alpha: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    """Chance of any false verdict among the cells of a policy; 1 - alpha is the confidence of every interval."""
    test: Literal["exact", "stratified", "progress"] = "exact"
    """What tests a gap: McNemar over pairs, within tasks, or a permutation of the progress scores."""
    seconds_per_trial: Annotated[Number, Field(gt=0)] | None = None
    """Time of one simulated trial, for the hours of the plan; None: not told."""
    execution: ExecutionConfig = ExecutionConfig()
    """How simulated trials use the machine. Nothing here changes a result."""
    output: Path = Path("studies")
    """Folder that the study's folder is made in."""

    @model_validator(mode="after")
    def _is_whole(self) -> StudyConfig:
        if (self.starts is None) == (self.claim is None):
            raise ValueError("give exactly one of starts and claim: how many, or what has to be shown")
        if self.benchmark is None and self.real is None:
            raise ValueError("neither benchmark nor real is given, so there is no trial; give one")
        if self.retention is not None and self.few_shot is None:
            raise ValueError("retention is about adapted checkpoints; it needs few_shot")
        if self.benchmark is None and self.few_shot is not None:
            raise ValueError("few_shot needs benchmark: trials by hand are not planned for adapted checkpoints yet")
        if self.few_shot is not None and self.few_shot.policy not in self.policies:
            raise ValueError(f"few_shot.policy is {self.few_shot.policy!r}, which policies does not have")
        return self


def _filled(source: PolicySource, words: Mapping[str, str | int]) -> PolicySource:
    """Return a source with every placeholder replaced, in every text."""
    values = source.model_dump(exclude_none=True, exclude_defaults=True)
    return PolicySource.model_validate(_replaced(values, words))


def _replaced(value: Any, words: Mapping[str, str | int]) -> Any:
    if isinstance(value, str):
        if value in words:
            return words[value]
        for placeholder, text in words.items():
            value = value.replace(placeholder, str(text))
        return value
    if isinstance(value, dict):
        return {key: _replaced(entry, words) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(entry, words) for entry in value]
    return value
