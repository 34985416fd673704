"""What a config says of an environment, checked: every mistake names its key."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import BenchmarkSpec, CameraSpec, TaskSpec, Termination

from .sources import Source

RENDER = "render"
TURNS = (0, 180)


@dataclass(frozen=True)
class TaskSettings:
    """One task: an environment and what is asked of it.

    Attributes:
        env_id: As registered with gymnasium.
        name: Of the task; the environment's id without its namespace where it is not given.
        instruction: What the robot is told to do.
        step_limit: Control steps of an episode; the environment's own time limit is taken off.
        make: Further keyword arguments of ``gymnasium.make``.
        sources: State component -> source, where it differs from the benchmark's.
        expected_steps: Typical length, for hand-out order.
    """

    env_id: str
    instruction: str
    step_limit: int
    name: str = ""
    make: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    expected_steps: float | None = None

    @property
    def task(self) -> str:
        """The task's name."""
        return self.name or self.env_id.rpartition("/")[2]


@dataclass(frozen=True)
class CameraSettings:
    """One picture.

    Attributes:
        size: Its (height, width); the environment must deliver exactly this.
        source: "render", or where the observation holds it ("obs.pixels").
        turn: Degrees by which it must be turned to be upright, 0 or 180.
    """

    size: Sequence[int]
    source: str = RENDER
    turn: int = 0

    def __post_init__(self) -> None:
        if len(self.size) != 2:
            raise ContractError(f"a camera's size is {self.size}; it must be [height, width]")
        if self.turn not in TURNS:
            raise ContractError(f"a camera's turn is {self.turn}; it must be 0 or 180")
        if self.source != RENDER:
            Source(self.source)


@dataclass(frozen=True)
class Score:
    """How a number of the environment is read as success or progress.

    Attributes:
        source: Where it is.
        at_least: Success: from this value on; None: whatever counts as true.
        low, high: Progress: the values that mean 0 and 1; ``low`` may be the greater one.
    """

    source: str
    at_least: float | None = None
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        Source(self.source)
        if self.low == self.high:
            raise ContractError(f"progress has low and high both {self.low}; they must differ")


@dataclass(frozen=True)
class Settings:
    """A whole benchmark; see the folder's README for what each key means."""

    id: str
    tasks: tuple[TaskSettings, ...]
    action: Layout
    success: Score
    state: tuple[tuple[Component, str], ...] = ()
    cameras: Mapping[str, CameraSettings] = field(default_factory=dict)
    progress: Score | None = None
    initial_state: Mapping[str, str] = field(default_factory=dict)
    version: str = "1"
    suite: str = "main"
    imports: tuple[str, ...] = ()
    scale_actions: bool = True
    control_rate_hz: float = 20.0
    termination: str = "on_success"
    counts: str = "ever"
    licence: str = "unknown"

    def spec(self) -> BenchmarkSpec:
        """Return what the benchmark declares."""
        return BenchmarkSpec(
            id=self.id,
            version=self.version,
            tasks=tuple(
                TaskSpec(self.suite, task.task, task.step_limit, task.instruction, (), task.expected_steps)
                for task in self.tasks
            ),
            action=self.action,
            cameras=tuple(
                CameraSpec(name, ((int(camera.size[0]), int(camera.size[1])),)) for name, camera in self.cameras.items()
            ),
            state=Layout(tuple(component for component, _ in self.state)) if self.state else None,
            control_rate_hz=self.control_rate_hz,
            termination=Termination(self.termination),
            success=self.counts,
            licence=self.licence,
        )


def read_settings(params: Mapping[str, Any]) -> Settings:
    """Return the settings that a config's parameters give.

    Raises:
        ContractError: a key is missing or unknown, or a value is not as it must be; names it.
    """
    values = dict(params)
    for key in ("id", "tasks", "action", "success"):
        if not values.get(key):
            raise ContractError(f"the gymnasium bridge needs the parameter {key!r}; see its README for an example")
    tasks = tuple(made(TaskSettings, task, f"tasks[{i}]") for i, task in enumerate(values.pop("tasks")))
    scaled = bool(values.get("scale_actions", True))
    action = tuple(_action_component(entry, f"action[{i}]", scaled) for i, entry in enumerate(values.pop("action")))
    state = tuple(_state_component(entry, f"state[{i}]") for i, entry in enumerate(values.pop("state", ())))
    cameras = {
        name: made(CameraSettings, entry, f"cameras.{name}") for name, entry in values.pop("cameras", {}).items()
    }
    progress = values.pop("progress", None)
    values["success"] = made(Score, _renamed(values["success"]), "success")
    for source in dict(values.get("initial_state", {})).values():
        Source(source)
    values.update(
        tasks=tasks,
        action=Layout(action, clip=True),
        state=state,
        cameras=cameras,
        progress=None if progress is None else made(Score, _renamed(progress), "progress"),
        imports=tuple(values.get("imports", ())),
    )
    settings: Settings = made(Settings, values, "params")
    return settings


def made(kind: Any, values: Any, path: str) -> Any:
    """Return ``kind(**values)``.

    Raises:
        ContractError: a key is unknown or missing; names it and where it is.
    """
    if not isinstance(values, Mapping):
        raise ContractError(f"{path} is {values!r}; it must be a section with the keys of {kind.__name__}")
    names = [entry.name for entry in dataclasses.fields(kind)]
    renamed = _renamed(values)
    unknown = [key for key in renamed if key not in names]
    if unknown:
        raise ContractError(f"{path} has the unknown key {unknown[0]!r}; its keys are {', '.join(names)}")
    try:
        return kind(**renamed)
    except TypeError as error:
        raise ContractError(f"{path}: {error}") from None


def _renamed(values: Any) -> Any:
    """Return a section with ``from`` as ``source``: Python has no argument of that name."""
    if not isinstance(values, Mapping):
        return values
    renamed: dict[str, Any] = {("source" if key == "from" else key): value for key, value in values.items()}
    return renamed


def _action_component(entry: Any, path: str, scaled: bool) -> Component:
    component: Component = made(Component, entry, path)
    if not scaled:
        return component
    if component.low is not None or component.high is not None:
        raise ContractError(f"{path} has bounds, but with scale_actions they are -1 and 1; leave low and high out")
    return dataclasses.replace(component, low=-1.0, high=1.0)


def _state_component(entry: Any, path: str) -> tuple[Component, str]:
    if not isinstance(entry, Mapping) or "from" not in entry:
        raise ContractError(f"{path} has no 'from'; it must say where the numbers are, as from: obs.agent_pos")
    Source(entry["from"])
    rest = {key: value for key, value in entry.items() if key != "from"}
    return made(Component, rest, path), entry["from"]
