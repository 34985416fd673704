"""`diff`: where do two traces part, and which known mistake makes B of A there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from vlassess_link.conventions.pictures import explain_image, is_image
from vlassess_link.conventions.traces import Moment, Trace
from vlassess_link.conventions.vectors import (
    Window,
    close,
    differing_windows,
    explain_window,
    form_change,
)
from vlassess_link.spaces import Component, Layout


@dataclass(frozen=True)
class Difference:
    """One part of the first moment at which two traces differ.

    Attributes:
        moment: Which observation, from 0.
        step: Its control step.
        part: "instruction", "image front", "state[3:6] (eef_rotation)", "actions[6]".
        size: How far apart the two are, in words.
        cause: The mistake that makes B of A, as a sentence; None: none of the known ones.
    """

    moment: int
    step: int
    part: str
    size: str
    cause: Optional[str] = None


def diff(one: Trace, other: Trace) -> Tuple[Difference, ...]:
    """Return what differs at the first moment at which anything does, in the order of the data's way; empty: nothing.

    That is: what was given (text, images, state, extras), what the model says that it made of it, what was answered,
    what was executed until the next moment.
    """
    with np.errstate(all="ignore"):  # what a wrong implementation gives may be anything
        return _first_difference(one, other)


def _first_difference(one: Trace, other: Trace) -> Tuple[Difference, ...]:
    for number, (moment, _) in enumerate(zip(one.moments, other.moments)):
        found = list(_Moments(one, other, number).differences())
        if found:
            return tuple(found)
        ends = [trace.moments[number + 1].step if number + 1 < len(trace.moments) else None for trace in (one, other)]
        found = list(_executed(one, other, number, (moment.step, ends[0])))
        if found:
            return tuple(found)
    if len(one.moments) != len(other.moments):
        shorter, longer = sorted((one, other), key=lambda trace: len(trace.moments))
        last = len(shorter.moments)
        name = "B" if shorter is other else "A"
        return (
            Difference(
                last,
                longer.moments[last].step,
                "observations",
                f"A has {len(one.moments)} observations, B {len(other.moments)}",
                f"{name} ends there: its episode or its recording was over, or it executes more of a chunk",
            ),
        )
    return ()


class _Moments:
    """The two moments of one number, and those around them."""

    def __init__(self, one: Trace, other: Trace, number: int) -> None:
        self._one, self._other, self._number = one, other, number
        self._a: Moment = one.moments[number]
        self._b: Moment = other.moments[number]

    def differences(self) -> Iterator[Difference]:
        """Yield every part that differs."""
        yield from self._text("instruction", self._a.instruction, self._b.instruction)
        yield from self._images()
        yield from self._vector("state", self._a.state, self._b.state, self._one.state_layout)
        for name in sorted({*self._a.extras, *self._b.extras}):
            yield from self._value(f"extra {name}", self._a.extras.get(name), self._b.extras.get(name))
        for name in sorted({*self._a.answer, *self._b.answer}):
            yield from self._value(name, self._a.answer.get(name), self._b.answer.get(name))
        yield from self._actions()

    def _told(self, part: str, size: str, cause: Optional[str] = None) -> Difference:
        return Difference(self._number, self._a.step, part, size, cause)

    def _text(self, part: str, a: str, b: str) -> Iterator[Difference]:
        if a == b:
            return
        cause = f"B has another {part}: {b!r} for A's {a!r}"
        if a.lower() == b.lower():
            cause = f"{part} of B is A's in another case"
        elif a and a in b:
            cause = f"{part} of B is A's inside of a template: {b!r}"
        yield self._told(part, f"A: {a!r}, B: {b!r}", cause)

    def _images(self) -> Iterator[Difference]:
        for name in sorted({*self._a.images, *self._b.images}):
            a, b = self._a.images.get(name), self._b.images.get(name)
            rendered = self._a.rendered.get(name, self._b.rendered.get(name))
            yield from self._image(f"image {name}", (a, b), rendered, self._a.images)

    def _image(
        self,
        part: str,
        pair: Tuple[Optional[np.ndarray], Optional[np.ndarray]],
        rendered: Optional[np.ndarray],
        neighbours: Mapping[str, np.ndarray],
    ) -> Iterator[Difference]:
        a, b = pair
        if a is None or b is None:
            yield self._told(part, f"only {'B' if a is None else 'A'} has it")
        elif a.shape != b.shape or not np.array_equal(a, b):
            others = {name: image for name, image in neighbours.items() if image is not a}
            cause = explain_image(a, b, rendered, others)
            yield self._told(part, _size(a, b), None if cause is None else f"{part} of B {cause}")

    def _value(self, part: str, a: object, b: object) -> Iterator[Difference]:
        if a is None or b is None:
            yield self._told(part, f"only {'B' if a is None else 'A'} has it")
        elif isinstance(a, str) or isinstance(b, str):
            yield from self._text(part, str(a), str(b))
        elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            if is_image(a) and is_image(b):
                yield from self._image(part, (a, b), None, {})
            else:
                yield from self._vector(part, np.atleast_1d(a).ravel(), np.atleast_1d(b).ravel(), None)

    def _vector(
        self, part: str, a: Optional[np.ndarray], b: Optional[np.ndarray], layout: Optional[Layout]
    ) -> Iterator[Difference]:
        if a is None and b is None:
            return
        if a is None or b is None:
            yield self._told(part, f"only {'B' if a is None else 'A'} has it")
            return
        a, b = a.astype(np.float64), b.astype(np.float64)
        if close(a, b):
            return
        if a.size != b.size:
            yield self._told(part, _size(a, b), _other_size(a[None], b[None], part, layout))
            return
        sources = self._sources(part, self._one.state_layout, self._other.state_layout)
        several = self._series(part)
        for window in differing_windows(a[None], b[None], layout):
            for rows in ((a[None], b[None]), *([several] if several is not None else [])):
                elsewhere = self._elsewhere(part) if rows is not several else {}
                wider, cause = explain_window(rows[0], rows[1], window, part, elsewhere)
                if cause is not None:
                    break
            cause = sources.get(window.component.name if window.component else "", cause)
            place = slice(wider.begin, wider.end)
            yield self._told(wider.named(part), _size(a[place], b[place]), cause)

    def _series(self, part: str) -> Optional[Tuple[np.ndarray, np.ndarray]]:
        """Return the vector at every moment from this one on, (n, S) of both: for causes with an unknown number.

        None where it is no vector, but an array of more dimensions.
        """
        rows: List[Tuple[np.ndarray, np.ndarray]] = []
        for a, b in zip(self._one.moments[self._number :], self._other.moments[self._number :]):
            pair = (_vectors(a).get(part), _vectors(b).get(part))
            if pair[0] is None or pair[1] is None or (rows and pair[0].size != rows[0][0].size):
                break
            if pair[0].size == pair[1].size:
                rows.append((pair[0], pair[1]))
        if not rows:
            return None
        return np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])

    def _elsewhere(self, part: str) -> Dict[str, np.ndarray]:
        return {name: vector[None] for name, vector in _vectors(self._a).items() if name != part}

    def _sources(self, part: str, one: Optional[Layout], other: Optional[Layout]) -> Dict[str, str]:
        """Return component -> sentence, of those that the two specs take from different sources."""
        if part != "state" or one is None or other is None:
            return {}
        theirs = {component.name: component.source for component in other.components}
        return {
            component.name: f"{part} {component.name!r} comes from {theirs[component.name]!r} in B, and from "
            f"{component.source!r} in A: another source"
            for component in one.components
            if theirs.get(component.name) not in (None, component.source) and component.source is not None
        }

    def _actions(self) -> Iterator[Difference]:
        a, b = self._a.actions, self._b.actions
        if a is None or b is None:
            if a is not b:
                yield self._told("actions", f"only {'B' if a is None else 'A'} has an answer")
            return
        if close(a, b):
            return
        series = [_firsts(trace.moments[self._number :], a.shape[1]) for trace in (self._one, self._other)]
        for part, cause, size in action_differences((a, b), (series[0], series[1]), self._one.action_layout, "actions"):
            yield self._told(part, size, cause)


def _firsts(moments: Sequence[Moment], size: int) -> np.ndarray:
    """Return the first action of each moment that has one of ``size`` numbers, (n, D)."""
    chunks = [moment.actions for moment in moments if moment.actions is not None]
    return np.concatenate([chunk[:1] for chunk in chunks if chunk.shape[1] == size] or [np.zeros((0, size))])


def action_differences(
    chunks: Tuple[np.ndarray, np.ndarray],
    series: Tuple[np.ndarray, np.ndarray],
    layout: Optional[Layout],
    what: str,
) -> Iterator[Tuple[str, Optional[str], str]]:
    """Yield (part, cause, size) of every part in which two (T, D) differ.

    Args:
        chunks: A's and B's.
        series: The first action of each moment, (n, D), for causes that need several: a chunk may hold one.
        layout: What an action's numbers are.
        what: How sentences call them.
    """
    a, b = (chunk.astype(np.float64) for chunk in chunks)
    if a.shape[1] != b.shape[1]:
        yield what, _other_size(a[:1], b[:1], what, layout), _size(a, b)
        return
    shifted = _shifted(a, b, what)
    if shifted is not None or len(a) != len(b):
        yield what, shifted, _size(a, b)
        return
    for window in differing_windows(a, b, layout):
        place = slice(window.begin, window.end)
        rows = series if len(a) < 3 and len(series[0]) == len(series[1]) else (a, b)
        cause = _integrated(rows[0][:, place], rows[1][:, place])
        wider = window
        if cause is None:
            wider, told = explain_window(a, b, window, what, {})
        else:
            told = f"{window.named(what)} of B {cause}"
        place = slice(wider.begin, wider.end)
        yield wider.named(what), told, _size(a[:, place], b[:, place])


def _shifted(a: np.ndarray, b: np.ndarray, what: str) -> Optional[str]:
    """Find a chunk index that is off by one, or two, either way."""
    for by in (1, 2):
        if len(a) > by + 1 and len(b) > by + 1:
            many = min(len(a), len(b)) - by
            if close(a[by : by + many], b[:many]) and not close(a[:many], b[:many]):
                return f"{what} of B are A's from {by} later on: a chunk index is off by {'one' if by == 1 else by}"
            if close(b[by : by + many], a[:many]) and not close(a[:many], b[:many]):
                return f"{what} of B are A's from {by} earlier on: a chunk index is off by {'one' if by == 1 else by}"
    return None


def _integrated(a: np.ndarray, b: np.ndarray) -> Optional[str]:
    """Find absolute numbers in the place of deltas: the steps of the one are the other's numbers."""
    for first, second, words in ((a, b, "absolute where A's are delta"), (b, a, "delta where A's are absolute")):
        steps = np.diff(second, axis=0)
        for deltas in (first[1:], first[:-1]):
            moving = np.abs(deltas) > 1e-6
            if len(steps) < 2 or moving.sum() < 2 or np.ptp(second) < 1e-6:
                continue
            factor = float(np.median(steps[moving] / deltas[moving]))
            if abs(factor) > 1e-9 and close(factor * deltas, steps):
                scaled = "" if abs(factor - 1) < 1e-4 else f" times {factor:.4g}"
                return f"are {words}: their steps are the other's numbers{scaled}"
    return None


