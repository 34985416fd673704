"""The questions of a run's grounding suites, asked of its policies without a robot: ``answers.jsonl``.

What a policy says beside what it grasps tells a policy that does not know from one that does not act on what it knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from vlassess.execution import LocalAnswers
from vlassess.grounding.instructions import OBJECTS
from vlassess.pipeline.sides import Stage
from vlassess.records import RecordLog, RunDirectory, RunDirectoryError
from vlassess.records.lines import read_lines, strict_line, write_atomically
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.grounding import ANSWERS_SCHEMA, Answer, Asked
from vlassess.schema.items import WorkItem
from vlassess_link.errors import ContractError, PolicyFault, VlassessError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.policies.dialects import remote_policy

FILE = "answers.jsonl"
ASKED = ("none", "swapped")
"""Controls whose instruction asks the question that the scores are of."""


class Answering(Protocol):
    """A policy as far as it is asked questions."""

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """See `Policy.answer`."""

    def close(self) -> None:
        """Release what it holds."""


class Said(Protocol):
    """Where answers are kept; keeping happens within its context."""

    def known(self) -> Mapping[str, str]:
        """Return item id -> what was said."""

    def keep(self, item_id: str, choice: str) -> None:
        """Keep what was said."""

    def __enter__(self) -> Said:
        """Begin to keep."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""


class SaidOnDisk(AbstractContextManager["SaidOnDisk"]):
    """Answers in a run directory; each is on disk before the next question is asked."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._log: RecordLog[Answer] | None = None

    def known(self) -> Mapping[str, str]:
        """Return item id -> what was said."""
        return said(self._run)

    def keep(self, item_id: str, choice: str) -> None:
        """Append a line.

        Raises:
            StorageFullError: the disk is full; what was said before is safe.
        """
        assert self._log is not None
        self._log.append([Answer(item_id, choice)])

    def __enter__(self) -> SaidOnDisk:
        """Open the file, without a line that a kill has torn."""
        self._log = RecordLog(self._run / FILE, RunDirectory.RESUME.format(path=self._run))
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.close()


class SaidInMemory(AbstractContextManager["SaidInMemory"]):
    """Answers of a run that has no directory."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}

    def known(self) -> Mapping[str, str]:
        """Return item id -> what was said."""
        return self.answers

    def keep(self, item_id: str, choice: str) -> None:
        """Keep it."""
        self.answers[item_id] = choice

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""


def ask_questions(
    kept: Said, items: Sequence[WorkItem], stage: Stage, config: RunConfig, listener: Listener, logs: Path
) -> None:
    """Ask every policy that can answer what its episodes ask, and keep what it says; what was said before is kept.

    A policy that cannot be reached is left with fewer answers, and that is said; the run's episodes stand as they are.

    Args:
        kept: Where answers are kept.
        items: The plan.
        stage: The policies.
        config: How they are run.
        listener: Told what goes on.
        logs: Folder of what a worker that is asked prints.
    """
    known = kept.known()
    for label, spec in stage.policy_specs.items():
        missing = [each for each in _questions(items, label) if each[0].item_id not in known]
        if "answer" not in spec.capabilities or not missing:
            continue
        if label not in stage.side.ready():
            listener.note(f"policy {label!r} is not asked its questions without a robot: its server has ended")
            continue
        listener.note(f"asking policy {label!r} {len(missing)} questions without a robot")
        try:
            with closing(_opened(stage, label, config, logs)) as policy, kept:
                _ask(policy, kept, missing)
        except VlassessError as error:
            listener.note(f"policy {label!r} did not answer all questions: {error}; resume the run to ask the others")


def unasked(run: RunDirectory, items: Sequence[WorkItem]) -> list[str]:
    """Return the labels of the policies that can answer and have not answered all that the run asks."""
    known = said(run.path)
    able = [label for label, spec in run.manifest.policy_specs.items() if "answer" in spec.get("capabilities", ())]
    return [label for label in able if any(item.item_id not in known for item, _ in _questions(items, label))]


def said(run: Path) -> dict[str, str]:
    """Return item id -> what the policy said; empty for a run whose policies were not asked.

    Raises:
        RunDirectoryError: a line was written by something newer, or is no answer.
    """
    answers = [_answer(run, value) for value in read_lines(run / FILE).values]
    return {answer.item_id: answer.choice for answer in answers}


def _answer(run: Path, value: Any) -> Answer:
    version = value.get("schema", ANSWERS_SCHEMA) if isinstance(value, dict) else None
    if isinstance(version, int) and version > ANSWERS_SCHEMA:
        raise RunDirectoryError(
            f"{run / FILE} has schema {version}; this vlassess reads up to {ANSWERS_SCHEMA}: use a newer one"
        )
    try:
        return from_json(Answer, value)
    except ContractError as error:
        raise RunDirectoryError(f"{run / FILE} has a line that is no answer: {error}; restore the file") from None


def join_answers(runs: Sequence[Path], items: Sequence[WorkItem], output: Path) -> list[str]:
    """Write what was said in several runs into one, in the plan's order, and return what is odd about it.

    Where a policy said different things to one question, which runs of one that draws can do, the first run's counts.
    """
    found = [said(run) for run in runs]
    lines, differing = [], 0
    for item in items:
        choices = [each[item.item_id] for each in found if item.item_id in each]
        differing += len(set(choices)) > 1
        if choices:
            lines.append(strict_line(to_json(Answer(item.item_id, choices[0]))))
    if lines:
        write_atomically(output / FILE, b"".join(lines))
    return (
        [f"{differing} questions were answered differently in two runs; the first run's answers count"]
        if differing
        else []
    )


def _questions(items: Sequence[WorkItem], label: str) -> Iterator[tuple[WorkItem, Asked]]:
    """Yield what one policy is asked: each start once."""
    for item in items:
        asked = Asked.of(item.episode.private)
        if item.policy == label and item.episode.repeat == 0 and asked is not None and asked.control in ASKED:
            yield item, asked


def _opened(stage: Stage, label: str, config: RunConfig, logs: Path) -> Answering:
    """Return what asks a policy: over the wire, or in a worker of its own where workers hold the policy."""
    source, deadlines = stage.side.source_for(label), config.execution.deadlines
    if "url" in source:
        return remote_policy(source, deadlines.connect, deadlines.inference)
    return LocalAnswers(stage.launch, source, deadlines.model_dump(), logs / "asking.log")


def _ask(policy: Answering, kept: Said, questions: Sequence[tuple[WorkItem, Asked]]) -> None:
    for item, asked in questions:
        names = {OBJECTS.get(name, name): name for name in asked.listed}
        options = dict(zip(names, asked.options, strict=True))
        try:
            choice = policy.answer(asked.question, options)
        except PolicyFault:
            choice = ""
        kept.keep(item.item_id, names.get(choice.strip(), ""))
