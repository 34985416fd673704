"""What the two sides declare before the first episode: `PolicySpec` and `BenchmarkSpec`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, FrozenSet, Iterable, Mapping, Optional, Tuple

from vlassess_link.digest import content_id
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json
from vlassess_link.spaces import Layout, require_one_of

UNKNOWN = "unknown"
OBSERVE = ("on_demand", "every_step")
IMAGE_DTYPES = ("uint8", "float32")
TERMINATIONS = ("on_success", "at_limit", "hold")
SUCCESS_SEMANTICS = ("ever", "at_end", "held")
COLOUR_ORDERS = ("rgb", "bgr")
ORIENTATIONS = ("upright", "rotated_180", "flipped_rows")
CONTROLS = ("paired", "unpaired")
CAMERA = "camera:"
"""Stands before a camera's name where a touched set names it."""


@dataclass(frozen=True)
class PolicyIdentity:
    """Which policy this is, precisely enough that two runs can be told apart.

    Attributes:
        name: For people and tables.
        revision: Version or commit of the policy's code.
        weights_digest: Digest of the weights.
        config_digest: Digest of what the policy was configured with.
        script_digest: Digest of the script that serves it.

    Each may be "unknown"; a comparison then says so.
    """

    name: str
    revision: str = UNKNOWN
    weights_digest: str = UNKNOWN
    config_digest: str = UNKNOWN
    script_digest: str = UNKNOWN

    @property
    def digest(self) -> str:
        """One id over all fields; resume and pairing refuse when it changed."""
        return content_id(to_json(self))


@dataclass(frozen=True)
class ImageConvention:
    """How a camera's pixels are laid out and were made.

    Attributes:
        colour: One of `COLOUR_ORDERS`; the wire carries "rgb".
        orientation: One of `ORIENTATIONS`, relative to how a person would look at the scene.
        crop: Side of the centre crop as a share of the whole, 1.0 for none; a crop of 0.9 of the area has the side
            0.9487.
        resize: Name of the resize method, None where the image comes at its size. A policy that names one of
            `conventions.images.RESIZES` gets its `image_size` by it where no camera renders at that size.
    """

    colour: str = "rgb"
    orientation: str = "upright"
    crop: float = 1.0
    resize: Optional[str] = None

    def __post_init__(self) -> None:
        require_one_of("colour", self.colour, COLOUR_ORDERS)
        require_one_of("orientation", self.orientation, ORIENTATIONS)
        if not 0.0 < self.crop <= 1.0:
            raise ContractError(f"crop is {self.crop}; it must be a share above 0 and at most 1")


@dataclass(frozen=True)
class PolicySpec:
    """What a policy is, needs and answers.

    Attributes:
        identity: Which policy this is.
        cameras: Cameras it looks at: only these are rendered and sent. None: all that the benchmark has;
            empty: none.
        image_size: (height, width) in pixels, None for the benchmark's default.
        image_dtypes: What it accepts, of `IMAGE_DTYPES`; floats are on the same scale [0, 255].
        image: How it expects pixels.
        state: Proprioception layout that it reads, of no component where it reads none; None where it declares
            nothing: it then gets the benchmark's as it is.
        action: Layout of one action, of no component where its numbers mean nothing in particular; None where it
            declares nothing.
        control_rate_hz: Control steps a second that its actions are meant for; None where it declares nothing.
        chunk: Actions in one answer (T).
        horizon: How many of a chunk are executed before the next observation, 1 to `chunk`.
        observe: "on_demand" (once per horizon) or "every_step" (ensembling, history).
        history: How many past observations it keeps, 0 for none.
        stochastic: Two calls with the same observation may differ.
        uses_noise_seed: Its noise is a function of the noise seed it is given.
        batched: `predict_batch` is its own.
        privileged: It reads the simulator's state; only ever an upper bound.
        capabilities: Optional calls that it answers ("query", "answer").
        extras: Names of extra observation arrays that it accepts.
    """

    identity: PolicyIdentity
    cameras: Optional[Tuple[str, ...]] = None
    image_size: Optional[Tuple[int, ...]] = None
    image_dtypes: Tuple[str, ...] = ("uint8",)
    image: ImageConvention = ImageConvention()
    state: Optional[Layout] = None
    action: Optional[Layout] = None
    control_rate_hz: Optional[float] = None
    chunk: int = 1
    horizon: int = 1
    observe: str = "on_demand"
    history: int = 0
    stochastic: bool = False
    uses_noise_seed: bool = False
    batched: bool = False
    privileged: bool = False
    capabilities: Tuple[str, ...] = ()
    extras: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_one_of("observe", self.observe, OBSERVE)
        for dtype in self.image_dtypes:
            require_one_of("image_dtypes", dtype, IMAGE_DTYPES)
        if self.image_size is not None:
            _require_size("image_size", self.image_size)
        if self.control_rate_hz is not None:
            _require_rate(self.control_rate_hz)
        if not 1 <= self.horizon <= self.chunk:
            raise ContractError(f"horizon is {self.horizon}; it must be from 1 to chunk ({self.chunk})")


