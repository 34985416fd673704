"""A run that stops when its comparison is decided: the rule, its hand-out by blocks, its record."""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

from vlassess.comparison import Place, Race, block_order, place_of
from vlassess.execution import BlockedHandOut, Work
from vlassess.pipeline.arms import arms_of
from vlassess.pipeline.decisions import NAME, read_decision, write_decision
from vlassess.pipeline.refusals import ResumeRefusedError
from vlassess.plan import plan_hash
from vlassess.records import RunDirectory
from vlassess.schema.arms import Arm
from vlassess.schema.config import ComparisonConfig, RunConfig
from vlassess.schema.decision import Continued, Decision, DecisionLook
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import PlanPart
from vlassess.stats.sequential import DifferenceState
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import ContractError


class Deciding:
    """Follows a run's comparison block by block; a `StoppingRule` of the coordinator.

    Args:
        race: The comparison, with the other arm's outcomes where that is read.
        items: The whole plan.
        names: Label of the run's first policy, and what the other arm is called.
        rival: `Arm.origin` of the other arm; empty where it is of the same run.
        blocks: Place -> block.
    """

    def __init__(
        self, race: Race, items: Sequence[WorkItem], names: tuple[str, str], blocks: dict[Place, int], rival: str = ""
    ) -> None:
        self._race = race
        self._names = names
        self._rival = rival
        self._items = {item.item_id: (("a" if item.policy == names[0] else "b"), place_of(item)) for item in items}
        self._blocks = {item_id: blocks[place] for item_id, (_, place) in self._items.items()}
        self._continued: tuple[Continued, ...] = ()
        self._stops = True

    @property
    def decided(self) -> bool:
        """Whether the comparison is decided, whether the run stops or not."""
        return self._race.state.decided

    @property
    def decision(self) -> str | None:
        """What was decided; None while the run has to go on, or where it was told to go on anyway."""
        return self.sentence if self.decided and self._stops else None

    @property
    def sentence(self) -> str:
        """What is known, in one sentence."""
        race = self._race
        at = race.decided_at
        if at is None:
            return f"not decided after {race.finished} of {race.planned} blocks: {_told(self._names, race.state)}"
        then = next(look.state for look in race.history if look.block == at)
        better, worse = self._names if (then.difference or 0.0) > 0 else self._names[::-1]
        return (
            f"decided after block {at} of {race.planned}: {better} is better than {worse}; {_told(self._names, then)}"
        )

    def learn(self, record: EpisodeRecord) -> None:
        """Take in an attempt; only final ones count."""
        if record.final and record.item_id in self._items:
            self._race.tell(*self._items[record.item_id], record.counts_as == "success")

    def applied(self, work: Work) -> Work:
        """Return the same work, handed out by blocks and ended by this rule."""
        return dataclasses.replace(work, queue=functools.partial(BlockedHandOut, blocks=self._blocks), rule=self)

    def recall(self, run_dir: Path, records: Iterable[EpisodeRecord], go_on: bool) -> None:
        """Take up a run where it was left.

        Raises:
            ResumeRefusedError: it is decided, and nobody asks to go on.
        """
        for record in records:
            self.learn(record)
        before = read_decision(run_dir)
        self._continued = () if before is None else before.continued
        if not self.decided:
            return
        if not go_on and not self._continued:
            raise ResumeRefusedError(
                f"{run_dir.name} is {self.sentence}. No further episode is needed; to run the rest of the plan anyway, "
                f"resume it with --continue, which {NAME} will record"
            )
        self._stops = False
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self._continued = (*self._continued, Continued(created=now, blocks=self._race.finished))

    def keep(self, run: RunDirectory) -> None:
        """Write what is known into the run directory."""
        race = self._race
        looks = tuple(
            DecisionLook(
                block=look.block,
                only_a=look.state.only_a,
                only_b=look.state.only_b,
                pairs=look.state.pairs,
                log_e=look.state.log_e,
                interval=look.state.interval,
            )
            for look in race.history
        )
        write_decision(
            run.path,
            Decision(
                a=self._names[0],
                b=self._names[1],
                rival=self._rival or f"{run.manifest.run_id}:{self._names[1]}",
                alpha=race.state.alpha,
                planned_blocks=race.planned,
                decided_at=race.decided_at,
                sentence=self.sentence,
                looks=looks,
                continued=self._continued,
            ),
        )

    def waiting(self) -> str | None:
        """Return which episodes hold up the test at the end of a run; None where none does."""
        left = self._race.waiting
        if not left or self.decided:
            return None
        named = ", ".join(f"{place.suite}/{place.task} #{place.index}" for place in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        return f"the comparison waits for block {self._race.finished + 1}, which lacks {named}{more}"


def deciding(config: RunConfig, items: Sequence[WorkItem], part: PlanPart | None, spec_ref: str) -> Deciding | None:
    """Return the rule of a run; None where it runs its whole plan.

    Args:
        config: What the run was begun with.
        items: Its whole plan.
        part: Which part of a plan it is.
        spec_ref: Its benchmark's ``id@version``.

    Raises:
        ContractError: the rule cannot be followed in this run; says why.
        VlassessError: the other arm cannot be read.
    """
    declared = config.comparison
    if declared is None or not declared.stop_when_decided:
        return None
    labels = list(dict.fromkeys(item.policy for item in items))
    _refuse(config, declared, labels, part)
    blocks = block_order(items, plan_hash(items))
    if declared.against is None:
        race = Race(blocks, {"a": set(blocks), "b": set(blocks)}, {}, declared.alpha)
        return Deciding(race, items, (labels[0], labels[1]), blocks)
    other = _other_arm(declared.against, spec_ref)
    read = {
        Place(trial.suite, trial.task, trial.index, trial.cell): trial.success
        for trial in other.trials
        if trial.scored and trial.repeat == 0
    }
    if not any(place in blocks for place in read):
        raise ContractError(
            f"comparison.against is {declared.against!r}, which has no result for any task and start of this plan; "
            "choose a run of the same tasks"
        )
    name = other.label if other.label != labels[0] else f"{other.label} of {Path(other.source).name}"
    return Deciding(
        Race(blocks, {"a": set(blocks)}, read, declared.alpha), items, (labels[0], name), blocks, other.origin
    )


def refuse_other_rule(begun: RunConfig, wanted: RunConfig) -> None:
    """Refuse to change a stopping rule while it is being followed.

    Raises:
        ResumeRefusedError: the config asks for another one than the run was begun with.
    """
    before, after = begun.comparison, wanted.comparison
    rules = any(one is not None and one.stop_when_decided for one in (before, after))
    if rules and before != after:
        raise ResumeRefusedError(
            "the comparison was fixed when the run was begun, and its stopping rule is false if it is changed now; "
            "leave it as it was, or start a new run"
        )


def _refuse(config: RunConfig, declared: ComparisonConfig, labels: Sequence[str], part: PlanPart | None) -> None:
    arms = len(labels) + (declared.against is not None)
    if arms != 2:
        raise ContractError(
            f"a stopping rule compares two arms, and there are {arms}: give one policy and comparison.against "
            "(--compare-with), or two policies without it"
        )
    if config.repeats != 1:
        raise ContractError(
            f"repeats is {config.repeats}; with a stopping rule it must be 1: repeats of a start are no new evidence"
        )
    if part is not None:
        raise ContractError("a run with a stopping rule takes its blocks in order; leave --shard and --limit out")


def _other_arm(source: str, spec_ref: str) -> Arm:
    found = arms_of([source])
    if len(found) != 1:
        names = ", ".join(arm.label for arm in found)
        raise ContractError(f"comparison.against is {source!r}, which has several policies ({names}); add :LABEL")
    (other,) = found
    if other.benchmark is not None and not other.unpairable and other.benchmark != spec_ref:
        raise ContractError(
            f"comparison.against is a run of {other.benchmark}, this one is of {spec_ref}; choose another"
        )
    if other.rival and any(trial.ended == "missing" for trial in other.trials):
        raise ContractError(
            f"comparison.against is {source!r}, which was stopped early: its last blocks are not whole; finish it"
        )
    return other


def _told(names: tuple[str, str], state: DifferenceState) -> str:
    if state.difference is None:
        return "no pair yet"
    low, high = state.interval
    return (
        f"{names[0]} minus {names[1]} is {100 * state.difference:+.1f} points over {state.pairs} pairs, "
        f"{100 * (1 - state.alpha):g} % confidence sequence {100 * low:+.1f} to {100 * high:+.1f}, "
        f"p = {state.p_value:.2g} at every look"
    )
