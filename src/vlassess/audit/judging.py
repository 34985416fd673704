"""The verdict on one cell for one policy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vlassess.audit.components import (
    INSTRUCTION,
    SIMULATOR,
    START,
    differing,
    parts_of,
    spoken,
    touched_name,
    unrepeatable,
)
from vlassess.audit.leaks import leaked
from vlassess.audit.members import Member, Pair, pairs_of
from vlassess.schema.cells import CellKey, PlannedCell
from vlassess.schema.summary import CellAudit, ComponentChange
from vlassess_link.specs import CAMERA, BenchmarkSpec

FEW_STARTS = 5
"""Different starts below which a text that never differed may have been drawn equal by chance: of two templates, all of
so many are equal once in 32 runs."""

Verdict = Literal["ok", "violated", "not witnessed", "not audited"]


@dataclass(frozen=True)
class Circumstances:
    """What an audit knows beside the cell.

    Attributes:
        spec: The benchmark's, with the axes and what each may change.
        members: The policy's episodes with what was delivered, by their cells.
    """

    spec: BenchmarkSpec
    members: Mapping[CellKey, Sequence[Member]]


def audit_cell(cell: PlannedCell, around: Circumstances) -> CellAudit:
    """Return whether the cell's factor, and nothing else, reached the policy.

    Definition: over the pairs of a cell's and its control's episode with one start and repeat, (1) something that the
    axis may change differs in at least one, and in one of each task that has enough of them, (2) nothing else differs
    in any, (3) no text names the variant, a seed or an id, (4) an instruction that the benchmark changed is the one
    that the policy was given and goes on to be, and (5) a policy that does not receive what the axis changes says
    nothing about it.
    """
    pairs = pairs_of(cell, around.members)
    if not pairs:
        text = "no episode of the cell and of its control with one start says what was delivered"
        return CellAudit(verdict="not audited", pairs=0, starts=0, changed=0, reasons=(text,), notes=(), components=())
    found = _Findings(cell, around, pairs)
    violations = list(found.violations())
    gaps = [] if violations else list(found.gaps())
    return CellAudit(
        verdict="violated" if violations else "not witnessed" if gaps else "ok",
        pairs=len(pairs),
        starts=found.starts,
        changed=found.changed,
        reasons=tuple(violations or gaps),
        notes=tuple(found.notes()),
        components=found.components(),
    )


class _Findings:
    """What the pairs of one cell say."""

    def __init__(self, cell: PlannedCell, around: Circumstances, pairs: Sequence[Pair]) -> None:
        (axis,) = (axis for axis in around.spec.axes if axis.name == cell.axis)
        self._cell = cell
        self._axis = axis.name
        self._axes = around.spec.axes
        self._pairs = pairs
        self._allowed = axis.may_change([camera.name for camera in around.spec.cameras], cell.level)
        self._declared = axis.may_change((), cell.level)
        self._deliverable = self._declared & _deliverables(around.spec)
        self._differing = [differing(pair) for pair in pairs]
        self._unrepeatable = unrepeatable([*around.members[cell.key], *around.members[cell.control_key]])
        self._compared = Counter(name for found in self._differing for name in found)
        self._changed = Counter(name for found in self._differing for name, differs in found.items() if differs)
        self.starts = len({pair.cell.episode.pair_key for pair in pairs})

    @property
    def changed(self) -> int:
        """In how many pairs something differs that the axis may change, as far as it can reach the policy."""
        return sum(self._shows)

    @property
    def _shows(self) -> list[bool]:
        """Of each pair, whether the factor shows in it."""
        evidence = self._evidence
        return [any(found.get(name, False) for name in evidence) for found in self._differing]

    def violations(self) -> Iterator[str]:
        """Yield why the cell is invalid, the gravest first."""
        yield from self._leaks()
        yield from self._second_factors()
        yield from self._undelivered()
        if self.changed == 0 and self._evidence and not self._may_be_chance:
            yield (
                f"no-op: nothing that {self._axis} may change ({_listed(self._declared)}) differs from the "
                f"control's in any of {_pairs(len(self._pairs))}"
            )
        elif self._text_stands_still and self.starts >= FEW_STARTS:
            yield (
                f"no-op: {self._axis} may change the instruction, and it is the control's in all "
                f"{_pairs(len(self._pairs))}"
            )
        elif self.changed:
            yield from self._idle_in_tasks()

    def gaps(self) -> Iterator[str]:
        """Yield why nothing can be said of a cell that is not violated."""
        cameras = sorted(name for name in self._deliverable if name.startswith(CAMERA))
        if cameras and not any(name in self._evidence for name in cameras):
            unlike = not any(pair.one_host for pair in self._pairs)
            why = "cell and control ran on different machines, whose pictures cannot be compared"
            yield why if unlike else f"the policy looks at none of {_listed(cameras)}, which the axis changes"
        elif not self._evidence:
            yield f"the policy receives nothing of what the axis changes ({_listed(self._deliverable)})"
        if self._text_stands_still and self.starts < FEW_STARTS:
            yield (
                f"the instruction is the control's in all {_pairs(len(self._pairs))}; {self.starts} different starts "
                f"are too few to tell from templates that were drawn equal (at least {FEW_STARTS})"
            )

    def notes(self) -> Iterator[str]:
        """Yield what else a reader should know."""
        if self._evidence and 0 < self.changed < len(self._pairs):
            idle = [f"{task} ({_pairs(len(pairs))})" for task, pairs in self._idle.items()]
            never = f", and never in {', '.join(idle)}" if idle else ""
            yield (
                f"the factor shows in {self.changed} of {_pairs(len(self._pairs))}{never}; in the others the policy "
                "was given the control's"
            )
        measured = [name for name in self._changed if name.startswith(SIMULATOR) and self._may(name)]
        if not self._evidence and measured:
            most = max(self._changed[name] for name in measured)
            yield f"the simulator's own state differs in {most} of {_pairs(len(self._pairs))}"
        elsewhere = sum(not pair.one_host for pair in self._pairs)
        if elsewhere:
            yield f"pictures of {_pairs(elsewhere)} were not compared: they ran on different machines"

    def components(self) -> tuple[ComponentChange, ...]:
        """Return everything that differs at least once, and everything that the axis may change."""
        names = [name for name in self._compared if self._changed[name] or self._may(name)]
        return tuple(
            ComponentChange(
                name=name,
                touched=self._may(name),
                pairs=self._compared[name],
                changed=self._changed[name],
                repeatable=name not in self._unrepeatable,
            )
            for name in sorted(names, key=lambda name: (self._may(name), name))
        )

    @property
    def _evidence(self) -> frozenset[str]:
        """The components that show the factor: of what reaches the policy, else of the simulator where nothing can."""
        if not self._deliverable:
            measured = frozenset(name for name in self._compared if touched_name(name) in self._declared)
            seen = frozenset(name for name in self._compared if name.startswith(CAMERA) and self._changed[name])
            return measured | seen
        return frozenset(
            name
            for name in self._compared
            if not name.startswith((SIMULATOR, START)) and touched_name(name) in self._deliverable
        )

    @property
    def _may_be_chance(self) -> bool:
        """Whether nothing but the text may change, in so few starts that all may have been drawn equal."""
        return self._evidence == {INSTRUCTION} and self.starts < FEW_STARTS

    @property
    def _text_stands_still(self) -> bool:
        return INSTRUCTION in self._deliverable and self._changed[INSTRUCTION] == 0

    @property
    def _idle(self) -> dict[str, list[Pair]]:
        """The tasks in none of whose pairs the factor shows, with the pairs in which it could."""
        seen: dict[str, list[Pair]] = defaultdict(list)
        shown = set()
        pictures = any(name.startswith(CAMERA) for name in self._evidence)
        for pair, shows in zip(self._pairs, self._shows, strict=True):
            if pair.one_host or not pictures:
                seen[_task(pair)].append(pair)
            if shows:
                shown.add(_task(pair))
        return {task: pairs for task, pairs in seen.items() if task not in shown}

    def _idle_in_tasks(self) -> Iterator[str]:
        """Yield the tasks that it never reaches, over so many starts that this is no chance in any of all tasks."""
        tasks = len({_task(pair) for pair in self._pairs})
        few = FEW_STARTS + (tasks - 1).bit_length()
        for task, pairs in self._idle.items():
            if len({pair.cell.episode.pair_key for pair in pairs}) >= few:
                yield (
                    f"no-op in {task}: nothing that {self._axis} may change ({_listed(self._declared)}) differs from "
                    f"the control's in any of its {_pairs(len(pairs))}"
                )

    def _may(self, component: str) -> bool:
        return not component.startswith(START) and touched_name(component) in self._allowed

    def _leaks(self) -> Iterator[str]:
        found = Counter(what for pair in self._pairs for what in leaked(pair, self._cell, self._axes))
        for what, count in found.items():
            yield f"leak: a text that the policy was given has {what} in {count} of {_pairs(len(self._pairs))}"

    def _second_factors(self) -> Iterator[str]:
        for name in sorted(self._changed):
            if self._may(name):
                continue
            again = "; repeats of one start differ in it too, so it is not repeatable" * (name in self._unrepeatable)
            yield (
                f"second factor: {spoken(name)}, which {self._axis} does not touch, differs from the control's in "
                f"{self._changed[name]} of {_pairs(self._compared[name])}{again}"
            )

    def _undelivered(self) -> Iterator[str]:
        """Yield where a pair's texts differ at one place and are the control's at another that the policy reads."""
        meant = [pair for pair in self._pairs if len(set(_texts_differ(pair).values())) == 2 or _meant(pair)]
        places = Counter(place for pair in meant for place, differs in _texts_differ(pair).items() if not differs)
        for place, count in places.items():
            yield (
                f"instruction not delivered: it is another than the control's in {len(meant)} of "
                f"{_pairs(len(self._pairs))}, but {place} had the control's in {count}"
            )
        forgotten = sum(_forgotten(pair) for pair in self._pairs)
        if forgotten:
            yield (
                f"instruction not delivered: the first observation had another than the control's, but a later one had "
                f"the control's in {forgotten} of {_pairs(len(self._pairs))}"
            )


def _texts_differ(pair: Pair) -> dict[str, bool]:
    """Return, for each place where the policy is given the instruction, whether it differs from the control's."""
    cell, control = (parts_of(member)[INSTRUCTION] for member in pair)
    found = {"the observation": bool(cell[1] != control[1])}
    if cell[0] is not None:
        found["the episode's start"] = bool(cell[0] != control[0])
    return found


def _meant(pair: Pair) -> bool:
    """Return whether the benchmark's reset gave another instruction than the control's."""
    return pair.cell.record.instruction != pair.control.record.instruction


def _forgotten(pair: Pair) -> bool:
    """Return whether the policy was given the control's first instruction later in the cell's episode."""
    cell, control = (member.delivered.instructions for member in pair)
    return bool(cell and control) and cell[0] != control[0] in cell[1:]


def _task(pair: Pair) -> str:
    return f"{pair.cell.episode.suite}/{pair.cell.episode.task}"


def _deliverables(spec: BenchmarkSpec) -> frozenset[str]:
    """Return what can reach a policy at all, as touched sets name it."""
    state = () if spec.state is None else tuple(component.name for component in spec.state.components)
    cameras = (f"{CAMERA}{camera.name}" for camera in spec.cameras)
    return frozenset((*cameras, *state, *spec.extras, INSTRUCTION))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"
