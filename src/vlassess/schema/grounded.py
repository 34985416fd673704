"""What a policy came to on a suite that asks questions."""

from __future__ import annotations

from typing import Literal

from vlassess.schema.grounding import Control
from vlassess.schema.interval import Interval
from vlassess.schema.strict import Frozen

ErrorKind = Literal[
    "no grasp",
    "wrong target after grasp",
    "correct reasoning, wrong target",
    "incorrect reasoning, wrong target",
    "right target, not placed",
]
"""Why an episode failed: Table 5 of the paper, and no grasp at all."""


class ShareOf(Frozen):
    """A share of episodes with what it was computed from."""

    times: int
    """How often."""
    n: int
    """Of how many."""
    rate: float | None
    """None where n is 0."""
    interval: Interval | None
    """95 % exact; None where n is 0."""


class StageCount(Frozen):
    """How far episodes came."""

    stage: str
    """"reach", "contact", "grasp", "lift", "transport" or "place"."""
    any: int
    """Episodes in which some candidate came so far."""
    right: int
    """Episodes in which the right one did."""


class ErrorCount(Frozen):
    """Episodes that failed in one way."""

    kind: ErrorKind
    """How."""
    n: int
    """How many."""
    example: str | None
    """Item id of one of them, of one with a video where there is one."""
    example_name: str
    """The same for people: suite, task and start."""


class Chosen(Frozen):
    """How often candidates of one kind were chosen."""

    value: str
    """The kind: a letter, a colour, a rank."""
    times: int
    """Choices of such a candidate."""
    expected: float
    """Choices of such a candidate if every candidate of an episode were as likely."""


class Bias(Frozen):
    """Choices by one property of candidates, beside blind ones."""

    by: Literal["candidate", "place", "colour", "arm", "distance", "listed"]
    """Which property; `place` and `distance` are ranks within an episode."""
    chosen: tuple[Chosen, ...]
    """Every kind."""
    p_value: float | None
    """Of "choices do not depend on it" (chi-square); None where there is nothing to tell."""
    adjusted_p: float | None
    """Adjusted for all properties of the suite (Holm)."""


class SceneItem(Frozen):
    """One thing in an episode's scene, as it began."""

    name: str
    """Candidate, or "zone"."""
    x: float
    """Meters, away from the arms."""
    y: float
    """Meters, to the arms' left."""
    colour: str
    """Name of its colour; empty for the zone."""
    right: bool
    """It is the right candidate."""
    chosen: bool
    """It was grasped first."""


class ConfusionRow(Frozen):
    """Episodes with one right candidate."""

    right: str
    """Its name."""
    chosen: dict[str, int]
    """Name of the chosen candidate -> episodes; "none" where nothing was grasped."""


class GroundedSuite(Frozen):
    """One policy on one suite that asks questions."""

    suite: str
    """Its name."""
    control: Control
    """What was asked instead of the question; "none": the question."""
    choices: int
    """Candidates of an episode."""
    episodes: int
    """With a result."""
    gsr: ShareOf
    """Grasp success rate: any candidate was grasped."""
    tsr_grasp: ShareOf
    """Task success rate by the first grasp: the first candidate grasped is the right one."""
    tsr_place: ShareOf
    """Task success rate by placing: at the end only the right one rests in the zone, let go."""
    choice: ShareOf
    """The right one among episodes with a grasp."""
    nsg: float | None
    """Normalised semantic grounding: (choice - 1/N) / (1 - 1/N); None where nothing was grasped."""
    nsg_interval: Interval | None
    """From the exact interval of the choice rate."""
    nsg_bootstrap: Interval | None
    """Percentiles over resampled episodes."""
    verdict: str
    """Against chance: "above chance", "below chance", "not distinguishable from chance" or "no grasp"."""
    p_value: float | None
    """Exact binomial, two-sided."""
    needed: int | None
    """Grasps that would tell this rate from chance."""
    sentence: str
    """The verdict in one line."""
    regrasps: float | None
    """Mean number of further grasps in an episode with one."""
    funnel: tuple[StageCount, ...]
    """How far episodes came, in the order of the stages."""
    errors: tuple[ErrorCount, ...]
    """Why episodes failed."""
    biases: tuple[Bias, ...]
    """What choices go with beside the question."""
    bias: str | None
    """The strongest of them in one line; None where none is strong."""
    confusion: tuple[ConfusionRow, ...]
    """Right candidate against chosen one."""
    followed: ShareOf | None
    """`contradictory`: the named candidate among grasps; `swapped`: the one that the start's own question asks for."""
    followed_sentence: str | None
    """The same in words."""
    said: ShareOf | None
    """Episodes whose reasoning names the right candidate, of those whose reasoning names one; None without any."""
    said_and_done: ShareOf | None
    """Episodes that grasp the candidate that their reasoning names, of those that name one and grasp."""
    scene: tuple[SceneItem, ...]
    """Of the first episode of which it is known."""
    instruction: str
    """The same episode's."""
    language: ShareOf | None
    """The right option among questions that the policy was asked without a robot; None where it was not asked."""
    language_gap: float | None
    """Choice rate among grasps minus `language`, over the same episodes' questions: what acting loses."""
    layouts_excluded: int
    """Layouts that were drawn and excluded by geometry, before any policy acted."""
