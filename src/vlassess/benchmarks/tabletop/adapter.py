"""``tabletop-v1`` and ``tabletop-bimanual-v1`` as vlassess benchmarks."""

from __future__ import annotations

import numpy as np

from vlassess_link import Benchmark, Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.errors import ContractError

from .axes import vary
from .declared import POSITION_SCALE, ROTATION_SCALE, SIZES, tabletop_spec
from .rotations import axis_angle
from .scene import Scene, base_scene
from .starts import Start, base_start
from .tasks import Measured, fallen, score
from .truth import ArmTruth, ItemTruth, Truth
from .worlds import World, Worlds

ACTION_SIZE = 7
"""Numbers of an action for each arm."""


def start_of(embodiment: str, episode: Episode) -> Start:
    """Return what an episode begins with: its suite's start, varied by its perturbation; pure, needs no simulator.

    Raises:
        ContractError: the episode asks for a task, axis, scene or stored state that does not exist.
    """
    return vary(base_start(embodiment, episode), episode.perturbation, episode.rng)


class Tabletop(Benchmark):
    """Blocks, a bowl, a gray zone and one or two arms; see the folder's README.

    An action of 0 for a gripper leaves it as it is told; positive closes, negative opens.

    Args:
        embodiment: "single" or "bimanual".
    """

    def __init__(self, embodiment: str = "single") -> None:
        self.spec = tabletop_spec(embodiment)
        self._embodiment = embodiment
        self._set_up(base_scene(embodiment))

    def _set_up(self, base: Scene) -> None:
        """Begin without an episode; ``base`` has the arms, cameras and lights of every one."""
        self._arms = base.arms
        self._worlds = Worlds(base)
        self._start: Start | None = None
        self._world: World | None = None
        self._steps = 0

    def _start_of(self, episode: Episode) -> Start:
        """Return what an episode begins with."""
        return start_of(self._embodiment, episode)

    def reset(self, episode: Episode) -> RawObservation:
        """Put everything in its place, as `start_of` says, and settle.

        Raises:
            ContractError: the episode asks for a task, axis, scene or stored state that does not exist.
            PluginError: MuJoCo or OpenGL cannot be used; says what to install.
        """
        start = self._start_of(episode)
        settled = self._settled(start)
        world = self._worlds.of(start.scene)
        self._start, self._world, self._steps = start, world, 0
        if self._cameras():
            world.renderer()  # OpenGL's errors belong to a reset
        world.simulation.start(start.spots, settled)
        return RawObservation(0, start.instruction, world.simulation.state())

    def step(self, action: np.ndarray) -> StepResult:
        """Move each arm's target pose by its part of an action in [-1, 1] and simulate 50 ms.

        A run has clipped it, as the layout says; what comes from elsewhere is clipped here.

        Raises:
            BenchmarkFault: the simulation became unstable.
        """
        start, _ = self._running()
        self._advance(action)
        measured = self._measure()
        return StepResult(RawObservation(self._steps, start.instruction), measured, fallen(measured))

    def _advance(self, action: np.ndarray) -> None:
        """Simulate one control step."""
        _, world = self._running()
        parts = np.clip(np.asarray(action, np.float64), -1.0, 1.0).reshape(len(self._arms), ACTION_SIZE)
        world.simulation.advance(
            {
                arm.prefix: (part[:3] * POSITION_SCALE, part[3:6] * ROTATION_SCALE, float(part[6]))
                for arm, part in zip(self._arms, parts, strict=True)
            }
        )
        self._steps += 1

    def make_obs(self, raw: RawObservation) -> Observation:
        """Render the cameras of the view and read proprioception of the present state.

        Raises:
            ContractError: ``raw`` is not of the present state.
        """
        if raw.native != self._steps:
            raise ContractError(f"make_obs got the observation of step {raw.native} at step {self._steps}")
        _, world = self._running()
        images = {
            name: world.renderer().render(world.simulation.data, name, height, width)
            for name, (height, width) in self._cameras()
        }
        parts: list[np.ndarray] = []
        for arm in self._arms:
            position, quaternion = world.simulation.end_effector(arm.prefix)
            parts += (position - arm.base, axis_angle(quaternion), world.simulation.fingers(arm.prefix))
        return Observation(images, raw.instruction, np.concatenate(parts), step=self._steps)

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return success, progress and stages after a step; see `tasks.score`."""
        start, _ = self._running()
        return score(start.task, result.native)

    def close(self) -> None:
        """Free every OpenGL context and model."""
        self._worlds.close()
        self._start = self._world = None

    def privileged(self) -> Truth:
        """Return what an expert may read; never reaches a policy behind the wire."""
        start, world = self._running()
        simulation = world.simulation
        arms = {}
        for arm in self._arms:
            told = simulation.arms[arm.prefix]
            arms[arm.prefix] = ArmTruth(
                position=told.position.copy(),
                quaternion=told.quaternion.copy(),
                home=np.array(arm.home),
                hand=simulation.end_effector(arm.prefix)[0],
                closed=told.closed,
                opening=float(np.ptp(simulation.fingers(arm.prefix))),
                touches=simulation.touches(arm.prefix),
            )
        items = {
            item.name: ItemTruth(
                item,
                simulation.position(item.name),
                simulation.quaternion(item.name),
                simulation.speed(item.name),
            )
            for item in start.scene.items
        }
        return Truth(start.task, arms, items)

    def _settled(self, start: Start) -> dict[str, np.ndarray]:
        """Return the components of the initial state that settle in scenes of their own."""
        found: dict[str, np.ndarray] = {}
        for part in start.parts:
            simulation = self._worlds.of(part.scene).simulation
            simulation.start(part.spots)
            found.update((name, values) for name, values in simulation.state().items() if name in part.names)
        return found

    def _measure(self) -> Measured:
        start, world = self._running()
        simulation, task = world.simulation, start.task
        target = simulation.position(task.target)
        hands = [simulation.end_effector(arm.prefix)[0] for arm in self._arms]
        measured = Measured(
            gripper=min(hands, key=lambda hand: float(np.linalg.norm(hand - target))),
            target=target,
            rest_height=start.scene.item(task.target).rest_height,
            pads=tuple(simulation.touching(task.target, arm.prefix) for arm in self._arms),
            speed=simulation.speed(task.target),
        )
        if task.goal is None:
            return measured
        goal, place = start.scene.item(task.goal), simulation.position(task.goal)
        return measured.towards(place, goal, goal.top is not None and simulation.meet(task.target, task.goal))

    def _cameras(self) -> tuple[tuple[str, tuple[int, int]], ...]:
        if self.view is None:
            return tuple((camera.name, SIZES[0]) for camera in self.spec.cameras)
        return tuple(self.view.cameras.items())

    def _running(self) -> tuple[Start, World]:
        """Return the present episode's start and world."""
        if self._start is None or self._world is None:
            raise ContractError("tabletop has no episode yet; call reset first")
        return self._start, self._world
