"""The scene of answer selection: candidates that are named by a letter or by what they are, and a gray zone.

It knows no question: which candidate is the right one is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from vlassess_link.errors import BenchmarkFault, ContractError

from .glyphs import HALF, LETTERS, lettered
from .layout import Spot
from .scene import Arm, Camera, Colour, Item, Scene, base_scene, zone
from .things import THINGS, thing
from .views import shows

ZONE = "zone"
PLAIN = "pale"
"""Colour of blocks that all look alike."""
PALE: Colour = (0.93, 0.90, 0.82, 1.0)
COLOURS: Mapping[str, Colour] = {
    "red": (0.86, 0.27, 0.22, 1.0),
    "green": (0.36, 0.72, 0.34, 1.0),
    "blue": (0.38, 0.58, 0.92, 1.0),
    "yellow": (0.95, 0.82, 0.25, 1.0),
}
"""What lettered blocks of a coloured scene have, light enough for black strokes."""

_AGENT = Camera("agent", (0.98, 0.0, 0.74), (0.415, 0.0, 0.0), (0.0, 0.0, 1.0), 39.0)
_HOME = 0.30
_APART_FEW, _APART_MANY = 0.118, 0.098
"""Least distance of two candidates' centres: a hand comes down between them whatever their yaw."""
_FEW = 6
_YAW_FEW, _YAW_MANY = math.radians(32), math.radians(20)
_AREA = ((0.425, 0.575 - 0.425), (-0.215, 0.215 + 0.215))
"""Where few candidates stand: least x and width, least y and depth, meters."""
_TRIES = 5000
_REACH = 0.028
"""Half the side of the square around a candidate's centre that has to be in the agent's picture, meters."""


@dataclass(frozen=True)
class Candidates:
    """What an episode's scene says.

    Attributes:
        kind: "letters" or "objects".
        names: Of the candidates: letters, or keys of `things.THINGS`.
        colours: Candidate -> name of its colour; "pale" where all look alike.
    """

    kind: str
    names: tuple[str, ...]
    colours: Mapping[str, str]


@dataclass(frozen=True)
class Laid:
    """Where everything stands.

    Attributes:
        scene: What stands there.
        spots: Item name -> where.
        excluded: Layouts that were drawn before it and do not work by geometry alone.
    """

    scene: Scene
    spots: Mapping[str, Spot]
    excluded: int


def candidates_of(told: Mapping[str, Any], suite: str, rng: np.random.Generator) -> Candidates:
    """Return the candidates of an episode's scene; an empty scene is filled in from the suite.

    Args:
        told: `Episode.scene`: {"kind": "letters" or "objects", "names": [...], "colours": "many", "one" or
            {name: colour}}.
        suite: Ends with the number of candidates; begins with "beyond" where they are objects.
        rng: Of the stream "appearance": which candidate has which colour.

    Raises:
        ContractError: something in it is unknown.
    """
    count = int(suite.rpartition("-")[2])
    kind = told.get("kind", "objects" if suite.startswith("beyond") else "letters")
    known = {"letters": tuple(LETTERS), "objects": tuple(THINGS)}
    unknown = sorted(set(told) - {"kind", "names", "colours"})
    if unknown or kind not in known:
        raise ContractError(
            f"the episode's scene is {dict(told)!r}; it may have kind (letters or objects), names, colours"
        )
    names = tuple(told.get("names", known[kind][:count]))
    if len(set(names)) != len(names) or not set(names) <= set(known[kind]) or len(names) != count:
        raise ContractError(
            f"the episode's scene names {', '.join(map(str, names))}; {suite} takes {count} different ones of "
            f"{', '.join(known[kind])}"
        )
    mode = told.get("colours", "many" if count <= _FEW or kind == "objects" else "one")
    return Candidates(kind, names, _colours(mode, names, rng))


def _colours(mode: Any, names: Sequence[str], rng: np.random.Generator) -> Mapping[str, str]:
    """Return candidate -> name of its colour."""
    if isinstance(mode, Mapping) and set(mode) == set(names) and set(mode.values()) <= {*COLOURS, PLAIN}:
        return {name: str(mode[name]) for name in names}
    if mode == "one":
        return dict.fromkeys(names, PLAIN)
    if mode != "many":
        raise ContractError(
            f"the episode's scene has colours {mode!r}; it must be many, one, or candidate: colour for each, of "
            f"{', '.join(COLOURS)} and {PLAIN}"
        )
    drawn: list[str] = []
    while len(drawn) < len(names):
        drawn += [list(COLOURS)[place] for place in rng.permutation(len(COLOURS))]
    return dict(zip(names, drawn, strict=False))


