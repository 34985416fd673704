"""Which solver decides an instance, and with what: frozen, strict models, which a config can hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from vlassess.schema.config import Count, Number, Strict

COVER = {1: 1e-3, 2: 1e-3, 3: 1e-3, 4: 1e-3}
"""How wide an interval of the curve may be in a certificate of `HoelderCoverage`, by number of parameters."""


class _Budgeted(Strict):
    budget: Annotated[Count, Field(ge=1)] = 10_000
    """Queries after which the answer is `unknown`. It changes no query before."""
    batch: Annotated[Count, Field(ge=1, le=4096)] = 1
    """Most queries that are asked for at once. Fewer are at first, so that an easy counterexample costs little."""
    noise: Annotated[Number, Field(ge=0)] = 0.0
    """How far an observed value may lie from the true one. Slopes are taken less it, bounds are lowered by it, and
    only a value below minus it is a witness."""


class _Hoelder(_Budgeted):
    reliability: Annotated[Number, Field(ge=1.1)] = 1.3
    """r, by which observed slopes are multiplied; 2 to be careful. Both parts of a split interval are at least
    (1 - 1/r)/2 as wide."""
    floor: Annotated[Number, Field(gt=0)] = 1e-6
    """The smallest slope that is ever assumed, for objectives of size about 1."""
    neighbours: Annotated[Count, Field(ge=1, le=100)] = 1
    """How many intervals to either side lend their slopes to one."""
    levels: Annotated[Count, Field(ge=4, le=32, multiple_of=4)] = 32
    """Halvings of every axis by the curve."""


class Hoelder(_Hoelder):
    """H2V (Zhang, Kouvaros, Lomuscio 2025): stop when the interval with the smallest bound is narrow enough."""

    method: Literal["h2v"] = "h2v"
    """Name of the solver."""
    epsilon: Annotated[Number, Field(ge=1e-12, le=1)] = 1e-5
    """How narrow, as a share of the curve."""


class _Margin(_Hoelder):
    epsilon_min: Annotated[Number, Field(ge=1e-12, le=1)] = 1e-7
    """The narrowest interval that may have to be reached."""
    epsilon_max: Annotated[Number, Field(ge=1e-12, le=1)] = 1e-3
    """The widest at which the search may end."""

    @model_validator(mode="after")
    def _ordered(self) -> _Margin:
        if self.epsilon_min > self.epsilon_max:
            raise ValueError(
                f"epsilon_min is {self.epsilon_min:g}, more than epsilon_max, {self.epsilon_max:g}: exchange them"
            )
        return self


class HoelderMargin(_Margin):
    """H2V-M (Aron et al. 2026): how narrow is narrow enough follows from the margin that is left."""

    method: Literal["h2v-m"] = "h2v-m"
    """Name of the solver."""


class HoelderCoverage(_Margin):
    """H2V-C, the default: H2V-M that certifies nothing before it has looked everywhere at a stated resolution."""

    method: Literal["h2v-c"] = "h2v-c"
    """Name of the solver."""
    cover: Annotated[Number, Field(ge=1e-9, le=1)] | None = None
    """The widest interval of the curve that a certificate may rest on, as a share of the region's volume; None: as
    `COVER` says for the number of parameters."""
    probes: Annotated[Count, Field(ge=0, le=10_000)] = 25
    """Queries before a certificate where the bound would first fail if slopes were larger than any observed."""
    hunt: bool = True
    """Whether a counterexample is also searched for by other means (DIRECT, corners, local models); what these find out
    counts for the certificate too."""

    def covered(self, dimension: int) -> float:
        """Return the cover that holds for a number of parameters."""
        return COVER[dimension] if self.cover is None else self.cover


class Lipschitz(_Budgeted):
    """Branch and bound on boxes with a bound that the user vouches for; its certificates rest on that alone."""

    method: Literal["lipschitz"] = "lipschitz"
    """Name of the solver."""
    bound: Annotated[Number, Field(gt=0)] | tuple[Annotated[Number, Field(gt=0)], ...]
    """L with |f(u) - f(v)| <= L |u - v| in the unit box (Euclidean), or one for each axis with |f(u) - f(v)| <= sum of
    L_j |u_j - v_j|."""


class Uniform(_Budgeted):
    """Independent draws; never a certificate."""

    method: Literal["uniform"] = "uniform"
    """Name of the solver."""
    seed: Annotated[Count, Field(ge=0)] = 0
    """Of its points."""


class Sobol(_Budgeted):
    """A scrambled Sobol sequence; never a certificate."""

    method: Literal["sobol"] = "sobol"
    """Name of the solver."""
    seed: Annotated[Count, Field(ge=0)] = 0
    """Of its points."""


class Grid(_Budgeted):
    """The densest grid with both ends of every axis that the budget allows, row by row; never a certificate."""

    method: Literal["grid"] = "grid"
    """Name of the solver."""


class Direct(_Budgeted):
    """DIRECT (Jones, Perttunen, Stuckman 1993), or its locally biased form (Gablonsky, Kelley 2001); no certificate."""

    method: Literal["direct"] = "direct"
    """Name of the solver."""
    locally_biased: bool = True
    """Prefer boxes around the best place so far."""


Settings = Annotated[
    Hoelder | HoelderMargin | HoelderCoverage | Lipschitz | Uniform | Sobol | Grid | Direct,
    Field(discriminator="method"),
]
"""Any solver."""

METHODS = ("h2v", "h2v-m", "h2v-c", "lipschitz", "uniform", "sobol", "grid", "direct")
"""Their `method`."""
