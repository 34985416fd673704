"""The questions of a run's grounding suites, asked of its policies without a robot: ``answers.jsonl``.

What a policy says beside what it grasps tells a policy that does not know from one that does not act on what it knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from vlassess.grounding.instructions import OBJECTS
from vlassess.pipeline.sides import Stage
from vlassess.records.lines import read_lines, strict_line
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.schema.grounding import Asked
from vlassess.schema.items import WorkItem
from vlassess_link.errors import PolicyFault, VlassessError
from vlassess_link.policies.dialects import remote_policy

FILE = "answers.jsonl"
ASKED = ("none", "swapped")
"""Controls whose instruction asks the question that the scores are of."""


def ask_questions(run: Path, items: Sequence[WorkItem], stage: Stage, config: RunConfig, listener: Listener) -> None:
    """Ask every policy that can answer what its episodes ask, and keep what it says; what was said before is kept.

    A policy that cannot be reached is left with fewer answers, and that is said; the run's episodes stand as they are.
    """
    known = said(run)
    for label, spec in stage.policy_specs.items():
        missing = [each for each in _questions(items, label) if each[0].item_id not in known]
        if "answer" not in spec.capabilities or not missing:
            continue
        source = stage.side.source_for(label) if label in stage.side.ready() else {}
        if "url" not in source:
            listener.note(f"policy {label!r} is not asked its questions without a robot: only a served one can be")
            continue
        listener.note(f"asking policy {label!r} {len(missing)} questions without a robot")
        try:
            _ask(run, source, missing, config)
        except VlassessError as error:
            listener.note(f"policy {label!r} did not answer all questions: {error}; resume the run to ask the others")


def said(run: Path) -> dict[str, str]:
    """Return item id -> what the policy said; empty for a run whose policies were not asked."""
    return {str(value["item_id"]): str(value["choice"]) for value in read_lines(run / FILE).values}


def _questions(items: Sequence[WorkItem], label: str) -> Iterator[tuple[WorkItem, Asked]]:
    """Yield what one policy is asked: each start once."""
    for item in items:
        asked = Asked.of(item.episode.private)
        if item.policy == label and item.episode.repeat == 0 and asked is not None and asked.control in ASKED:
            yield item, asked


def _ask(
    run: Path, source: Mapping[str, object], questions: Sequence[tuple[WorkItem, Asked]], config: RunConfig
) -> None:
    deadlines = config.execution.deadlines
    policy = remote_policy(source, deadlines.connect, deadlines.inference)
    whole = read_lines(run / FILE).good_bytes
    with closing(policy), (run / FILE).open("ab") as file:
        file.truncate(whole)  # a line that a kill has torn
        for item, asked in questions:
            names = {OBJECTS.get(name, name): name for name in asked.listed}
            options = dict(zip(names, asked.options, strict=True))
            try:
                choice = policy.answer(asked.question, options)
            except PolicyFault:
                choice = ""
            file.write(strict_line({"item_id": item.item_id, "choice": names.get(choice.strip(), "")}))
            file.flush()
