"""The benchmark contract: four methods.

The loop calls them in this order, with `make_obs` at most once per state and before the next `step`:

```
reset(episode) -> raw
repeat:
    make_obs(raw) -> observation        only when somebody looks: this is where rendering happens
    step(action) -> result              action is finite, float64 or float32, shape (D,)
    get_step_result(result) -> outcome  cheap, after every step
```

A benchmark is constructed with its parameters as keyword arguments. Construction is cheap and makes no
environment: `spec` must be there right after it. Loading simulators belongs into the first `reset`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

import numpy as np

from vlassess_link.conventions.images import rendered_size
from vlassess_link.data import Episode, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.errors import ContractError
from vlassess_link.specs import BenchmarkSpec, PolicySpec


@dataclass(frozen=True)
class View:
    """What the policy of the coming episode looks at: camera name -> (height, width) in pixels."""

    cameras: Mapping[str, Tuple[int, int]]


def view_for(benchmark: BenchmarkSpec, policy: PolicySpec) -> View:
    """Return the cameras and sizes to render for a policy.

    The policy's size is used where the camera offers it; else the camera's default, where the policy names how its
    images are resized.

    Raises:
        ContractError: the policy looks at a camera, or wants a size, that the benchmark does not offer.
    """
    offered = {camera.name: camera for camera in benchmark.cameras}
    wanted = tuple(offered) if policy.cameras is None else policy.cameras
    cameras: Dict[str, Tuple[int, int]] = {}
    for name in wanted:
        if name not in offered:
            raise ContractError(
                f"the policy {policy.identity.name!r} looks at camera {name!r}; {benchmark.name} has "
                f"{', '.join(offered) or 'none'}: change `cameras` in the policy's spec"
            )
        size = rendered_size(offered[name], policy)
        if size is None:
            asked = "x".join(str(side) for side in policy.image_size or ())
            sizes = ", ".join(f"{height}x{width}" for height, width in offered[name].sizes)
            raise ContractError(
                f"the policy {policy.identity.name!r} wants {name!r} at {asked}; {benchmark.name} offers {sizes}: "
                "change `image_size` in the policy's spec, or name how to resize in `image.resize`"
            )
        cameras[name] = size
    return View(cameras)


class Benchmark(abc.ABC):
    """A simulator with tasks and a way to score them."""

    spec: BenchmarkSpec
    view: Optional[View] = None
    """What to render; the worker sets it before each reset. None: every camera at its default size."""

    @abc.abstractmethod
    def reset(self, episode: Episode) -> RawObservation:
        """Put the world into the episode's start.

        Every random choice comes from ``episode.rng(<stream>)``: two resets with the same episode give
        the same start, bit for bit, whatever ran before.
        """

    @abc.abstractmethod
    def step(self, action: np.ndarray) -> StepResult:
        """Apply one action, shape (D,), for one control step. Never called after the episode's end."""

    @abc.abstractmethod
    def make_obs(self, raw: RawObservation) -> Observation:
        """Render and return what the policy sees; must not change the course of the simulation."""

    @abc.abstractmethod
    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Return how things stand after a step."""

    def close(self) -> None:
        """Release the simulator; called once."""
