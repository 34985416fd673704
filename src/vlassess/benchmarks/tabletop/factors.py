"""What a level of each axis does to a start: pure functions of a draft, the level's parameters and a generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from vlassess_link.errors import BenchmarkFault

from . import language, palettes
from .layout import Spot, draw_among
from .scene import Camera, Colour, Geom, Glow, Item, Light, Region, Scene, Vector
from .shapes import CATEGORIES, DISTRACTORS, distractor, painted, sized
from .tasks import GOALS, OBJECTS, Task
from .textures import PATTERNS
from .views import moved, shows

Parameters = Mapping[str, Any]
T = TypeVar("T")

_TRIES = 400
_OBJECT_PATTERNS = ("checks", "stripes", "dots")
_TABLE_PATTERNS = ("planks", "marble", "tiles", "checks")
_PANELS: tuple[tuple[Vector, Vector], ...] = (
    ((-0.86, -0.62, -0.22), (0.02, 0.12, 0.30)),
    ((-0.84, -0.36, -0.30), (0.02, 0.10, 0.16)),
    ((-0.86, -0.12, -0.10), (0.02, 0.09, 0.12)),
    ((-0.84, 0.14, -0.26), (0.02, 0.12, 0.14)),
    ((-0.86, 0.40, -0.08), (0.02, 0.10, 0.22)),
    ((-0.84, 0.64, -0.28), (0.02, 0.11, 0.20)),
)
"""Where the parts of a backdrop hang, and their half lengths."""


@dataclass(frozen=True)
class Draft:
    """A start that is being varied.

    Attributes:
        task: As in `Start`, like scene, spots and instruction.
        words: What the task is about, in words; they change with the target.
    """

    task: Task
    scene: Scene
    spots: Mapping[str, Spot]
    words: language.Words
    instruction: str

    @property
    def target(self) -> Item:
        """The item to move."""
        return self.scene.item(self.task.target)

    def with_target(self, item: Item) -> Draft:
        """Return the same with another item in the target's place."""
        items = tuple(item if item.name == other.name else other for other in self.scene.items)
        return replace(self, scene=replace(self.scene, items=items))

    def called(self, target: str) -> Draft:
        """Return the same with the target called something else."""
        words = replace(self.words, target=target)
        return replace(self, words=words, instruction=language.control(words))

    @property
    def phrases(self) -> dict[str, str]:
        """Item -> its words."""
        goals = {name: where.split(" the ")[1] for name, where in GOALS}
        return {**dict(OBJECTS), **goals, self.task.target: self.words.target}


Apply = Callable[[Draft, Parameters, np.random.Generator], Draft]


