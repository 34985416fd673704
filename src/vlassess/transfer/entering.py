"""Reads the file that comes back from the robot, and compares it with what was planned; drops nothing."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vlassess.schema.problems import ProblemsError, nearest, shown
from vlassess.transfer.by_hand import COLUMNS, HandTrial

YES = ("1", "yes", "y", "true", "x")
NO = ("0", "no", "n", "false", "")
MOST_DIGITS = 3
SHOWN = 5


class TrialsError(ProblemsError):
    """A file of trials cannot be read: `problems` holds one sentence for each mistake."""


@dataclass(frozen=True)
class HandRecord:
    """What came of one trial by hand.

    Attributes:
        item_id: The trial's number.
        policy: Blind code, as entered.
        cell: As entered.
        start: As entered.
        stages: Stages that were reached, in the study's order.
        progress: Share of the stages that were reached; 1 where it succeeded and nobody wrote stages down.
        success: Whether it succeeded.
        interventions: How often somebody helped; None where nobody counted.
        seconds: How long it took; None where nobody looked.
        note: Free text.
        unfair: The operator calls it unfair. It stays in.
        row: Line of the file, from 1.
        source: Digest of the file.
        entered: When the file was read: UTC, ISO 8601.
        schema: Of the line.
    """

    item_id: str
    policy: str
    cell: str
    start: str
    stages: tuple[str, ...]
    progress: float | None
    success: bool
    interventions: int | None
    seconds: float | None
    note: str
    unfair: bool
    row: int
    source: str
    entered: str
    schema: int = 1

    @property
    def content(self) -> tuple[object, ...]:
        """What was entered, whichever file it is from."""
        return (
            *(self.item_id, self.policy, self.cell, self.start, self.stages, self.success),
            *(self.interventions, self.seconds, self.note, self.unfair),
        )


@dataclass(frozen=True)
class Deviation:
    """One way in which what was done is not what was locked.

    Attributes:
        kind: "missing", "repeated", "order", "blinding", "not as planned", "unknown", "flagged".
        trials: Numbers of the trials concerned.
        sentence: For people.
    """

    kind: str
    trials: tuple[str, ...]
    sentence: str


def read_trials(text: str, stages: Sequence[str], source: str, entered: str) -> list[HandRecord]:
    """Return what a CSV file holds, in its order; rows of a sheet that nobody has filled in are left out.

    Args:
        text: The file.
        stages: The study's stages, in order.
        source: Digest of the file.
        entered: The time.

    Raises:
        TrialsError: names every mistake; nothing is entered then.
    """
    rows = _rows(text)
    header = [name.strip().lower() for name in rows[0][1]] if rows else []
    problems = [
        f"the column {name!r} is missing; the first line must be {','.join(COLUMNS)}"
        for name in (*COLUMNS[:4], "success")
        if name not in header
    ]
    problems += [
        f"the column {name!r} is not known; {nearest(name, COLUMNS)}" for name in header if name not in COLUMNS
    ]
    problems += [
        f"the column {name!r} is there twice; keep one of them" for name, times in Counter(header).items() if times > 1
    ]
    found = []
    for line, row in rows[1:] if not problems else ():
        if len(row) > len(header):
            problems.append(
                f"line {line} has {len(row)} values for {len(header)} columns; quote a note that has commas"
            )
            continue
        told = {name: value.strip() for name, value in zip(header, row, strict=False)}
        if not any(told.get(name) for name in COLUMNS[4:]):
            continue
        record = _record(told, stages, (line, source, entered), problems)
        if record is not None:
            found.append(record)
    if problems:
        raise TrialsError("the file of trials", problems)
    return found


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV text, each with the line that it ends on."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=None))
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise TrialsError("the file of trials", [f"line {reader.line_num} is not CSV: {error}"]) from None


def deviations(
    plan: Sequence[HandTrial], records: Sequence[HandRecord], labels: Sequence[str], opened: str | None
) -> tuple[Deviation, ...]:
    """Return every way in which what was done is not what was locked.

    Args:
        plan: What was locked.
        records: What was entered, in that order.
        labels: The policies' own names, which nobody at the robot should know.
        opened: When the codes were opened: UTC, ISO 8601; None: they were not.
    """
    planned = {trial.item_id: trial for trial in plan}
    return tuple(
        found
        for found in (
            _missing(planned, records),
            _repeated(records),
            _unknown(planned, records),
            _otherwise(planned, records),
            _out_of_order(plan, records),
            _unblinded(records, labels, opened),
            _flagged(records),
        )
        if found is not None
    )


def first_of_each(records: Sequence[HandRecord]) -> Iterator[HandRecord]:
    """Yield the first result of each trial, which is the one that counts; repetitions stay in the file."""
    seen = set()
    for record in records:
        if record.item_id not in seen:
            seen.add(record.item_id)
            yield record


def _record(
    told: Mapping[str, str], stages: Sequence[str], origin: tuple[int, str, str], problems: list[str]
) -> HandRecord | None:
    line, source, entered = origin
    known = len(problems)
    success = _yes(told.get("success", ""), "success", line, problems, empty=False)
    unfair = _yes(told.get("unfair", ""), "unfair", line, problems)
    interventions = _number(told.get("interventions", ""), "interventions", line, problems)
    if interventions is not None and interventions != int(interventions):
        problems.append(f"line {line}: interventions is {interventions:g}; it must be a whole number")
    reached = _stages(told.get("stages", ""), stages, line, problems)
    seconds = _number(told.get("seconds", ""), "seconds", line, problems)
    if not told.get("trial"):
        problems.append(f"line {line}: trial is empty; write the number that the sheet gives it")
    if len(problems) > known:
        return None
    progress = None if reached is None else len(reached) / len(stages)
    return HandRecord(
        item_id=told["trial"].zfill(4),
        policy=told.get("policy", ""),
        cell=told.get("cell", ""),
        start=told.get("start", ""),
        stages=reached or (),
        progress=1.0 if progress is None and success else progress,
        success=bool(success),
        interventions=None if interventions is None else int(interventions),
        seconds=seconds,
        note=told.get("note", ""),
        unfair=bool(unfair),
        row=line,
        source=source,
        entered=entered,
    )


def _yes(text: str, name: str, line: int, problems: list[str], empty: bool = True) -> bool | None:
    lower = text.lower()
    if lower in YES or (lower in NO and (text or empty)):
        return lower in YES
    problems.append(f"line {line}: {name} is {shown(text)}; it must be yes or no")
    return None


def _number(text: str, name: str, line: int, problems: list[str]) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        problems.append(f"line {line}: {name} is {shown(text)}; it must be a number, at least 0, or empty")
        return None
    return value


def _stages(text: str, stages: Sequence[str], line: int, problems: list[str]) -> tuple[str, ...] | None:
    """Return the stages that were reached, from their names joined with `+` or their number; None where it is empty."""
    if not text:
        return None
    if text.isdecimal() and len(text) <= MOST_DIGITS and int(text) <= len(stages):
        return tuple(stages[: int(text)])
    named = [name.strip() for name in text.replace(";", "+").split("+")]
    if any(name not in stages for name in named):
        problems.append(
            f"line {line}: stages is {shown(text)}; write those that were reached, as {'+'.join(stages[:2])}, or how "
            f"many of {', '.join(stages)}"
        )
        return None
    return tuple(name for name in stages if name in named)


def _missing(planned: Mapping[str, HandTrial], records: Sequence[HandRecord]) -> Deviation | None:
    done = {record.item_id for record in records}
    left = tuple(number for number in planned if number not in done)
    if not left:
        return None
    return Deviation("missing", left, f"no result yet of {_count(left)}, of {len(planned)} planned")


def _repeated(records: Sequence[HandRecord]) -> Deviation | None:
    times = Counter(record.item_id for record in records)
    found = tuple(number for number, count in times.items() if count > 1)
    if not found:
        return None
    return Deviation(
        "repeated",
        found,
        f"several results of {_count(found)}: the first one counts, the others are kept",
    )


def _unknown(planned: Mapping[str, HandTrial], records: Sequence[HandRecord]) -> Deviation | None:
    found = tuple(dict.fromkeys(record.item_id for record in records if record.item_id not in planned))
    if not found:
        return None
    return Deviation("unknown", found, f"results of {_count(found)} that nobody planned: kept, in no rate")


def _otherwise(planned: Mapping[str, HandTrial], records: Sequence[HandRecord]) -> Deviation | None:
    wrong = []
    for record in records:
        trial = planned.get(record.item_id)
        if trial is not None and as_planned(record, trial) is False:
            wrong.append(record.item_id)
    if not wrong:
        return None
    return Deviation(
        "not as planned",
        tuple(wrong),
        f"another policy, cell or start than planned in {_count(wrong)}: kept, in no rate",
    )


def as_planned(record: HandRecord, trial: HandTrial) -> bool:
    """Return whether a result is of the policy, cell and start that were planned under its number."""
    return (record.policy, record.cell, record.start) == (trial.policy, trial.cell, trial.start)


def _out_of_order(plan: Sequence[HandTrial], records: Sequence[HandRecord]) -> Deviation | None:
    place = {trial.item_id: number for number, trial in enumerate(plan)}
    done = [record.item_id for record in first_of_each(records) if record.item_id in place]
    late, furthest = [], -1
    for number in done:
        if place[number] < furthest:
            late.append(number)
        furthest = max(furthest, place[number])
    if not late:
        return None
    return Deviation(
        "order",
        tuple(late),
        f"{_count(late)} came after one that the order has later: a drift during the session is no longer shared by "
        "what is compared",
    )


def _unblinded(records: Sequence[HandRecord], labels: Sequence[str], opened: str | None) -> Deviation | None:
    named = tuple(
        record.item_id
        for record in records
        if any(re.search(rf"(?i)(?<!\w){re.escape(label)}(?!\w)", f"{record.policy} {record.note}") for label in labels)
    )
    late = tuple(record.item_id for record in records if opened is not None and record.entered > opened)
    told = []
    if named:
        told.append(f"a policy is named in {_count(named)}: the operator knew which one was running")
    if late:
        told.append(f"entered after the codes had been opened: {_count(late)}")
    return Deviation("blinding", tuple(dict.fromkeys((*named, *late))), "; ".join(told)) if told else None


def _flagged(records: Sequence[HandRecord]) -> Deviation | None:
    found = tuple(dict.fromkeys(record.item_id for record in records if record.unfair))
    if not found:
        return None
    return Deviation("flagged", found, f"called unfair: {_count(found)}; results are given with and without")


def _count(names: Sequence[str]) -> str:
    return f"{len(names)} trial{'s' * (len(names) != 1)} ({_some(names)})"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
