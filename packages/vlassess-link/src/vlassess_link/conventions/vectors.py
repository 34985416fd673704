"""Names what makes one vector of another: the known mistakes, tried one after the other.

Vectors come as rows, (n, S): the same quantity at n moments, or the n actions of a chunk. A cause must hold in every
row that is given.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Callable, Iterator, List, Mapping, Optional, Tuple

import numpy as np

from vlassess_link.conventions import rotations
from vlassess_link.spaces import Component, Layout

RTOL, ATOL = 1e-4, 2e-5
"""Below these, two numbers are the same: what float32 leaves of a computation."""


@dataclass(frozen=True)
class Window:
    """Neighbouring numbers of a vector that belong together.

    Attributes:
        begin, end: Which.
        component: What they are, where a layout tells.
    """

    begin: int
    end: int
    component: Optional[Component] = None

    def named(self, what: str) -> str:
        """Return ``state[3:6] (eef_rotation)``."""
        place = f"[{self.begin}]" if self.end - self.begin == 1 else f"[{self.begin}:{self.end}]"
        return f"{what}{place}" + (f" ({self.component.name})" if self.component is not None else "")


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays have one shape and the same numbers."""
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=RTOL, atol=ATOL, equal_nan=True))


def differing_windows(one: np.ndarray, other: np.ndarray, layout: Optional[Layout]) -> List[Window]:
    """Return the parts of two (n, S) that differ: whole components where a layout fits, else runs of numbers."""
    apart = ~np.isclose(one, other, rtol=RTOL, atol=ATOL, equal_nan=True).all(axis=0)
    found = []
    for window in _windows(one.shape[1], layout, apart):
        if apart[window.begin : window.end].any():
            found.append(window)
    return found


def _windows(size: int, layout: Optional[Layout], apart: np.ndarray) -> Iterator[Window]:
    if layout is not None and layout.size == size:
        begin = 0
        for component in layout.components:
            yield Window(begin, begin + component.size, component)
            begin += component.size
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([0], apart.astype(int), [0]))))
    for begin, end in zip(edges[::2], edges[1::2]):
        yield Window(int(begin), int(end))


def explain_window(
    one: np.ndarray, other: np.ndarray, window: Window, what: str, elsewhere: Mapping[str, np.ndarray]
) -> Tuple[Window, Optional[str]]:
    """Return the window that is explained, maybe widened to a whole rotation, and the sentence; None: no cause.

    Args:
        one: (n, S) of A.
        other: (n, S) of B.
        window: Where they differ.
        what: How a sentence calls the vector.
        elsewhere: Other vectors of A at the same moments, name -> (n, R), which B may have taken instead.
    """
    a, b = one[:, window.begin : window.end], other[:, window.begin : window.end]
    if not (_finite(a) and _finite(b)):
        return window, None if _finite(b) else f"{window.named(what)} of B is not finite"
    for candidate in _widened(window, one.shape[1]):
        a, b = one[:, candidate.begin : candidate.end], other[:, candidate.begin : candidate.end]
        cause = _rotation_cause(a, b, candidate.component) if _finite(a) and _finite(b) else None
        if cause is not None:
            return candidate, f"{candidate.named(what)} of B {cause}"
    a, b = one[:, window.begin : window.end], other[:, window.begin : window.end]
    cause = _known_cause(a, b, window.component) or _taken_from(b, one, window, what, elsewhere)
    cause = cause or _fitted_cause(a, b)
    return window, None if cause is None else f"{window.named(what)} of B {cause}"


def _finite(rows: np.ndarray) -> bool:
    return bool(np.isfinite(rows).all())


def _widened(window: Window, size: int) -> Iterator[Window]:
    """Yield the window and, without a layout, every one around it that a rotation could fill."""
    if window.component is not None:
        yield window
        return
    for width in (3, 4, 6, 9):
        for begin in range(max(0, window.end - width), min(window.begin, size - width) + 1):
            yield Window(begin, begin + width)