def object_instance(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Give the target another shade of its colour, a pattern, another size, or an unseen colour that is named."""
    item = draft.target
    shade, pattern, share, name = rng.integers(2), rng.integers(3), rng.integers(2), rng.integers(len(palettes.UNSEEN))
    colour = item.geoms[0].colour
    if "shade" in given:
        colour = _shaded(colour, dark=bool(shade))
    if "colour" in given:
        word = tuple(palettes.UNSEEN)[name]
        colour = palettes.UNSEEN[word]
        draft = draft.called(f"{word} {draft.words.target.split(' ', 1)[1]}")
    item = painted(item, colour, _OBJECT_PATTERNS[pattern] if "texture" in given else "")
    if "shares" in given:
        item = sized(item, given["shares"][share])
    return draft.with_target(item)


def _shaded(colour: Colour, *, dark: bool) -> Colour:
    red, green, blue = (0.5 * part if dark else part + 0.35 * (1.0 - part) for part in colour[:3])
    return (red, green, blue, colour[3])


def object_category(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Put another shape of the same colour in the target's place, and name it."""
    shape, item = CATEGORIES[given["shape"]], draft.target
    named = draft.called(f"{draft.words.target.split(' ', 1)[0]} {shape.words}")
    return named.with_target(shape.instead_of(item, item.geoms[0].colour))


def background(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Give the room another table, another wall, and things that hang before it."""
    room = draft.scene.room
    wall, table, pattern = (
        _chosen(palettes.WALLS, rng),
        _chosen(palettes.TABLES, rng),
        _chosen(_TABLE_PATTERNS, rng),
    )
    panels = tuple(
        Geom("box", half, _chosen(palettes.PANELS, rng), place, solid=False, pattern=_chosen(("", *PATTERNS), rng))
        for place, half in _PANELS
    )
    if "wall" in given:
        room = replace(room, wall=wall)
    if "table" in given:
        room = replace(room, table=table, table_pattern=pattern if "texture" in given else "")
    room = replace(room, backdrop=panels[: given.get("panels", 0)])
    return replace(draft, scene=replace(draft.scene, room=room))


def lighting(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Let the light come from elsewhere, in another colour, weaker, or from one side only."""
    side, turn, lacking = rng.choice((-1.0, 1.0)), rng.uniform(), _chosen(tuple(palettes.TINTS.values()), rng)
    strength, tint, direct = given.get("strength", 1.0), given.get("tint", 0.0), given.get("direct", 1.0)
    colour = tuple(1.0 - tint * part for part in lacking)
    angle = 0.0
    if "turn" in given:
        least, most = given["turn"]
        angle = side * math.radians(least + (most - least) * turn)
    lights = tuple(
        Light(_swung(light.direction, angle), light.diffuse * strength * direct, _vector(colour))
        for light in draft.scene.lights
    )
    glow = draft.scene.glow
    dimmed = Glow(
        *(
            _vector([strength * a * b for a, b in zip(part, colour, strict=True)])
            for part in (glow.ambient, glow.camera)
        )
    )
    return replace(draft, scene=replace(draft.scene, lights=lights, glow=dimmed))


def _swung(direction: Vector, angle: float) -> Vector:
    """Return a direction after a turn about the vertical; one that was turned also comes from lower down."""
    x, y, z = direction
    cosine, sine = math.cos(angle), math.sin(angle)
    return (cosine * x - sine * y, sine * x + cosine * y, z if angle == 0.0 else 0.55 * z)


def initial_state(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Put the target onto a band around the region that layouts are drawn from."""
    least, most = given["beyond"]
    region, name = draft.scene.region, draft.task.target

    def fits(spot: Spot) -> bool:
        return least <= _beyond(region, spot) <= most and _in_sight(draft.scene, spot)

    others = [(item, draft.spots[item.name]) for item in draft.scene.items if item.name != name]
    drawn = draw_among([draft.target], others, _wider(region, most), fits, rng)
    return replace(draft, spots={**draft.spots, **drawn})


def distractors(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Add so many things that nobody asks for; they stand free of everything, in sight."""
    count, scene = given["count"], draft.scene
    first = 2 * int(rng.integers(len(DISTRACTORS) // 2)) if count < len(DISTRACTORS) else 0
    colours = rng.permutation(len(palettes.STANDING_AROUND))[:count]
    items = tuple(
        distractor(number + 1, (first + number) % len(DISTRACTORS), palettes.STANDING_AROUND[colour])
        for number, colour in enumerate(colours)
    )
    taken = [(item, draft.spots[item.name]) for item in scene.items]
    drawn = draw_among(items, taken, _wider(scene.region, 0.07), lambda spot: _in_sight(scene, spot), rng)
    return replace(draft, scene=replace(scene, items=scene.items + items), spots={**draft.spots, **drawn})


def camera_pose(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Shift the named cameras while they keep their aim, then turn them; where they stand, all objects stay in view."""
    offset, angle = given["offset_m"], math.radians(given["rotation_deg"])
    low, high = draft.scene.region.low, draft.scene.region.high
    corners = tuple((x, y, 0.0) for x in (low[0], high[0]) for y in (low[1], high[1]))

    def elsewhere(camera: Camera) -> Camera:
        for _ in range(_TRIES):
            found = moved(camera, offset * _direction(rng), angle * _direction(rng))
            if camera.arm is not None or shows(found, corners):
                return found
        raise BenchmarkFault(f"no pose of camera {camera.name!r} shows all objects; report the seed")

    cameras = tuple(elsewhere(c) if c.name in given["cameras"] else c for c in draft.scene.cameras)
    return replace(draft, scene=replace(draft.scene, cameras=cameras))


def wording(draft: Draft, given: Parameters, rng: np.random.Generator) -> Draft:
    """Say the task in other words."""
    words, kind = draft.words, given["wording"]
    if kind == "referring":
        text = language.refer(words, draft.task.target, draft.spots, draft.phrases, rng)
    else:
        text = {"seen": language.seen, "unseen": language.unseen, "paraphrase": language.paraphrase}[kind](words, rng)
    return replace(draft, instruction=text)


def _in_sight(scene: Scene, spot: Spot) -> bool:
    """Return whether every standing camera's picture shows a spot."""
    point = ((spot.x, spot.y, 0.02),)
    return all(shows(camera, point, 0.93) for camera in scene.cameras if camera.arm is None)


def _beyond(region: Region, spot: Spot) -> float:
    """Return how far a spot is outside a region, meters."""
    x = max(region.low[0] - spot.x, spot.x - region.high[0], 0.0)
    y = max(region.low[1] - spot.y, spot.y - region.high[1], 0.0)
    return math.hypot(x, y)


def _wider(region: Region, by: float) -> Region:
    return Region((region.low[0] - by, region.low[1] - by), (region.high[0] + by, region.high[1] + by))


def _direction(rng: np.random.Generator) -> np.ndarray:
    """Return a unit vector, (3,), uniform over the sphere."""
    drawn = rng.normal(size=3)
    return np.asarray(drawn / np.sqrt(drawn @ drawn))


def _chosen(options: Sequence[T], rng: np.random.Generator) -> T:
    return options[int(rng.integers(len(options)))]


def _vector(numbers: Sequence[float]) -> Vector:
    x, y, z = numbers
    return (x, y, z)
