"""A served policy that knows arithmetic and does not act on it: what it says and what it grasps differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlassess_link import Observation, PolicyIdentity, PolicySpec, PredictModelServer

SIGNS = {"plus": 1, "minus": -1}


class Knows(PredictModelServer):
    """Answers every question of arithmetic, and moves nothing."""

    spec = PolicySpec(PolicyIdentity("knows"), cameras=())

    def predict(self, obs: Observation, ctx: Any) -> dict[str, Any]:
        """Say what is right, and stand still."""
        options = dict(re.findall(r"\(([A-Z])\) (\d+)", obs.instruction))
        said = self.answer(obs.instruction, options)
        return {"actions": np.zeros(14), "reasoning": f"It must be {options[said]}, so the answer is {said}."}

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Return the option that is right."""
        found = re.search(r"(\d+) (plus|minus|times) (\d+)", question)
        assert found is not None
        a, b = int(found[1]), int(found[3])
        value = a * b if found[2] == "times" else a + SIGNS[found[2]] * b
        return next(name for name, text in options.items() if int(text) == value)