def _rotation_cause(a: np.ndarray, b: np.ndarray, component: Optional[Component]) -> Optional[str]:
    if component is not None and component.kind not in ("rotation", "other"):
        return None
    if a.shape[1] == b.shape[1] == 3:
        if close(rotations.convert(a, *FLIP), b):
            return "equals A's after antipodal normalisation (angles in [0, pi] for [0, 2 pi])"
        if close(rotations.convert(b, *FLIP), a):
            return "lacks the antipodal normalisation that A's has (angles in [0, 2 pi] for [0, pi])"
    scale = component.scale if component is not None and component.scale is not None else 1.0
    return _form_cause(a, b) or (None if scale == 1.0 else _form_cause(a * scale, b * scale))


def _form_cause(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    for old, new in _form_pairs(a.shape[1], b.shape[1]):
        if old in QUATERNIONS and new in QUATERNIONS and close(a[:, _order(old, new)], b):
            return f"is A's in another order: {new.split('_')[1]} for {old.split('_')[1]}"
        if close(rotations.convert(a, old, new), b):
            return FORM_WORDS.get((old, new), f"is A's as {new}, if A's is {old}")
    return _misread_quaternion(a, b)


def _misread_quaternion(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    """Find a quaternion that was read in the other order before it became what is seen here."""
    forms = [name for name, size in rotations.SIZES.items() if size == a.shape[1] == b.shape[1]]
    for form, (old, new) in itertools.product(forms, (QUATERNIONS, QUATERNIONS[::-1])):
        if close(rotations.convert(rotations.convert(a, form, old), new, form), b):
            return f"is A's with the quaternion read as {new.split('_')[1]} for {old.split('_')[1]}"
    return None


FLIP = ("axis_angle_2pi", "axis_angle_pi")
QUATERNIONS = ("quaternion_wxyz", "quaternion_xyzw")
FORM_WORDS = {
    ("axis_angle_pi", "euler_xyz"): "is A's as Euler angles (xyz) for axis-angle",
    ("axis_angle_pi", "euler_xyz_fixed"): "is A's as Euler angles (xyz, fixed axes) for axis-angle",
    ("euler_xyz", "axis_angle_pi"): "is A's as axis-angle for Euler angles (xyz)",
    ("euler_xyz_fixed", "axis_angle_pi"): "is A's as axis-angle for Euler angles (xyz, fixed axes)",
}


def _order(old: str, new: str) -> Tuple[int, ...]:
    return tuple(old.split("_")[1].index(axis) for axis in new.split("_")[1])


def _form_pairs(old_size: int, new_size: int) -> Iterator[Tuple[str, str]]:
    for old, new in itertools.permutations(rotations.SIZES, 2):
        if rotations.SIZES[old] == old_size and rotations.SIZES[new] == new_size:
            yield old, new


def form_change(one: np.ndarray, other: np.ndarray, what: str) -> Optional[str]:
    """Return the sentence where B's vector is A's but for one rotation, whose form has another number of numbers."""
    change = other.shape[1] - one.shape[1]
    for old, new in itertools.permutations(rotations.SIZES, 2):
        width, other_width = rotations.SIZES[old], rotations.SIZES[new]
        if other_width - width != change:
            continue
        for begin in range(one.shape[1] - width + 1):
            middle = rotations.convert(one[:, begin : begin + width], old, new)
            if close(np.concatenate((one[:, :begin], middle, one[:, begin + width :]), axis=1), other):
                return f"{Window(begin, begin + width).named(what)} of A is {old}, and {new} in B"
    return None


Function = Callable[[np.ndarray], np.ndarray]

KNOWN: Tuple[Tuple[str, Function], ...] = (
    ("is A's in degrees for radians", np.rad2deg),
    ("is A's in radians for degrees", np.deg2rad),
    ("is A's negated", lambda a: -a),
    ("is A's in [0, 1] for [-1, 1]", lambda a: (a + 1) / 2),
    ("is A's in [-1, 1] for [0, 1]", lambda a: 2 * a - 1),
    ("is A's in [0, 1] for [-1, 1], and its sign is the other", lambda a: (1 - a) / 2),
    ("is A's in [-1, 1] for [0, 1], and its sign is the other", lambda a: 1 - 2 * a),
    ("is 1 minus A's: its sign is the other", lambda a: 1 - a),
    ("is A's split into -1 and 1", lambda a: np.where(a > 0, 1.0, -1.0)),
    ("is A's in the reverse order", lambda a: a[:, ::-1]),
    ("is zero", np.zeros_like),
)


def _known_cause(a: np.ndarray, b: np.ndarray, component: Optional[Component]) -> Optional[str]:
    if component is not None and component.low is not None and component.high is not None:
        low, high = component.low, component.high
        if (low, high) != (-1.0, 1.0) and close(2 * (a - low) / (high - low) - 1, b):
            return f"is A's normalised from [{low:g}, {high:g}] to [-1, 1] (once more, if A's was: normalised twice)"
        if (low, high) != (-1.0, 1.0) and close(2 * (b - low) / (high - low) - 1, a):
            return f"is not normalised from [{low:g}, {high:g}] to [-1, 1], and A's is (normalised twice, if B's was)"
    for words, function in KNOWN:
        if close(function(a), b):
            return words
    return None


def _taken_from(
    b: np.ndarray, one: np.ndarray, window: Window, what: str, elsewhere: Mapping[str, np.ndarray]
) -> Optional[str]:
    """Find B's numbers in another place of A: another source."""
    width = window.end - window.begin
    for name, rows in {what: one, **elsewhere}.items():
        for begin in range(rows.shape[1] - width + 1):
            if (name != what or begin != window.begin) and close(rows[:, begin : begin + width], b) and np.any(b):
                return f"is A's {Window(begin, begin + width).named(name)}: another source"
    return None


def _fitted_cause(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    """Fit what has an unknown number in it, where there are more numbers than unknowns."""
    nonzero = np.abs(a) > ATOL
    if a.size >= 2 and nonzero.sum() >= 2 and close(b[~nonzero], np.zeros_like(b[~nonzero])):
        factor = float(np.median(b[nonzero] / a[nonzero]))
        if close(factor * a, b) and abs(factor) > ATOL:
            return f"is A's times {factor:.6g}: another unit or scale"
    if len(a) >= 2 and close(b - a, np.broadcast_to(b[0] - a[0], a.shape)) and np.ptp(a) > ATOL:
        return f"is A's plus {np.round(b[0] - a[0], 6).tolist()}: another origin, frame or source"
    return _turned(a, b) or _affine(a, b)


def _turned(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    for form in ("axis_angle_2pi", "quaternion_xyzw", "quaternion_wxyz"):
        if len(a) < 3 or a.shape[1] != rotations.SIZES[form] or np.ptp(a) < ATOL:
            continue
        old, new = (rotations.convert(one, form, "matrix").reshape(-1, 3, 3) for one in (a, b))
        for apart in (np.swapaxes(old, 1, 2) @ new, new @ np.swapaxes(old, 1, 2)):
            if close(apart, np.broadcast_to(apart[0], apart.shape)):
                vector = rotations.convert(apart[0].reshape(9), "matrix", "axis_angle_pi")
                angle = np.rad2deg(np.linalg.norm(vector))
                return f"is A's turned by a constant {angle:.3g} degrees: another frame or source"
    return None


def _affine(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    """Name statistics that are applied once more, or other ones: a factor and an offset for each number."""
    if len(a) < 3 or not all(len(np.unique(np.round(column, 6))) >= 3 for column in a.T):
        return None
    from_mean = a - a.mean(axis=0)
    slopes = (from_mean * b).sum(axis=0) / (from_mean**2).sum(axis=0)
    offsets = b.mean(axis=0) - slopes * a.mean(axis=0)
    if not close(slopes * a + offsets, b):
        return None
    told = ", ".join(
        f"{slope:.4g} x {'+' if offset >= 0 else '-'} {abs(offset):.4g}"
        for slope, offset in zip(slopes[:4], offsets[:4])
    )
    return f"is A's normalised once more (normalised twice), or with other statistics: {told}"
