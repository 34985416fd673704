"""Which test decides: the one that was fixed before the run, and what is said when it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from vlassess.comparison.arms import ComparisonRefusedError
from vlassess.schema.arms import Arm
from vlassess.schema.comparison import Design
from vlassess.schema.config import ComparisonConfig

ALWAYS_TWO_SIDED = ("stratified", "progress")
"""Tests that have no one-sided form here."""
CHOICES = ("test", "alpha", "sides", "margin")


def design_of(arms: Sequence[Arm], asked: Mapping[str, Any]) -> Design:
    """Return the test that decides, with every change of what was fixed before the run.

    The first arm that declares a comparison has the word; another arm that declares another one is named.

    Args:
        arms: What is compared.
        asked: What is asked for now, of `CHOICES`; None stands for "as declared".

    Raises:
        ComparisonRefusedError: what is asked for is outside its range.
    """
    declaring = [arm for arm in arms if arm.declared is not None]
    base = declaring[0].declared if declaring and declaring[0].declared is not None else ComparisonConfig()
    given = {name: asked[name] for name in CHOICES if asked.get(name) is not None}
    wanted = {name: value for name, value in given.items() if value != getattr(base, name)}
    sides = {} if wanted.get("test") != "sequential" else {"sides": "two-sided"}
    chosen = _valid({**base.model_dump(include=set(CHOICES)), **wanted, **sides})
    if chosen.test in ALWAYS_TWO_SIDED and chosen.sides != "two-sided":
        raise ComparisonRefusedError(
            f"the test {chosen.test!r} has two sides, but sides is {chosen.sides!r}; leave it out or take another test"
        )
    changes = [f"{name} was changed after the run: {getattr(base, name)} -> {value}" for name, value in wanted.items()]
    if not declaring:
        changes = []
    notes = [
        f"{other.label} declared another comparison before its run; that of {declaring[0].label} is used"
        for other in declaring[1:]
        if _choices(other.declared) != _choices(base)
    ]
    if not declaring:
        own = "the default test is used" if not wanted else "the test was chosen after the runs"
        notes.append(f"no test was fixed before the runs (config section `comparison`): {own}")
    if any(arm.stopped for arm in arms) and chosen.test != "sequential":
        notes.append("a run was stopped when its sequential test had decided: every other p-value of it is too small")
    return Design(
        test=chosen.test,
        alpha=chosen.alpha,
        sides=chosen.sides,
        margin=chosen.margin,
        fixed_before=bool(declaring) and not wanted,
        declared_by=declaring[0].label if declaring else None,
        changes=tuple(changes),
        notes=tuple(notes),
    )


def _valid(values: Mapping[str, Any]) -> ComparisonConfig:
    try:
        return ComparisonConfig(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        told = f"{name} is {values[name]}; {first['msg'][:1].lower()}{first['msg'][1:]}" if name else first["msg"]
        raise ComparisonRefusedError(told) from None


def _choices(declared: ComparisonConfig | None) -> dict[str, Any]:
    return {} if declared is None else declared.model_dump(include=set(CHOICES))
