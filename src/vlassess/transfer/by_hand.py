"""Trials by hand: planned in blocks of one start, in a random order, under blind codes; entered as a file later."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vlassess.transfer.design import Design, control_of
from vlassess_link.digest import content_hash

T = TypeVar("T")
COLUMNS = (
    "trial",
    "policy",
    "cell",
    "start",
    "stages",
    "success",
    "interventions",
    "seconds",
    "note",
    "unfair",
)
"""Of the operator's sheet, and of the file that comes back."""
PLANNED = COLUMNS[:4]
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Of blind codes: none that is read for a digit."""


@dataclass(frozen=True)
class HandTrial:
    """One trial that somebody is to do.

    Attributes:
        item_id: Number of the trial ("0001"): its place in the order.
        policy: Blind code.
        cell: Name of the cell, or of a control.
        start: Name of the initial state.
        block: Trials of one start, from 1; a control and its cells are in one block.
        schema: Of the line.
    """

    item_id: str
    policy: str
    cell: str
    start: str
    block: int
    schema: int = 1


@dataclass(frozen=True)
class Key:
    """Which code stands for which policy.

    Attributes:
        secret: Drawn when the study was locked; decides codes and order, which nobody could guess otherwise.
        codes: Policy's label -> code.
    """

    secret: str
    codes: Mapping[str, str]

    @property
    def digest(self) -> str:
        """What the lock holds of it, so that it cannot be changed afterwards."""
        return content_hash([self.secret, dict(self.codes)])

    def label(self, code: str) -> str | None:
        """Return the policy that a code stands for, None for no code."""
        return {given: label for label, given in self.codes.items()}.get(code)


def make_key(labels: Iterable[str], secret: str, before: Key | None = None) -> Key:
    """Return codes for the policies: two letters each, different, without a hint of the name or the order.

    Args:
        labels: The policies.
        secret: A random text; not used where there is a key.
        before: The key so far, whose codes are kept.
    """
    known = dict(before.codes) if before is not None else {}
    secret = before.secret if before is not None else secret
    for label in labels:
        attempt = 0
        while label not in known:
            number = int(content_hash([secret, "code", label, attempt])[:12], 16)
            code = LETTERS[number % len(LETTERS)] + LETTERS[number // len(LETTERS) % len(LETTERS)]
            if code not in known.values() and not label.upper().startswith(code):
                known[label] = code
            attempt += 1
    return Key(secret, known)


def start_names(design: Design) -> tuple[str, ...]:
    """Return the name of each initial state of the trials by hand: ``TASK-1``, or ``start-1`` where no task is known.

    Starts go round the tasks, so that as many as one likes are spread over them.
    """
    real = design.config.real
    if real is None:
        return ()
    if isinstance(real.starts, tuple):
        return real.starts
    count = real.starts or design.starts
    tasks = [task.replace("/", "-") for task in design.tasks] or ["start"]
    return tuple(f"{tasks[i % len(tasks)]}-{i // len(tasks) + 1}" for i in range(count))


def cells_by_hand(design: Design) -> tuple[str, ...]:
    """Return the names of the cells that are tried by hand, their controls first."""
    real = design.config.real
    chosen = [cell for cell in design.cells if real is None or real.cells is None or cell.name in real.cells]
    return tuple(dict.fromkeys([*map(control_of, chosen), *(cell.name for cell in chosen)]))


def plan_by_hand(design: Design, key: Key, before: Sequence[HandTrial] = ()) -> tuple[HandTrial, ...]:
    """Return every trial by hand, in the order in which it is to be done.

    A block is one start: each cell and control with each policy, in a random order. Trials that were planned before
    keep number and place; new ones follow in blocks of their own.

    Args:
        design: The study; without a `real` section there is none.
        key: Codes, and the secret that decides the order.
        before: What was planned before an amendment.
    """
    real = design.config.real
    if real is None:
        return ()
    labels = real.policies or tuple(design.config.policies)
    cells = cells_by_hand(design)
    known = {(trial.policy, trial.cell, trial.start): trial for trial in before}
    wanted = [
        (key.codes[label], cell, start)
        for start in _shuffled(start_names(design), key.secret, "blocks")
        for label, cell in _shuffled([(label, cell) for label in labels for cell in cells], key.secret, start)
    ]
    kept = [trial for trial in before if (trial.policy, trial.cell, trial.start) in set(wanted)]
    new = [place for place in wanted if place not in known]
    first = max((int(trial.item_id) for trial in before), default=0) + 1
    block = max((trial.block for trial in before), default=0)
    blocks = {start: block + number for number, start in enumerate(dict.fromkeys(place[2] for place in new), 1)}
    return (
        *kept,
        *(
            HandTrial(f"{first + number:04d}", code, cell, start, blocks[start])
            for number, (code, cell, start) in enumerate(new)
        ),
    )


def sheet_csv(trials: Sequence[HandTrial]) -> str:
    """Return the operator's sheet: what to do is filled in, what came of it is not."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in trials:
        writer.writerow([trial.item_id, trial.policy, trial.cell, trial.start, *[""] * (len(COLUMNS) - len(PLANNED))])
    return out.getvalue()


def _shuffled(values: Sequence[T], secret: str, about: str) -> list[T]:
    return sorted(values, key=lambda value: content_hash([secret, about, value]))
