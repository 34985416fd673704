"""``tabletop-v1`` as a vlassess benchmark."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vlassess_link import (
    Benchmark,
    BenchmarkSpec,
    Episode,
    Observation,
    RawObservation,
    StepOutcome,
    StepResult,
    TaskSpec,
)
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import CameraSpec

from .layout import draw_layout
from .scene import SCENE
from .tasks import TASKS, Measured, Task, fallen, score

if TYPE_CHECKING:
    from .rendering import SceneRenderer
    from .simulation import Simulation

SIZES = ((128, 128), (224, 224))
POSITION_SCALE = 0.05
ROTATION_SCALE = 0.5

_GL_HELP = (
    "mujoco cannot be imported ({reason}); install `vlassess[sim]`, set MUJOCO_GL=egl, and where OpenGL is missing "
    "run: apt-get install -y --no-install-recommends libegl1 libegl-mesa0 libgl1-mesa-dri"
)


def state_layout() -> Layout:
    """Return the layout of the proprioception vector, as LIBERO has it."""
    eef = Component("eef_position", "position", 3, "absolute", "base", unit="meter", source="site between the pads")
    return Layout(
        (
            eef,
            Component(
                "eef_rotation",
                "rotation",
                3,
                "absolute",
                "base",
                rotation="axis_angle_2pi",
                unit="radian",
                source="same site; of the two quaternions the one whose x is not negative; down is (pi, 0, 0)",
            ),
            Component(
                "gripper_qpos",
                "joints",
                2,
                "absolute",
                "joint",
                unit="meter",
                low=-0.04,
                high=0.04,
                source="finger joints: left in [0, 0.04], right in [-0.04, 0], 0 is closed",
            ),
        )
    )


def tabletop_spec() -> BenchmarkSpec:
    """Return the whole spec; pure, needs no simulator."""
    return BenchmarkSpec(
        id="tabletop",
        version="1",
        tasks=tuple(
            TaskSpec(task.suite, task.name, task.step_limit, task.instruction, (), task.expected_steps)
            for task in TASKS.values()
        ),
        action=replace(end_effector_delta("", POSITION_SCALE, ROTATION_SCALE), clip=True),
        cameras=tuple(CameraSpec(camera.name, SIZES) for camera in SCENE.cameras),
        state=state_layout(),
        control_rate_hz=20.0,
        settling_steps=25,
        hold_action=(0.0,) * 7,
        licence="Apache-2.0",
    )


@dataclass(frozen=True)
class Privileged:
    """What an expert may read of the simulator.

    Attributes:
        hand: Where the end effector is told to be, (3,) meters.
        yaw: Its angle about the vertical, radians, 0 with the fingers left and right.
        closed: Whether the fingers are told to close.
        pads: How many pads touch the target.
        target: Position of the item to move.
        target_yaw: Its angle about the vertical.
        goal: Position of the goal, None for `pick`.
    """

    hand: np.ndarray
    yaw: float
    closed: bool
    pads: int
    target: np.ndarray
    target_yaw: float
    goal: np.ndarray | None


class Tabletop(Benchmark):
    """Blocks, a bowl, a gray zone and one arm; see the folder's README.

    An action of 0 for the gripper leaves it as it is told; positive closes, negative opens.
    """

    def __init__(self) -> None:
        self.spec = tabletop_spec()
        self._simulation: Simulation | None = None
        self._renderer: SceneRenderer | None = None
        self._task = next(iter(TASKS.values()))
        self._instruction = ""
        self._steps = 0

    def reset(self, episode: Episode) -> RawObservation:
        """Draw the layout from the stream "layout", put everything in its place and settle.

        Raises:
            ContractError: the episode asks for a task, axis, scene or stored state that does not exist.
            PluginError: MuJoCo or OpenGL cannot be used; says what to install.
        """
        self._task = _task_of(episode)
        self._instruction = self._task.instruction if episode.instruction is None else episode.instruction
        self._steps = 0
        simulation = self._loaded()
        if self.view is None or self.view.cameras:
            self._rendering()
        simulation.start(draw_layout(SCENE.items, SCENE.region, episode.rng("layout")))
        return RawObservation(0, self._instruction, simulation.state())

    def step(self, action: np.ndarray) -> StepResult:
        """Move the target pose by an action in [-1, 1] and simulate 50 ms.

        A run has clipped it, as the layout says; what comes from elsewhere is clipped here.

        Raises:
            BenchmarkFault: the simulation became unstable.
        """
        clipped = np.clip(np.asarray(action, np.float64), -1.0, 1.0)
        command = (clipped[:3] * POSITION_SCALE, clipped[3:6] * ROTATION_SCALE, float(clipped[6]))
        self._loaded().advance({"": command})
        self._steps += 1
        measured = self._measure()
        return StepResult(RawObservation(self._steps, self._instruction), measured, fallen(measured))

    def make_obs(self, raw: RawObservation) -> Observation:
        """Render the cameras of the view and read proprioception of the present state.

        Raises:
            ContractError: ``raw`` is not of the present state.
        """
        if raw.native != self._steps:
            raise ContractError(f"make_obs got the observation of step {raw.native} at step {self._steps}")
        simulation = self._loaded()
        images = {
            name: self._rendering().render(simulation.data, name, height, width)
            for name, (height, width) in self._cameras()
        }
        position, quaternion = simulation.end_effector()
        state = np.concatenate((position, axis_angle(quaternion), simulation.fingers()))
        return Observation(images, raw.instruction, state, step=self._steps)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return success, progress and stages after a step; see `tasks.score`."""
        return score(self._task, result.native)

    def close(self) -> None:
        """Free the OpenGL context and the model."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = self._simulation = None

    def privileged(self) -> Privileged:
        """Return what an expert may read; never reaches a policy behind the wire."""
        simulation = self._loaded()
        arm, task = simulation.arms[""], self._task
        w, x, y, z = arm.quaternion
        return Privileged(
            arm.position.copy(),
            float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))),
            arm.closed,
            simulation.touching(task.target),
            simulation.position(task.target),
            simulation.yaw(task.target),
            None if task.goal is None else simulation.position(task.goal),
        )

    def _measure(self) -> Measured:
        simulation, task = self._loaded(), self._task
        goal = None if task.goal is None else SCENE.item(task.goal)
        return Measured(
            gripper=simulation.end_effector()[0],
            target=simulation.position(task.target),
            rest_height=SCENE.item(task.target).rest_height,
            goal=None if goal is None else simulation.position(goal.name),
            goal_radius=0.0 if goal is None else goal.target_radius,
            pads=simulation.touching(task.target),
            speed=simulation.speed(task.target),
        )

    def _cameras(self) -> tuple[tuple[str, tuple[int, int]], ...]:
        if self.view is None:
            return tuple((camera.name, SIZES[0]) for camera in SCENE.cameras)
        return tuple(self.view.cameras.items())

    def _loaded(self) -> Simulation:
        """Return the compiled scene, made on first use: constructing a benchmark must make no environment."""
        if self._simulation is None:
            try:
                simulation = importlib.import_module(".simulation", __package__)
            except (ImportError, AttributeError, OSError, RuntimeError) as error:
                raise PluginError(_GL_HELP.format(reason=error)) from error
            self._simulation = simulation.Simulation(SCENE)
        return self._simulation

    def _rendering(self) -> SceneRenderer:
        if self._renderer is None:
            rendering = importlib.import_module(".rendering", __package__)
            self._renderer = rendering.SceneRenderer(self._loaded().model)
        return self._renderer


def _task_of(episode: Episode) -> Task:
    """Return the episode's task; what this version cannot do is refused, never ignored."""
    task = TASKS.get((episode.suite, episode.task))
    if task is None:
        known = ", ".join("/".join(key) for key in TASKS)
        raise ContractError(f"tabletop-v1 has no task {episode.suite}/{episode.task}; its tasks are {known}")
    for field in ("perturbation", "scene", "initial_state"):
        value = getattr(episode, field)
        if value:
            raise ContractError(f"the episode's {field} is {value!r}; tabletop-v1 declares none: leave it empty")
    return task


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """Return axis times angle of a wxyz quaternion, angle in [0, 2 pi]: robosuite's form, no antipodal flip."""
    w = float(np.clip(quaternion[0], -1.0, 1.0))
    sine = np.sqrt(1.0 - w * w)
    if sine < 1e-9:
        return np.zeros(3)
    return np.asarray(quaternion[1:] * (2.0 * np.arccos(w) / sine))
