"""Families of perturbations: which changes, in which order, shared by all views or drawn for each.

A family is named by its changes joined with ``+``, as ``brightness+dual-rotation``. What belongs to the scene, as its
light, is shared by all views; what belongs to a camera's mount has a parameter for each view when ``dual-`` stands
before it. A region is a box of parameters about 0, which is the clean picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vlassess.robustness.perturbations.changes import CHANGES, Change, Source
from vlassess.robustness.perturbations.pictures import Pixels, pixels
from vlassess_link.errors import ContractError

PER_VIEW = "dual-"
ALIASES = {"composition": "brightness+dual-rotation"}

Theta = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One change of a family.

    Attributes:
        change: What is done.
        per_view: Each view has its own parameter.
    """

    change: Change
    per_view: bool

    @property
    def name(self) -> str:
        """As a family's name has it."""
        return (PER_VIEW if self.per_view else "") + self.change.name


class Box(NamedTuple):
    """A region of parameters.

    Attributes:
        low: (N,) least parameters.
        high: (N,) greatest parameters.
    """

    low: Theta
    high: Theta

    def parameters(self, points: Theta) -> Theta:
        """Return the parameters (n, N) that points of the unit box (n, N) stand for."""
        return np.asarray(self.low + np.asarray(points, np.float64) * (self.high - self.low))

    def holds(self, theta: Theta) -> bool:
        """Return whether parameters lie in it."""
        return bool(np.all(self.low <= theta) and np.all(theta <= self.high))


@dataclass(frozen=True)
class Family:
    """A family of perturbations.

    Attributes:
        name: As configs name it.
        parts: What is done to each view, in this order.
    """

    name: str
    parts: tuple[Part, ...]

    def dimension(self, views: int) -> int:
        """Return the number of parameters N for so many views."""
        return sum(views if part.per_view else 1 for part in self.parts)

    def axes(self, views: Sequence[str]) -> tuple[str, ...]:
        """Return a name for each parameter: "brightness", "rotation of wrist"."""
        names: list[str] = []
        for part in self.parts:
            own = [f"{part.change.name} of {view}" for view in views] if len(views) > 1 else [part.change.name]
            names += own if part.per_view else [part.change.name]
        return tuple(names)

    def box(self, radii: Sequence[float], views: int) -> Box:
        """Return the region of one radius for each part.

        Raises:
            ContractError: their number, or one of them, does not fit; names it.
        """
        if len(radii) != len(self.parts):
            raise ContractError(
                f"{self.name} has {len(self.parts)} part(s) ({', '.join(part.name for part in self.parts)}), but "
                f"{list(radii)} has {len(radii)} radii: give one for each"
            )
        low: list[float] = []
        high: list[float] = []
        for part, radius in zip(self.parts, radii, strict=True):
            change = part.change
            if not 0.0 < radius <= change.most:
                raise ContractError(
                    f"the radius of {part.name} is {radius:g}; it must be above 0 and at most {change.most:g} "
                    f"({change.unit})"
                )
            count = views if part.per_view else 1
            low += [0.0 if change.one_sided else -radius * change.scale] * count
            high += [radius * change.scale] * count
        return Box(np.array(low), np.array(high))

    def perturbed(self, views: Sequence[Source], thetas: Theta) -> list[Pixels]:
        """Return each view under each row of parameters: one (n, height, width, 3) a view, float32 on [0, 255].

        A row's pictures depend on this row alone, bit for bit.

        Args:
            views: The clean pictures.
            thetas: (n, N).
        """
        if thetas.ndim != 2 or thetas.shape[1] != self.dimension(len(views)):
            raise ContractError(
                f"parameters have the shape {thetas.shape}; {self.name} of {len(views)} view(s) has "
                f"{self.dimension(len(views))} a row"
            )
        found = []
        for number, view in enumerate(views):
            out = np.empty((len(thetas), *view.picture.shape), np.float32)
            for row, theta in zip(out, thetas, strict=True):
                self._one(view, self._own(theta, number, len(views)), row)
            found.append(out)
        return found

    def contains(self, other: Family) -> bool:
        """Return whether each of the other's perturbations is one of this family, with some parameters at 0."""
        names = [part.name for part in self.parts]
        wanted = [part.name for part in other.parts]
        return [name for name in names if name in wanted] == wanted

    def embedded(self, theta: Theta, other: Family, views: int) -> Theta | None:
        """Return the parameters of this family that do what ``theta`` of ``other`` does; None where none do."""
        if not self.contains(other):
            return None
        places = self._places(views)
        found = np.zeros(self.dimension(views))
        for name, where in other._places(views).items():
            found[places[name]] = theta[where]
        return found

    def _places(self, views: int) -> dict[str, slice]:
        places, first = {}, 0
        for part in self.parts:
            count = views if part.per_view else 1
            places[part.name] = slice(first, first + count)
            first += count
        return places

    def _own(self, theta: Theta, view: int, views: int) -> list[float]:
        """Return one view's parameter of each part."""
        places = self._places(views).items()
        per_view = {part.name: part.per_view for part in self.parts}
        return [float(theta[where][view if per_view[name] else 0]) for name, where in places]

    def _one(self, view: Source, own: Sequence[float], out: Pixels) -> None:
        for part, theta in zip(self.parts[:-1], own[:-1], strict=True):
            between = np.empty_like(view.picture)
            part.change.apply(view, theta, between)
            view = Source(between)
        self.parts[-1].change.apply(view, own[-1], out)


def family(name: str) -> Family:
    """Return a family by its name: changes joined with ``+``, each with ``dual-`` before it for one a view.

    Raises:
        ContractError: there is no such change, or it is named twice; lists those there are.
    """
    parts = []
    for word in ALIASES.get(name, name).split("+"):
        change = CHANGES.get(word.removeprefix(PER_VIEW))
        if change is None:
            raise ContractError(
                f"there is no perturbation {word!r} (in {name!r}); use {', '.join(CHANGES)}, '{PER_VIEW}' before one "
                f"for a parameter a view, '+' between several, or {', '.join(ALIASES)}"
            )
        parts.append(Part(change, word.startswith(PER_VIEW)))
    if len({part.change.name for part in parts}) < len(parts):
        raise ContractError(f"the perturbation {name!r} names a change twice; each may be there once")
    return Family(name, tuple(parts))


def sources(images: Mapping[str, np.ndarray]) -> list[Source]:
    """Return pictures, ready to be perturbed, in their order.

    Raises:
        ContractError: one is no picture.
    """
    return [Source(pixels(image, f"the image {name!r}")) for name, image in images.items()]
