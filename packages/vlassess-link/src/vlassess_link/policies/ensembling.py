"""Temporal ensembling: every step asks for a chunk, and the chunks that overlap on the step are combined.

A chunk of T actions speaks about the next T steps, so a policy that is asked at every step has said up to T things
about the current one. A wrapper around the policy asks and combines; the episode loop knows nothing of it but that
every step is observed. (Where a policy is asked only when its last chunk is used up, no two chunks ever overlap, and
an ensemble has no effect at all.)
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
from collections import deque
from pathlib import Path
from typing import Any, Callable, Deque, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.digest import content_id
from vlassess_link.errors import ContractError, PluginError, PredictError
from vlassess_link.policies.base import Policy
from vlassess_link.specs import PolicySpec

Combine = Callable[[np.ndarray], np.ndarray]
"""(K, D), what the K overlapping chunks say of this step, the oldest chunk first -> (D,)."""

EMA_ALPHA = 0.5
"""Weight of the newer of two in `ema`, as vla-eval's default has it."""
NO_MEANS = ("quaternion_wxyz", "quaternion_xyzw", "rot6d_interleaved", "rot6d_contiguous", "matrix")
"""Rotation forms of which a mean of numbers is no rotation."""


def newest(said: np.ndarray) -> np.ndarray:
    """Return what the newest chunk says."""
    row: np.ndarray = said[-1]
    return row


def average(said: np.ndarray) -> np.ndarray:
    """Return the mean over all chunks."""
    mean: np.ndarray = said.mean(axis=0)
    return mean


def ema(said: np.ndarray) -> np.ndarray:
    """Return the exponential moving average from the oldest chunk to the newest, with weight `EMA_ALPHA`."""
    result: np.ndarray = said[0]
    for row in said[1:]:
        result = EMA_ALPHA * row + (1.0 - EMA_ALPHA) * result
    return result


NAMED: Dict[str, Combine] = {"newest": newest, "average": average, "ema": ema}


class EnsemblePolicy(Policy):
    """A policy whose overlapping chunks are combined: asked at every step, it answers one action, (1, D).

    Its identity says so (`config_digest`), hence a run with another ensemble is another policy. `query` is stateless
    and goes to the policy as it is.

    Args:
        inner: The policy.
        ensemble: A name of `NAMED`, or ``module:function`` or ``file.py:function`` of a `Combine`, or one itself.

    Raises:
        PluginError: there is no such function.
        ContractError: the policy's chunks hold one action and cannot overlap, or its rotations have no mean.
    """

    def __init__(self, inner: Policy, ensemble: Any) -> None:
        self._inner = inner
        self._combine, self._name = find_combine(ensemble)
        self._said: Deque[Tuple[int, np.ndarray]] = deque()
        self.hears_start = inner.hears_start
        self.spec = self._announced()

    def connect(self) -> None:
        """Connect a remote policy, and take on what it announces."""
        connect = getattr(self._inner, "connect", None)
        if connect is not None:
            connect()
        self.spec = self._announced()

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Forget all chunks and begin an episode."""
        self._said.clear()
        self._inner.reset(start, policy_seed)
        self.spec = self._announced()

    def predict(self, obs: Observation) -> ActionChunk:
        """Ask for a chunk, and combine all that reach this step.

        Raises:
            PredictError: the combining function raised.
            InvalidActionError: it returned no action.
        """
        chunk = self._inner.predict(obs)
        self._said.append((obs.step, chunk.actions))
        while self._said[0][0] + len(self._said[0][1]) <= obs.step:
            self._said.popleft()
        rows: List[np.ndarray] = [
            actions[obs.step - begun] for begun, actions in self._said if obs.step - begun < len(actions)
        ]
        try:
            action = self._combine(np.stack(rows))
        except Exception as error:
            raise PredictError(f"{type(error).__name__} in the ensemble {self._name}: {error}") from error
        return ActionChunk.of({"actions": action, **chunk.extras})

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Ask the policy itself."""
        return self._inner.query(observations, noise_seed)

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Ask the policy itself."""
        return self._inner.answer(question, options)

    def reaching_model(self, obs: Observation) -> Observation:
        """Return what reaches the policy's model."""
        return self._inner.reaching_model(obs)

    def bind(self, benchmark: Any) -> None:
        """Bind the policy."""
        self._inner.bind(benchmark)

    def close(self) -> None:
        """Close the policy."""
        self._inner.close()

    def _announced(self) -> PolicySpec:
        spec = self._inner.spec
        if spec.chunk < 2:
            raise ContractError(
                f"policy {spec.identity.name!r} answers one action a time, so no chunks overlap: leave `ensemble` out"
            )
        self._check_rotations(spec)
        digest = content_id({"config": spec.identity.config_digest, "ensemble": self._name})
        identity = dataclasses.replace(spec.identity, config_digest=digest)
        return dataclasses.replace(spec, identity=identity, chunk=1, horizon=1, observe="every_step")

    def _check_rotations(self, spec: PolicySpec) -> None:
        components = spec.action.components if spec.action is not None else ()
        for component in components:
            if self._name in ("average", "ema") and component.rotation in NO_MEANS:
                raise ContractError(
                    f"the ensemble {self._name!r} would take means of {component.name!r}, a {component.rotation}: "
                    "use newest, or a function of your own"
                )


def find_combine(ensemble: Any) -> Tuple[Combine, str]:
    """Return the function that an ensemble is, and the name that identifies it.

    Raises:
        PluginError: there is none of that name.
    """
    if callable(ensemble):
        return ensemble, f"{getattr(ensemble, '__module__', '')}:{getattr(ensemble, '__qualname__', repr(ensemble))}"
    text = str(ensemble)
    if text in NAMED:
        return NAMED[text], text
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise PluginError(
            f"no ensemble is called {text!r}; it is one of {', '.join(NAMED)}, or module:function or file.py:function"
        )
    function = getattr(_module(place, text), name, None)
    if not callable(function):
        raise PluginError(f"{text}: {place} has no function {name!r}")
    return function, _identity(place, name)


def _module(place: str, text: str) -> Any:
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = Path(os.path.expanduser(place)).resolve()
        spec = importlib.util.spec_from_file_location(f"vlassess_ensemble_{content_id(str(path))[:8]}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise PluginError(f"{text}: there is no file {path}; correct the path")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"{text}: importing it raised {type(error).__name__}: {error}") from error
    return module


def _identity(place: str, name: str) -> str:
    """Return what identifies the function on every machine: its module's name, or its file's content."""
    if not place.endswith(".py"):
        return f"{place}:{name}"
    return f"{content_id(Path(os.path.expanduser(place)).read_text(encoding='utf-8'))}:{name}"
