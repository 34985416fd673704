"""From planned episodes and their records to what was asked, chosen and done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlassess.grounding.instructions import OBJECTS
from vlassess.grounding.suites import Suite, suite_of
from vlassess.schema.grounding import Asked
from vlassess_link.data import Episode, EpisodeRecord

STAGES = ("reach", "contact", "grasp", "lift", "transport", "place")

_SAYS = re.compile(r"\b(?:answer|option|choice|block|choose|pick|candidate)\b[^.\n]{0,24}?[\s(\"'*:]([A-K])\b")
_ALONE = re.compile(r"\(([A-K])\)")


@dataclass(frozen=True)
class Candidate:
    """One candidate of an episode, as the episode began.

    Attributes:
        name: Letter or object.
        colour: Of it.
        place: Its rank from left to right, as the robot sees it, from 1.
        arm: Whose side it is on: "left" or "right".
        distance: Its rank from the nearest hand, from 1.
        listed: Its rank in the instruction, from 1.
        x, y: Where it stands, meters.
    """

    name: str
    colour: str
    place: int
    arm: str
    distance: int
    listed: int
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Trial:
    """One episode with a result.

    Attributes:
        item_id: Of its work item.
        suite: Which suite.
        index: Which start.
        asked: What was asked.
        candidates: All of them; empty where the policy ended the episode before it could be scored.
        chosen: The first one grasped; None: none.
        regrasps: Further grasps.
        placed: The right one, alone, rests in the zone at the end.
        reached: Candidate -> how many of `STAGES` it reached, in their order.
        said: The candidate that the policy's reasoning names; None: it names none.
        excluded: Layouts excluded by geometry.
        instruction: As it was planned.
        zone: Where the zone is, meters; None where it is not known.
        answered: What the policy said when it was asked without a robot; None: it was not asked; empty: no option.
    """

    item_id: str
    suite: Suite
    index: int
    asked: Asked
    candidates: tuple[Candidate, ...]
    chosen: str | None
    regrasps: int
    placed: bool
    reached: Mapping[str, int]
    said: str | None
    excluded: int
    instruction: str = ""
    zone: tuple[float, float] | None = None
    answered: str | None = None

    @property
    def right(self) -> bool | None:
        """Whether the chosen one is the right one; None without a grasp."""
        return None if self.chosen is None else self.chosen == self.asked.target


def trial(item_id: str, episode: Episode, record: EpisodeRecord | None) -> Trial | None:
    """Return what came of an episode; None where it asks no question or has no result."""
    suite, asked = suite_of(episode.suite), Asked.of(episode.private)
    if suite is None or asked is None or record is None or record.counts_as == "error":
        return None
    said = named_in(record.reasoning, asked.listed) if record.reasoning else None
    if record.outcome is None:
        return Trial(item_id, suite, episode.index, asked, (), None, 0, False, {}, said, 0)
    metrics = record.outcome.metrics
    names: Sequence[str] = episode.scene.get("names", asked.listed)
    number = int(metrics.get("first_grasp", 0))
    return Trial(
        item_id=item_id,
        suite=suite,
        index=episode.index,
        asked=asked,
        candidates=_candidates(names, episode, asked, record),
        chosen=names[number - 1] if number > 0 else None,
        regrasps=int(metrics.get("regrasps", 0)),
        placed=record.outcome.success,
        reached={name: int(metrics.get(f"stage_{name}", 0)) for name in names},
        said=said,
        excluded=int(metrics.get("layouts_excluded", 0)),
        instruction=episode.instruction or "",
        zone=_place(record.initial_state.get("zone")),
    )


def named_in(reasoning: str, names: Sequence[str]) -> str | None:
    """Return the candidate that a text settles on: the last one named as an answer, else the only one named at all."""
    objects = [name for name in names if name in OBJECTS and len(name) > 1]
    if objects:
        found = [(reasoning.lower().rfind(OBJECTS[name]), name) for name in objects]
        last = max(found, default=(-1, ""))
        return last[1] if last[0] >= 0 else None
    told = [letter for letter in _SAYS.findall(reasoning) if letter in names]
    if told:
        return str(told[-1])
    alone = {letter for letter in _ALONE.findall(reasoning) if letter in names}
    return alone.pop() if len(alone) == 1 else None


def _candidates(names: Sequence[str], episode: Episode, asked: Asked, record: EpisodeRecord) -> tuple[Candidate, ...]:
    metrics = record.outcome.metrics if record.outcome is not None else {}
    places = {name: _place(record.initial_state.get(name)) for name in names}
    if any(place is None for place in places.values()) or any(f"distance_{name}" not in metrics for name in names):
        return ()
    x = {name: place[0] for name, place in places.items() if place is not None}
    y = {name: place[1] for name, place in places.items() if place is not None}
    colours: Any = episode.scene.get("colours", "one")
    from_left = _ranks({name: -value for name, value in y.items()})
    near = _ranks({name: metrics[f"distance_{name}"] for name in names})
    return tuple(
        Candidate(
            name=name,
            colour=str(colours[name]) if isinstance(colours, Mapping) else "all alike",
            place=from_left[name],
            arm="left" if y[name] > 0 else "right",
            distance=near[name],
            listed=asked.listed.index(name) + 1,
            x=x[name],
            y=y[name],
        )
        for name in names
    )


def _place(state: Any) -> tuple[float, float] | None:
    return (float(state[0]), float(state[1])) if isinstance(state, list | tuple) and len(state) >= 2 else None


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(sorted(values, key=lambda name: values[name]), 1)}


def names_of(trials: Iterable[Trial]) -> list[str]:
    """Return every candidate of the trials, letters and objects in their own order."""
    found = {name for each in trials for name in each.asked.listed}
    return sorted(found)