def answer_base(embodiment: str) -> Scene:
    """Return the scene without candidates: arms, cameras, table and zone.

    Raises:
        ContractError: there is no such embodiment.
    """
    scene = base_scene(embodiment)
    arms = tuple(_raised(arm) for arm in scene.arms)
    cameras = tuple(_AGENT if camera.name == "agent" else camera for camera in scene.cameras)
    return replace(scene, arms=arms, cameras=cameras, items=(zone(ZONE, (0.47, 0.47, 0.48, 1.0)),))


def laid(base: Scene, candidates: Candidates, rng: np.random.Generator) -> Laid:
    """Return the scene with its candidates where the stream "layout" puts them.

    Layouts are drawn until one works by geometry: nothing too near for a hand, everything in the agent's picture. No
    policy takes part, and how many were excluded is told.

    Raises:
        BenchmarkFault: no such layout was found.
    """
    made = tuple(_candidate(candidates.kind, name, candidates.colours[name]) for name in candidates.names)
    scene = replace(base, items=(*made, *base.items))
    order = [made[place].name for place in rng.permutation(len(made))]
    draw = _scattered if len(made) <= _FEW else _rows
    apart = _APART_FEW if len(made) <= _FEW else _APART_MANY
    for excluded in range(_TRIES):
        middle = Spot(float(rng.uniform(0.295, 0.325)), float(rng.uniform(-0.05, 0.05)), 0.0)
        spots = dict(zip(order, draw(len(made), rng), strict=True))
        if _works(list(spots.values()), apart) and _in_sight(spots.values(), base.cameras):
            return Laid(scene, {**spots, ZONE: middle}, excluded)
    raise BenchmarkFault(f"no layout of {len(made)} candidates was found in {_TRIES} tries; report the seed")


def _raised(arm: Arm) -> Arm:
    x, y, _ = arm.home
    return replace(arm, home=(min(x, _HOME), y, _HOME))


@lru_cache(maxsize=256)
def _candidate(kind: str, name: str, colour: str) -> Item:
    shade = PALE if colour == PLAIN else COLOURS[colour]
    return lettered(name, shade) if kind == "letters" else thing(name, shade)


def _scattered(count: int, rng: np.random.Generator) -> list[Spot]:
    """Return spots that are uniform over the area, yaw too."""
    drawn = rng.random(3 * count).tolist()  # as rng.uniform draws, but cheap: most layouts are excluded
    places, yaws = drawn[: 2 * count], drawn[2 * count :]
    (x, wide), (y, deep) = _AREA
    return [
        Spot(x + wide * places[2 * number], y + deep * places[2 * number + 1], -_YAW_FEW + 2 * _YAW_FEW * yaw)
        for number, yaw in enumerate(yaws)
    ]


def _rows(count: int, rng: np.random.Generator) -> list[Spot]:
    """Return spots in two rows whose distances, offsets and jitters are drawn; which is whose is drawn elsewhere."""
    columns = -(-count // 2)
    wide, deep = rng.uniform(0.104, 0.112), rng.uniform(0.116, 0.135)
    x, y = rng.uniform(0.425, 0.440), rng.uniform(-0.012, 0.012)
    shift = rng.uniform(-0.008, 0.008, 2)
    spots = []
    for number in range(count):
        row, column = divmod(number, columns)
        jitter = rng.uniform(-0.006, 0.006, 2)
        at = (x + row * deep + jitter[0], y + shift[row] + (column - (columns - 1) / 2) * wide + jitter[1])
        spots.append(Spot(float(at[0]), float(at[1]), float(rng.uniform(-_YAW_MANY, _YAW_MANY))))
    return spots


def _in_sight(spots: Iterable[Spot], cameras: Sequence[Camera]) -> bool:
    """Return whether the agent's camera sees all candidates, from the table to the top of a block at any yaw."""
    agent = next(camera for camera in cameras if camera.name == "agent")
    around = [(x, y) for x in (-_REACH, _REACH) for y in (-_REACH, _REACH)]
    return all(
        shows(agent, tuple((spot.x + x, spot.y + y, z) for x, y in around for z in (0.0, 2 * HALF)), edge=1.0)
        for spot in spots
    )


def _works(spots: Sequence[Spot], apart: float) -> bool:
    near = any(math.hypot(a.x - b.x, a.y - b.y) < apart for place, a in enumerate(spots) for b in spots[:place])
    return not near and all(abs(spot.y) <= 0.245 and spot.x <= 0.585 for spot in spots)
