"""What is compared: the results of one policy, from a run of ours or from a file of somebody else's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from vlassess.schema.config import ComparisonConfig

Cell = tuple[tuple[str, str], ...]
"""A perturbation as sorted (axis, level) pairs; empty for the control."""

Ended = Literal["success", "failure", "error", "missing"]


class Touch(NamedTuple):
    """What an axis may change.

    Attributes:
        names: Components of the initial state, cameras, "instruction".
        paired: False where it changes the start itself.
    """

    names: frozenset[str]
    paired: bool


@dataclass(frozen=True)
class Trial:
    """One episode of one policy.

    Attributes:
        suite: Its suite, empty where the source knows none.
        task: Its task.
        index: Which start of the task.
        ended: How it ended; a policy's own error is a failure.
        repeat: Which repeat of the start.
        cell: Its perturbation.
        progress: Best share of the task done; None where there is none.
        pair_key: What start was planned; None where the source does not say.
        state: The measured initial state, name -> numbers; empty where none was recorded.
        instruction: As delivered.
        step_limit: Of the episode; None where the source does not say.
        identity: Digest of the policy's identity, "unknown" where there is none.
        item_id: Its id in its run; empty for other sources.
        host: Where it ran.
        video: Path of its video; empty where there is none.
        block: Its block where the run has a stopping rule.
    """

    suite: str
    task: str
    index: int
    ended: Ended
    repeat: int = 0
    cell: Cell = ()
    progress: float | None = None
    pair_key: str | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    instruction: str | None = None
    step_limit: int | None = None
    identity: str = "unknown"
    item_id: str = ""
    host: str = ""
    video: str = ""
    block: int | None = None

    @property
    def scored(self) -> bool:
        """Whether it counts in a rate."""
        return self.ended in ("success", "failure")

    @property
    def success(self) -> bool:
        """Whether it succeeded."""
        return self.ended == "success"

    @property
    def place(self) -> str:
        """Where it is, for people."""
        cell = " ".join(f"{axis}={level}" for axis, level in self.cell)
        where = f"{self.suite}/{self.task}" if self.suite else self.task
        return " ".join(
            part for part in (f"{where} #{self.index}", f"repeat {self.repeat}" * bool(self.repeat), cell) if part
        )


@dataclass(frozen=True)
class Arm:
    """All episodes of one policy from one source.

    Attributes:
        label: What tables call it; unique in a comparison.
        source: Where it comes from, for people.
        trials: Its episodes.
        benchmark: ``id@version``, or what the source calls it; None where it does not say.
        touches: Axis -> what it may change.
        conduct: What changes an episode's course beside the policy: parameters and versions, name -> text.
        privileged: It reads the simulator's state: only ever an upper bound.
        stochastic: Its noise differs between repeats; None where the source does not say.
        unpairable: Why none of its episodes can be paired; empty where they can.
        notes: What must be known of the source, one sentence each.
        declared: The comparison that was fixed before the run; None where none was.
        origin: What it is, wherever it lies: the run's id (or the file's name) and the policy's label.
        rival: `origin` of the arm that the run's stopping rule compares it with; empty for none.
        stopped: What the stopping rule came to; empty where there is none or it decided nothing.
    """

    label: str
    source: str
    trials: tuple[Trial, ...]
    benchmark: str | None = None
    touches: Mapping[str, Touch] = field(default_factory=dict)
    conduct: Mapping[str, str] = field(default_factory=dict)
    privileged: bool = False
    stochastic: bool | None = None
    unpairable: str = ""
    notes: tuple[str, ...] = ()
    declared: ComparisonConfig | None = None
    origin: str = ""
    rival: str = ""
    stopped: str = ""

    @property
    def identities(self) -> tuple[str, ...]:
        """The policies' identities in its results, each once."""
        return tuple(dict.fromkeys(trial.identity for trial in self.trials if trial.identity != "unknown"))
