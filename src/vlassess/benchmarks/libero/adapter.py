"""``libero-v1``: LIBERO and LIBERO-PRO as vlassess benchmarks."""

from __future__ import annotations

import dataclasses
import importlib
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
)
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import CameraSpec, ImageConvention

from .suites import Start, axes, start_of, tasks

CAMERAS = ("agentview", "robot0_eye_in_hand")
SIZES = ((256, 256), (128, 128))
SETTLING_STEPS = 10
SETTLING_ACTION = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
RENDERINGS = ("default", "fast")
ORIENTATIONS = ("upright", "rotated_180")
EXTRAS = ("controller_position", "controller_rotation")

_HELP = (
    "LIBERO cannot be imported ({reason}); leave `benchmark.interpreter` to the benchmark, which brings it, "
    "or install in yours what its requirements.txt lists"
)


def state_layout() -> Layout:
    """Return the layout of proprioception, as upstream's observation has it."""
    return Layout(
        (
            Component("position", "position", 3, "absolute", "world", unit="meter", source="robot0_eef_pos"),
            Component(
                "rotation",
                "rotation",
                3,
                "absolute",
                "world",
                rotation="axis_angle_2pi",
                unit="radian",
                source="robot0_eef_quat",
            ),
            Component("fingers", "joints", 2, "absolute", "joint", unit="meter", source="robot0_gripper_qpos"),
        )
    )


def action_layout() -> Layout:
    """Return the layout of an action; upstream's controller clips it."""
    return dataclasses.replace(end_effector_delta(), clip=True)


def libero_spec(render: str, orientation: str) -> BenchmarkSpec:
    """Return the whole spec; pure, needs no simulator."""
    image = ImageConvention(orientation=orientation)
    return BenchmarkSpec(
        id="libero",
        # Other pixels are another protocol, and the version keeps its numbers from being mixed with upstream's.
        version="1+fast" if render == "fast" else "1",
        tasks=tasks(),
        action=action_layout(),
        cameras=tuple(CameraSpec(name, SIZES, image) for name in CAMERAS),
        state=state_layout(),
        control_rate_hz=20.0,
        settling_steps=SETTLING_STEPS,
        axes=axes(),
        hold_action=SETTLING_ACTION,
        extras=EXTRAS,
        licence="MIT; assets CC BY 4.0",
    )


class Libero(Benchmark):
    """The five LIBERO suites and LIBERO-PRO's variants of four of them; see the folder's README.

    Args:
        render: "default": upstream's own settings; "fast": a small shadow map and no multisampling. Its pictures
            differ, so the version does too, and results are not comparable with published ones.
        orientation: "upright": pictures turned by 180 degrees, as the usual data sets are; "rotated_180": as
            upstream's environment returns them.
        env_seed: What upstream's generator is seeded with before each reset. It places what no stored state holds
            (cabinet, stove, rack).
    """

    def __init__(self, render: str = "default", orientation: str = "upright", env_seed: int = 0) -> None:
        for name, value, allowed in (("render", render, RENDERINGS), ("orientation", orientation, ORIENTATIONS)):
            if value not in allowed:
                raise ContractError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")
        if type(env_seed) is not int or not 0 <= env_seed < 2**32:
            raise ContractError(f"env_seed is {env_seed!r}; it must be a whole number from 0 to 2**32 - 1")
        self.spec = libero_spec(render, orientation)
        self._fast = render == "fast"
        self._turned = orientation == "upright"
        self._env_seed = env_seed
        self._start: Start | None = None
        self._simulator: Any = None
        self._instruction = ""
        self._steps = 0

    def reset(self, episode: Episode) -> RawObservation:
        """Seed, reset, set the stored state, settle: upstream's order.

        Raises:
            ContractError: the episode asks for what does not exist.
            BenchmarkFault: upstream cannot place its objects.
            PluginError: LIBERO cannot be used; says what to install.
        """
        start = start_of(episode)
        simulator = self._opened(start)
        looked_at = self.view is None or bool(self.view.cameras)
        simulator.begin(start.state, self._env_seed, looked_at, episode.step_limit + SETTLING_STEPS)
        for _ in range(SETTLING_STEPS):
            simulator.step(np.array(SETTLING_ACTION))
        own = simulator.instruction(start.words_of) if start.instruction is None else start.instruction
        self._instruction = own if episode.instruction is None else episode.instruction
        self._start = start
        self._steps = 0
        return RawObservation(0, self._instruction, simulator.state())

    def step(self, action: np.ndarray) -> StepResult:
        """Simulate 50 ms; upstream's controller clips the action to [-1, 1] and takes the gripper's sign."""
        done = self._simulator.step(action)
        self._steps += 1
        return StepResult(RawObservation(self._steps, self._instruction), done)

    def make_obs(self, raw: RawObservation) -> Observation:
        """Render what upstream would have rendered in this step, and read its proprioception.

        Raises:
            ContractError: ``raw`` is not of the present state.
        """
        if raw.native != self._steps:
            raise ContractError(f"make_obs got the observation of step {raw.native} at step {self._steps}")
        wanted = dict.fromkeys(CAMERAS, SIZES[0]) if self.view is None else dict(self.view.cameras)
        images = {name: self._simulator.render(name, size) for name, size in wanted.items()}
        if self._turned:
            images = {name: np.ascontiguousarray(image[::-1, ::-1]) for name, image in images.items()}
        position, rotation = self._simulator.controller()
        extras = dict(zip(EXTRAS, (position, rotation), strict=True))
        return Observation(images, raw.instruction, self._simulator.proprioception(), extras, self._steps)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return whether the task's goal holds now."""
        success = bool(result.native)
        return StepOutcome(success, float(success))

    def close(self) -> None:
        """Free the OpenGL context and the environment."""
        if self._simulator is not None:
            self._simulator.close()
        self._simulator = self._start = None

    def privileged(self) -> Any:
        """Return the simulator and the start, for the expert.

        Raises:
            ContractError: nothing was reset yet.
        """
        if self._start is None:
            raise ContractError("the expert asked before the first reset")
        return self._simulator

    def _opened(self, start: Start) -> Any:
        """Return the task's environment: upstream's scripts make one for all episodes of a task."""
        module = imported(".simulator", __package__)
        if self._simulator is not None and self._simulator.is_of(start.suite, start.task):
            return self._simulator
        self.close()
        self._simulator = module.Simulator(start.suite, start.task, self._fast)
        return self._simulator


def imported(module: str, package: str | None = None) -> Any:
    """Return a module that needs LIBERO.

    Raises:
        PluginError: LIBERO is not installed here, or does not work.
    """
    try:
        return importlib.import_module(module, package)
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        raise PluginError(_HELP.format(reason=error)) from error