def _executed(one: Trace, other: Trace, number: int, steps: Tuple[int, Optional[int]]) -> Iterator[Difference]:
    a, b = one.executed, other.executed
    if a is None or b is None:
        return
    rows = slice(*steps)
    if close(a[rows], b[rows]):
        return
    for part, cause, size in action_differences((a, b), (a, b), one.executed_layout, "executed"):
        yield Difference(number, steps[0], part, size, cause)


def _other_size(a: np.ndarray, b: np.ndarray, part: str, layout: Optional[Layout]) -> Optional[str]:
    """Name a field that one side lacks, or a rotation in another form."""
    for longer, shorter, lacks, has in ((a, b, "B", "A"), (b, a, "A", "B")):
        width = longer.shape[1] - shorter.shape[1]
        for begin in range(shorter.shape[1] + 1) if width > 0 else ():
            if close(np.delete(longer, slice(begin, begin + width), axis=1), shorter):
                named = Window(begin, begin + width, _component_at(layout, begin, width)).named(part)
                return f"{part} of {lacks} lacks {has}'s {named}"
    return form_change(a, b, part)


def _component_at(layout: Optional[Layout], begin: int, width: int) -> Optional[Component]:
    place = 0
    for component in layout.components if layout is not None else ():
        if place == begin and component.size == width:
            return component
        place += component.size
    return None


def _vectors(moment: Moment) -> Dict[str, np.ndarray]:
    found = {} if moment.state is None else {"state": moment.state.astype(np.float64)}
    extras = {f"extra {name}": array for name, array in moment.extras.items() if isinstance(array, np.ndarray)}
    answers = {name: array for name, array in moment.answer.items() if isinstance(array, np.ndarray)}
    for name, array in {**extras, **answers}.items():
        if array.ndim <= 1:
            found[name] = np.atleast_1d(array).astype(np.float64)
    return found


def _size(a: np.ndarray, b: np.ndarray) -> str:
    if a.shape != b.shape:
        return f"A has shape {a.shape}, B {b.shape}"
    return f"they differ by up to {float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)))):.4g}"
