"""``metaworld-v1``: MetaWorld 3 as a vlassess benchmark."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from typing import Any

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
from vlassess_link.errors import BenchmarkFault, ContractError, PluginError
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import CameraSpec

from .tasks import TASKS, Task

SUITE = "mt50"
STEP_LIMIT = 500
SIZES = ((256, 256), (224, 224), (128, 128), (480, 480))
ROLLED = ("corner", "corner2", "corner3", "corner4")
"""Cameras that upstream has built upside down; their pictures are turned by 180 degrees."""
CAMERAS = (*ROLLED, "topview", "gripperPOV", "behindGripper")
GREATEST_REWARD = 10.0

_HELP = (
    "MetaWorld cannot be imported ({reason}); leave `benchmark.interpreter` to the benchmark, which brings it, "
    "or install in yours what its requirements.txt lists"
)


def action_layout() -> Layout:
    """Return the layout of an action: where the hand goes, and how hard the fingers press."""
    move = Component("position", "position", 3, "delta", "world", unit="normalized", low=-1.0, high=1.0, scale=0.01)
    effort = Component(
        "gripper", "gripper", 1, "absolute", gripper="positive_closes", unit="normalized", low=-1.0, high=1.0
    )
    return Layout((move, effort), clip=True)


def state_layout() -> Layout:
    """Return the layout of proprioception: the first four numbers of upstream's observation."""
    return Layout(
        (
            Component("hand_position", "position", 3, "absolute", "world", unit="meter", source="body hand"),
            Component(
                "gripper_opening",
                "gripper",
                1,
                "absolute",
                gripper="positive_opens",
                unit="normalized",
                low=0.0,
                high=1.0,
                scale=0.1,
                source="distance of the two fingers; 1.0 is 10 cm",
            ),
        )
    )


def metaworld_spec(cameras: Sequence[str], fast: bool) -> BenchmarkSpec:
    """Return the whole spec; pure, needs no simulator."""
    return BenchmarkSpec(
        id="metaworld",
        # Other pixels are another protocol, and the version keeps its numbers from being mixed with upstream's.
        version="1+fast" if fast else "1",
        tasks=tuple(
            TaskSpec(SUITE, task.name, STEP_LIMIT, task.instruction, (), float(task.expected_steps)) for task in TASKS
        ),
        action=action_layout(),
        cameras=tuple(CameraSpec(name, SIZES) for name in cameras),
        state=state_layout(),
        control_rate_hz=80.0,
        settling_steps=250,
        hold_action=(0.0, 0.0, 0.0, 0.0),
        licence="MIT",
    )


