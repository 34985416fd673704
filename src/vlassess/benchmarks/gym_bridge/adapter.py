"""A registered gymnasium environment behind vlassess's four methods."""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from vlassess_link import Benchmark, Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.errors import BenchmarkFault, ContractError, ObservationError, PluginError

from .settings import RENDER, CameraSettings, Score, TaskSettings, read_settings
from .sources import Moment, Source

NO_LIMIT = 10**9
"""Steps at which the environment's own time limit would act: the episode's is the only one."""


class GymnasiumBenchmark(Benchmark):
    """Runs the environments that its parameters describe; see the folder's README.

    The environment is made anew for every episode, so nothing of the last one can be left in it.

    Args:
        params: As `settings.Settings` has them.
    """

    def __init__(self, **params: Any) -> None:
        self._settings = read_settings(params)
        self.spec = self._settings.spec()
        self._tasks = {(self._settings.suite, task.task): task for task in self._settings.tasks}
        self._success = Source(self._settings.success.source)
        self._progress = Source(self._settings.progress.source) if self._settings.progress else None
        self._task = self._settings.tasks[0]
        self._env: Any = None
        self._moment: Moment | None = None
        self._instruction = ""
        self._steps = 0

    def reset(self, episode: Episode) -> RawObservation:
        """Make the environment and reset it with a seed drawn from the stream "layout".

        Raises:
            ContractError: the episode asks for a task, axis, scene or stored state that does not exist, or the
                environment is not what the parameters say.
            PluginError: the environment cannot be made; says why.
        """
        self._task = self._task_of(episode)
        self.close()
        self._env = self._made(self._task)
        self._check_actions()
        observed, info = self._env.reset(seed=int(episode.rng("layout").integers(2**31)))
        self._moment = Moment(self._env.unwrapped, observed, info)
        self._instruction = self._task.instruction if episode.instruction is None else episode.instruction
        self._steps = 0
        return RawObservation(0, self._instruction, self._initial_state())

    def step(self, action: np.ndarray) -> StepResult:
        """Clip the action, scale it to the environment's bounds where that is asked for, and step."""
        observed, reward, terminated, truncated, info = self._env.step(self._native_action(action))
        self._moment = Moment(self._env.unwrapped, observed, info, float(reward), bool(terminated))
        self._steps += 1
        return StepResult(RawObservation(self._steps, self._instruction), self._moment, bool(terminated or truncated))

    def make_obs(self, raw: RawObservation) -> Observation:
        """Return the pictures of the view, and proprioception.

        Raises:
            ContractError: ``raw`` is not of the present state.
            ObservationError: a picture or the state is not what the parameters declare.
        """
        if raw.native != self._steps:
            raise ContractError(f"make_obs got the observation of step {raw.native} at step {self._steps}")
        wanted = self._settings.cameras if self.view is None else self.view.cameras
        images = {name: self._picture(name, self._settings.cameras[name]) for name in wanted}
        return Observation(images, raw.instruction, self._state(), step=self._steps)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Read success and progress where the parameters say they are."""
        moment: Moment = result.native
        number = self._success.number(moment)
        least = self._settings.success.at_least
        success = bool(number) if least is None else number >= least
        progress = float(success)
        if self._progress is not None and self._settings.progress is not None:
            progress = share(self._settings.progress, self._progress.number(moment))
        return StepOutcome(success, progress, metrics={"reward": moment.reward})

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()
        self._env = self._moment = None

    def privileged(self) -> Moment:
        """Return what the environment last returned, for experts; never reaches a policy behind the wire."""
        return self._present()

    def _present(self) -> Moment:
        if self._moment is None:
            raise ContractError("the environment was asked before its first reset")
        return self._moment

    def _task_of(self, episode: Episode) -> TaskSettings:
        task = self._tasks.get((episode.suite, episode.task))
        if task is None:
            known = ", ".join("/".join(key) for key in self._tasks)
            raise ContractError(f"{self.spec.name} has no task {episode.suite}/{episode.task}; its tasks are {known}")
        for field in ("perturbation", "scene", "initial_state"):
            value = getattr(episode, field)
            if value:
                raise ContractError(f"the episode's {field} is {value!r}; {self.spec.name} declares none")
        return task

    def _made(self, task: TaskSettings) -> Any:
        try:
            gymnasium = importlib.import_module("gymnasium")
            for module in self._settings.imports:
                importlib.import_module(module)
        except ImportError as error:
            raise PluginError(
                f"{self.spec.name} needs what is not installed ({error}); add it to the requirements of its interpreter"
            ) from error
        # Environments that keep pictures in their observation want the mode too.
        make = {"render_mode": "rgb_array", "disable_env_checker": True, **task.make}
        try:
            return gymnasium.make(task.env_id, max_episode_steps=NO_LIMIT, **make)
        except (gymnasium.error.Error, TypeError, ValueError, RuntimeError, OSError) as error:
            raise PluginError(f"gymnasium.make({task.env_id!r}, ...) raised {type(error).__name__}: {error}") from error

    def _check_actions(self) -> None:
        space = self._env.action_space
        shape = getattr(space, "shape", None)
        if type(space).__name__ != "Box" or shape != (self.spec.action.size,):
            raise ContractError(
                f"{self._task.env_id} takes actions of {space}; `action` declares {self.spec.action.size} numbers, and "
                "only one row of continuous numbers can be an action"
            )
        if self._settings.scale_actions and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ContractError(f"the actions of {self._task.env_id} have no bounds: set scale_actions: false")

    def _native_action(self, action: np.ndarray) -> np.ndarray:
        space = self._env.action_space
        given = np.asarray(action, np.float64)
        if self._settings.scale_actions:
            share_of_range = (np.clip(given, -1.0, 1.0) + 1.0) / 2.0
            given = space.low + share_of_range * (space.high.astype(np.float64) - space.low)
        return np.clip(given, space.low, space.high).astype(space.dtype)

    def _initial_state(self) -> dict[str, np.ndarray]:
        moment = self._present()
        if self._settings.initial_state:
            return {name: Source(text).array(moment) for name, text in self._settings.initial_state.items()}
        entries = moment.obs if isinstance(moment.obs, dict) else {"observation": moment.obs}
        return {name: np.array(value, np.float64) for name, value in entries.items() if np.ndim(value) == 1}

    def _state(self) -> np.ndarray | None:
        if not self._settings.state:
            return None
        parts = []
        for component, text in self._settings.state:
            part = Source(self._task.sources.get(component.name, text)).array(self._present())
            if part.size != component.size:
                raise ObservationError(
                    f"state {component.name!r} has {part.size} numbers; it declares {component.size}"
                )
            parts.append(part)
        return np.concatenate(parts)

    def _picture(self, name: str, camera: CameraSettings) -> np.ndarray:
        if camera.source == RENDER:
            with undisturbed(self._env.unwrapped):
                image = self._env.render()
        else:
            image = Source(camera.source).read(self._present())
        shape = (int(camera.size[0]), int(camera.size[1]), 3)
        if not isinstance(image, np.ndarray) or image.shape != shape or image.dtype != np.uint8:
            found = f"{image.dtype} of {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
            raise ObservationError(
                f"camera {name!r} of {self._task.env_id} gives {found}; its `size` declares uint8 of {shape}: change "
                "it, or the arguments of the environment in `make`"
            )
        return np.ascontiguousarray(image[::-1, ::-1] if camera.turn else image)


def share(progress: Score, value: float) -> float:
    """Return a value's share of the way from ``low`` to ``high``, in [0, 1].

    Raises:
        BenchmarkFault: the value is not finite.
    """
    if not np.isfinite(value):
        raise BenchmarkFault(f"progress from {progress.source!r} is {value}; it must be finite")
    return float(np.clip((value - progress.low) / (progress.high - progress.low), 0.0, 1.0))


@contextlib.contextmanager
def undisturbed(env: Any) -> Iterator[None]:
    """Put a MuJoCo environment back as it was: some compute forward while they render, and then go on otherwise."""
    data: Any = getattr(env, "data", None)
    model: Any = getattr(env, "model", None)
    if not type(data).__module__.startswith("mujoco"):
        yield
        return
    kept, sites = copy.copy(data), model.site_pos.copy()
    try:
        yield
    finally:
        importlib.import_module("mujoco").mj_copyData(data, model, kept)
        model.site_pos[:] = sites
