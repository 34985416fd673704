"""What an episode begins with: pure values, no simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vlassess_link import Episode
from vlassess_link.errors import ContractError

from .layout import Spot, draw_layout
from .scene import Scene, base_scene
from .tasks import TASKS, Task


@dataclass(frozen=True)
class Part:
    """Components of the initial state that settle in a scene of their own, so that they are those of another episode.

    Attributes:
        names: Which components.
        scene: The scene.
        spots: Where its items stand.
    """

    names: frozenset[str]
    scene: Scene
    spots: Mapping[str, Spot]


@dataclass(frozen=True)
class Start:
    """What an episode begins with.

    Attributes:
        task: What is to be done, and what counts as having done it.
        scene: What stands there; equal scenes are compiled once.
        spots: Item name -> where it stands, for every item of the scene.
        instruction: What the robot is told.
        parts: What settles elsewhere; a component that none names settles in the scene itself.
    """

    task: Task
    scene: Scene
    spots: Mapping[str, Spot]
    instruction: str
    parts: tuple[Part, ...] = ()


def base_start(embodiment: str, episode: Episode) -> Start:
    """Return the episode's unvaried start: its suite's own scene, laid out from the stream "layout".

    Raises:
        ContractError: there is no such task, or the episode brings a scene or a stored initial state.
    """
    task = TASKS.get((episode.suite, episode.task))
    if task is None:
        known = ", ".join("/".join(key) for key in TASKS)
        raise ContractError(f"tabletop has no task {episode.suite}/{episode.task}; its tasks are {known}")
    for field in ("scene", "initial_state"):
        value = getattr(episode, field)
        if value:
            raise ContractError(f"the episode's {field} is {value!r}; tabletop takes none: leave it empty")
    scene = base_scene(embodiment, episode.suite)
    spots = draw_layout(scene.items, scene.region, episode.rng("layout"))
    return Start(task, scene, spots, task.instruction if episode.instruction is None else episode.instruction)