class MetaWorld(Benchmark):
    """Fifty tasks of one Sawyer arm; see the folder's README.

    Args:
        cameras: Which of `CAMERAS` to offer; a policy that names none looks at all that are offered.
        fast_rendering: Render without large shadows and multisampling. The pictures differ from upstream's, so the
            version does too, and results are not comparable with published ones.
    """

    def __init__(self, cameras: Sequence[str] = ("corner2",), fast_rendering: bool = False) -> None:
        unknown = [name for name in cameras if name not in CAMERAS]
        if unknown or not cameras:
            raise ContractError(f"cameras is {list(cameras)}; it must name some of {', '.join(CAMERAS)}")
        self.spec = metaworld_spec(cameras, fast_rendering)
        self._fast = fast_rendering
        self._task: Task | None = None
        self._env: Any = None
        self._cameras: Any = None
        self._shown: Any = None
        self._instruction = ""
        self._observed = np.zeros(0)
        self._steps = 0

    def reset(self, episode: Episode) -> RawObservation:
        """Draw the start from the stream "layout", through upstream's own random generator and limits.

        Raises:
            ContractError: the episode asks for a task, axis, scene or stored state that does not exist.
            PluginError: MetaWorld or OpenGL cannot be used; says what to install.
        """
        task = task_of(episode)
        env = self._environment(task)
        env.max_path_length = episode.step_limit
        env.seed(int(episode.rng("layout").integers(2**31)))
        self._observed = env.reset()[0]
        self._shown = placed(env)
        self._instruction = task.instruction if episode.instruction is None else episode.instruction
        self._steps = 0
        return RawObservation(0, self._instruction, initial_state(env, self._shown))

    def step(self, action: np.ndarray) -> StepResult:
        """Move the hand's target by up to 1 cm along each axis and simulate 12.5 ms; upstream clips to [-1, 1].

        The action is passed on as it is: upstream computes in its precision.

        Raises:
            BenchmarkFault: the simulation became unstable.
        """
        self._observed, reward, _, _, info = self._env.step(action)
        self._shown = self._env.data
        self._steps += 1
        if exploded(self._env.data):
            raise BenchmarkFault(f"the simulation became unstable at step {self._steps}, and MuJoCo put it back")
        return StepResult(RawObservation(self._steps, self._instruction), (float(reward), dict(info)))

    def make_obs(self, raw: RawObservation) -> Observation:
        """Render the cameras of the view and read proprioception of the present state.

        Raises:
            ContractError: ``raw`` is not of the present state.
        """
        if raw.native != self._steps:
            raise ContractError(f"make_obs got the observation of step {raw.native} at step {self._steps}")
        wanted: dict[str, tuple[int, int]] = (
            {camera.name: SIZES[0] for camera in self.spec.cameras} if self.view is None else dict(self.view.cameras)
        )
        images = {name: self._rendering().render(self._shown, name, size) for name, size in wanted.items()}
        return Observation(images, raw.instruction, self._observed[:4].copy(), step=self._steps)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return upstream's success; progress is its shaped reward, which is 10 when the task is done."""
        reward, info = result.native
        success = bool(info["success"])
        progress = 1.0 if success else float(np.clip(reward / GREATEST_REWARD, 0.0, 1.0))
        return StepOutcome(success, progress, metrics={"reward": reward})

    def close(self) -> None:
        """Free the OpenGL context and the environment."""
        if self._cameras is not None:
            self._cameras.close()
        self._cameras = self._env = self._shown = self._task = None

    def privileged(self) -> tuple[str, np.ndarray]:
        """Return upstream's name of the task and its whole observation with the goal, for the expert."""
        if self._task is None:
            raise ContractError("the expert asked before the first reset")
        return self._task.environment, self._observed.copy()

    def _environment(self, task: Task) -> Any:
        if self._task == task:
            return self._env
        self.close()
        upstream = imported("metaworld.env_dict")
        env = upstream.ENV_CLS_MAP[task.environment]()
        # What `set_task` sets, but for a start that is drawn at each reset by the environment's own generator.
        env._partially_observable = False
        env._freeze_rand_vec = False
        env.seeded_rand_vec = True
        env._set_task_called = True
        vars(env).pop("sawyer_observation_space", None)
        self._env, self._task = env, task
        return env

    def _rendering(self) -> Any:
        if self._cameras is None:
            cameras = importlib.import_module(".cameras", __package__)
            self._cameras = cameras.Cameras(self._env.model, self._fast)
        return self._cameras


def imported(module: str) -> Any:
    """Return a module of MetaWorld.

    Raises:
        PluginError: it is not installed here, or does not work.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        raise PluginError(_HELP.format(reason=error)) from error


def task_of(episode: Episode) -> Task:
    """Return the episode's task; what this version cannot do is refused, never ignored."""
    found = [task for task in TASKS if (episode.suite, episode.task) == (SUITE, task.name)]
    if not found:
        raise ContractError(f"metaworld-v1 has no task {episode.suite}/{episode.task}; its suite is {SUITE}")
    for field in ("perturbation", "scene", "initial_state"):
        value = getattr(episode, field)
        if value:
            raise ContractError(f"the episode's {field} is {value!r}; metaworld-v1 declares none: leave it empty")
    return found[0]


def placed(env: Any) -> Any:
    """Return a copy of the simulator's data in which every body and site is where the model has it.

    Upstream moves a task's fixtures after its last computation of positions, so until the first step its own data
    have windows, pegs and goals where the last episode had them, and so would the first picture.
    """
    mujoco = imported("mujoco")
    data = copy.copy(env.data)
    mujoco.mj_kinematics(env.model, data)
    mujoco.mj_camlight(env.model, data)
    return data


def exploded(data: Any) -> bool:
    """Whether MuJoCo has warned of a state that it cannot go on from: it then resets the scene and says no more."""
    kinds = imported("mujoco").mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    return any(data.warning[int(kind)].number > 0 for kind in bad)


def initial_state(env: Any, data: Any) -> dict[str, np.ndarray]:
    """Return everything that a start consists of, by name; ``data`` is what `placed` gave."""
    return {
        "positions": data.qpos.copy(),
        "velocities": data.qvel.copy(),
        "hand_target": np.concatenate((data.mocap_pos[0], data.mocap_quat[0])),
        "goal": np.array(env._target_pos, np.float64),
        "scene": np.concatenate([np.zeros(0), *(data.xpos[body] for body in scene_bodies(env.model))]),
    }


def scene_bodies(model: Any) -> list[int]:
    """Return the bodies that are neither the robot nor the hand's target."""
    robot = model.body("base").id
    return [
        body
        for body in range(1, model.nbody)
        if model.body_rootid[body] != model.body_rootid[robot] and not model.body_mocapid[body] >= 0
    ]