@dataclass(frozen=True)
class CameraSpec:
    """One camera: its name, the (height, width) sizes it can render, the default first."""

    name: str
    sizes: Tuple[Tuple[int, ...], ...]
    image: ImageConvention = ImageConvention()

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ContractError(f"camera {self.name!r} has no size; give at least one (height, width)")
        for size in self.sizes:
            _require_size(f"a size of camera {self.name!r}", size)


@dataclass(frozen=True)
class TaskSpec:
    """One task of a suite.

    Attributes:
        suite: The suite's name.
        name: Unique within its suite.
        instruction: The text, None where the benchmark draws it at reset.
        step_limit: Control steps after which the episode ends.
        initial_states: Ids of stored initial states, one per index; empty: drawn from the seed.
        expected_steps: Typical length of an episode, for hand-out order; None: the step limit.
    """

    suite: str
    name: str
    step_limit: int
    instruction: Optional[str] = None
    initial_states: Tuple[str, ...] = ()
    expected_steps: Optional[float] = None

    def __post_init__(self) -> None:
        if self.step_limit < 1:
            raise ContractError(f"task {self.suite}/{self.name}: step_limit is {self.step_limit}, not at least 1")


@dataclass(frozen=True)
class Level:
    """One named level of an axis.

    Attributes:
        name: As configs name it ("far").
        parameters: What the benchmark reads.
        touched: What this level may change, part of what its axis may; None: all of that.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    touched: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class Axis:
    """One factor that can be varied alone.

    Attributes:
        name: As configs name it ("camera_pose").
        levels: Ordered from mild to strong.
        touched: What a level may change: names of state components, "camera:<name>", "instruction".
            Everything outside is bit-identical to the control of the same pair key.
        control: "paired", or "unpaired" where the axis changes the initial state itself.
        excludes: Names of axes that no episode can vary beside this one, as both put another thing in one place.
    """

    name: str
    levels: Tuple[Level, ...]
    touched: Tuple[str, ...]
    control: str = "paired"
    excludes: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_one_of("control", self.control, CONTROLS)
        for level in self.levels:
            beyond = sorted(set(level.touched or ()) - set(self.touched))
            if beyond:
                raise ContractError(
                    f"level {level.name!r} of axis {self.name!r} touches {', '.join(beyond)}, which the axis does not "
                    "name; add it to the axis's `touched`"
                )

    def may_change(self, cameras: Iterable[str], level: str = "") -> FrozenSet[str]:
        """Return what a level may change: `touched`, and all ``cameras`` where it names state components and no camera.

        What moves is seen.

        Args:
            cameras: Names of the benchmark's cameras.
            level: Name of the level; empty, or one without a touched set of its own: what any level may change.
        """
        own = {known.name: known.touched for known in self.levels}.get(level)
        allowed = set(self.touched if own is None else own)
        if allowed - {"instruction"} and not any(name.startswith(CAMERA) for name in allowed):
            allowed |= {CAMERA + name for name in cameras}
        return frozenset(allowed)


@dataclass(frozen=True)
class Termination:
    """When an episode ends before its step limit.

    Attributes:
        kind: "on_success", "at_limit" (never before), or "hold" (after `hold_steps` successes in a row).
        hold_steps: For "hold" only.
    """

    kind: str = "on_success"
    hold_steps: int = 0

    def __post_init__(self) -> None:
        require_one_of("termination", self.kind, TERMINATIONS)
        if (self.kind == "hold") != (self.hold_steps > 0):
            raise ContractError(f"hold_steps is {self.hold_steps} with termination {self.kind!r}; only 'hold' has it")


@dataclass(frozen=True)
class BenchmarkSpec:
    """What a benchmark offers and how it scores.

    Attributes:
        id: Stable name ("tabletop").
        version: Raised whenever behaviour changes, so that numbers are never mixed.
        tasks: All tasks of all suites.
        cameras: What can be rendered.
        state: Layout of the proprioception vector, None for no proprioception.
        action: Layout of one action.
        control_rate_hz: Control steps per simulated second.
        settling_steps: Simulator steps that reset() runs before the first observation.
        termination: When an episode ends.
        success: Headline semantics, one of `SUCCESS_SEMANTICS`; must be observable under `termination`.
        primary_metric: Name of the outcome's one primary metric.
        axes: Factors that can be varied alone.
        hold_action: What to send while no action is there (real time); None: cannot hold.
        extras: Names of extra observation arrays that it delivers.
        licence: Of the benchmark and its assets, for notices.
    """

    id: str
    version: str
    tasks: Tuple[TaskSpec, ...]
    action: Layout
    cameras: Tuple[CameraSpec, ...] = ()
    state: Optional[Layout] = None
    control_rate_hz: float = 20.0
    settling_steps: int = 0
    termination: Termination = Termination()
    success: str = "ever"
    primary_metric: str = "success"
    axes: Tuple[Axis, ...] = ()
    hold_action: Optional[Tuple[float, ...]] = None
    extras: Tuple[str, ...] = ()
    licence: str = UNKNOWN

    def __post_init__(self) -> None:
        require_one_of("success", self.success, SUCCESS_SEMANTICS)
        _require_rate(self.control_rate_hz)
        observable = {"on_success": ("ever",), "at_limit": SUCCESS_SEMANTICS[:2], "hold": ("ever", "held")}
        if self.success not in observable[self.termination.kind]:
            raise ContractError(
                f"success {self.success!r} cannot be observed when an episode ends {self.termination.kind!r}"
            )
        keys = [(task.suite, task.name) for task in self.tasks]
        if len(set(keys)) < len(keys):
            raise ContractError(f"benchmark {self.id!r} declares a task twice")
        if self.hold_action is not None and len(self.hold_action) != self.action.size:
            raise ContractError(f"hold_action has {len(self.hold_action)} numbers, an action has {self.action.size}")

    @property
    def ref(self) -> str:
        """``id@version``: what pair keys and records carry."""
        return f"{self.id}@{self.version}"

    @property
    def name(self) -> str:
        """``id-vVERSION``: what configs and commands say."""
        return f"{self.id}-v{self.version}"

    @property
    def suites(self) -> Tuple[str, ...]:
        """Suite names in the order of the tasks."""
        return tuple(dict.fromkeys(task.suite for task in self.tasks))


def _require_size(name: str, size: Tuple[int, ...]) -> None:
    if len(size) != 2 or min(size) < 1:
        raise ContractError(f"{name} is {tuple(size)}; it must be (height, width), each at least 1")


def _require_rate(rate: float) -> None:
    if not (math.isfinite(rate) and rate > 0):
        raise ContractError(f"control_rate_hz is {rate}; it must be a number above 0")
