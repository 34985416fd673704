"""``decision.json``: what a run's stopping rule knew, look by look, and what it decided."""

from __future__ import annotations

from pydantic import Field

from vlassess.schema.interval import Interval
from vlassess.schema.summary import Frozen

DECISION_SCHEMA = 1
"""Version of ``decision.json``; readers accept every earlier one."""


class DecisionLook(Frozen):
    """What was known after a block."""

    block: int
    """How many blocks were finished."""
    only_a: int
    """Pairs so far in which A alone succeeded."""
    only_b: int
    """Pairs so far in which B alone succeeded."""
    pairs: int
    """Pairs so far; a start with several cells counts once."""
    log_e: float
    """Logarithm of the capital won against "no difference"; at -log(alpha) it is rejected."""
    interval: Interval
    """The confidence sequence of rate A minus rate B."""


class Continued(Frozen):
    """That the run was continued although it was decided."""

    created: str
    """UTC, ISO 8601."""
    blocks: int
    """Finished blocks then."""


class Decision(Frozen):
    """Content of ``decision.json``."""

    schema_version: int = DECISION_SCHEMA
    """`DECISION_SCHEMA` of the writer."""
    a: str
    """Label of the run's policy."""
    b: str
    """The other arm: a label of the same run, or the source that was read."""
    rival: str
    """What the other arm is, wherever it lies: its run's id, or its file's name, and its label there."""
    alpha: float
    """Chance of a false alarm, fixed before the run."""
    planned_blocks: int
    """Blocks of the plan."""
    decided_at: int | None
    """After which block it was decided; None for not yet."""
    sentence: str
    """What it came to, in one sentence."""
    looks: tuple[DecisionLook, ...]
    """One a finished block that has a pair."""
    continued: tuple[Continued, ...] = Field(default=())
    """Each time that it was continued after the decision."""
