"""A policy that answers at once, so that only the environments take time; it keeps its first observation."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from vlassess_link.data import Observation
from vlassess_link.jsonable import from_json
from vlassess_link.policies.model import PredictModelServer, SessionContext
from vlassess_link.specs import PolicyIdentity, PolicySpec

STATE, IMAGE, EXTRA = "state", "image:", "extra:"


class Instant(PredictModelServer):
    """Answers the same chunk always, and looks at what the tuned policy looks at.

    Args:
        spec: The tuned policy's `PolicySpec`, as JSON.
        action: One action.
        keep: File that the first observation goes to.
    """

    def __init__(self, spec: Mapping[str, Any], action: List[float], keep: str) -> None:
        identity = PolicyIdentity("instant", revision="1", weights_digest="none")
        self.spec = dataclasses.replace(from_json(PolicySpec, spec), identity=identity, privileged=False)
        self._actions = np.tile(np.array(action, np.float64), (self.spec.chunk, 1))
        self._keep: Optional[Path] = Path(keep)

    def predict(self, obs: Observation, ctx: SessionContext) -> Mapping[str, Any]:
        """Return (chunk, D)."""
        if self._keep is not None:
            save(obs, self._keep)
            self._keep = None
        return {"actions": self._actions}


def save(obs: Observation, path: Path) -> None:
    """Write an observation to a file, whole or not at all."""
    arrays: Dict[str, Any] = {IMAGE + name: image for name, image in obs.images.items()}
    arrays.update({EXTRA + name: value for name, value in obs.extras.items()})
    if obs.state is not None:
        arrays[STATE] = obs.state
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, instruction=np.array(obs.instruction), **arrays)
    partial.rename(path)


def read(path: Path) -> Observation:
    """Return the observation that `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    images = {name[len(IMAGE) :]: value for name, value in found.items() if name.startswith(IMAGE)}
    extras = {name[len(EXTRA) :]: value for name, value in found.items() if name.startswith(EXTRA)}
    return Observation(images, str(found["instruction"]), found.get(STATE), extras)
