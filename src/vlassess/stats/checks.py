"""Refusals that several statistics share: one sentence that names the value and what it must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_share(name: str, value: float) -> None:
    """Refuse what does not lie strictly between 0 and 1.

    Raises:
        ValueError: it does not.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; it must be between 0 and 1")


def check_successes(successes: int, n: int) -> None:
    """Refuse an impossible pair of counts, and a rate over no episode.

    Raises:
        ValueError: n < 1, or not 0 <= successes <= n.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"there are {successes} successes in {n} episodes; it must be 0 <= successes <= n and n >= 1")


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite numbers as a 1-D array.

    Raises:
        ValueError: not 1-D, or a value is NaN or infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions; it must have one")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or an infinity; leave out what is missing")
    return array


def outcomes(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Return successes (True or 1) and failures (False or 0) as a 1-D array.

    Raises:
        ValueError: not 1-D, or a value is neither 0 nor 1.
    """
    array = numbers(name, values)
    if not np.isin(array, (0.0, 1.0)).all():
        raise ValueError(f"{name} holds {array[~np.isin(array, (0.0, 1.0))][0]}; an outcome is 0 or 1")
    return np.asarray(array == 1.0, dtype=np.bool_)


def same_length(**arrays: NDArray[np.generic]) -> None:
    """Refuse arrays of different lengths.

    Raises:
        ValueError: they differ.
    """
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise ValueError(f"arrays must be equally long: {lengths}")
