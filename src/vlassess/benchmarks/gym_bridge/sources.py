"""Where a number or an array of a gymnasium environment is found, written as a short text.

```
obs                     the observation, where it is one array
obs.agent_pos           an entry of a dict observation; further dots go further down
obs.observation[0:3]    part of a flat array
info.is_success         an entry of the info dict
env.block.angle         an attribute of the unwrapped environment
reward, terminated      of the last step; 0 and false after a reset
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vlassess_link.errors import BenchmarkFault, ContractError

PATTERN = re.compile(r"(obs|info|env|reward|terminated)((?:\.\w+)*)(?:\[(\d+):(\d+)\])?")


@dataclass
class Moment:
    """What the environment last returned.

    Attributes:
        env: The unwrapped environment.
        obs: Its observation.
        info: Its info dict.
        reward: Of the last step.
        terminated: Whether it ended itself.
    """

    env: Any
    obs: Any
    info: Mapping[str, Any] = field(default_factory=dict)
    reward: float = 0.0
    terminated: bool = False


class Source:
    """One place, parsed once.

    Raises:
        ContractError: the text is no place; says how one is written.
    """

    def __init__(self, text: str) -> None:
        match = PATTERN.fullmatch(text)
        if match is None:
            raise ContractError(
                f"{text!r} is no source; write obs, obs.KEY, obs.KEY[0:3], info.KEY, env.NAME, reward or terminated"
            )
        self.text = text
        self._root = match[1]
        self._keys = tuple(key for key in match[2].split(".") if key)
        self._part: slice | None = slice(int(match[3]), int(match[4])) if match[3] else None

    def read(self, moment: Moment) -> Any:
        """Return what is there now.

        Raises:
            BenchmarkFault: it is not there; names what is.
        """
        value = getattr(moment, self._root)
        for key in self._keys:
            try:
                value = value[key] if isinstance(value, Mapping) else getattr(value, key)
            except (KeyError, AttributeError):
                there = f"; there are {', '.join(map(str, value))}" if isinstance(value, Mapping) else ""
                raise BenchmarkFault(f"the environment has no {self.text!r}: {key!r} is missing{there}") from None
        return value if self._part is None else np.asarray(value).reshape(-1)[self._part]

    def array(self, moment: Moment) -> np.ndarray:
        """Return it as a new flat float64 array.

        Raises:
            BenchmarkFault: it is not there, or is no array of numbers.
        """
        value = self.read(moment)
        try:
            return np.array(value, np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise BenchmarkFault(f"{self.text!r} is a {type(value).__name__}, not an array of numbers") from None

    def number(self, moment: Moment) -> float:
        """Return it as one number.

        Raises:
            BenchmarkFault: it is not there, or is not one number.
        """
        array = self.array(moment)
        if array.size != 1:
            raise BenchmarkFault(f"{self.text!r} holds {array.size} numbers; one is wanted")
        return float(array[0])
