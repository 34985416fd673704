"""What a run of a grounding suite asks, what an episode keeps of it, and what the run came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vlassess.schema.strict import Strict

Control = Literal["none", "blank", "swapped", "direct", "contradictory"]
Halves = Literal["train", "evaluation"]
Templates = Literal["seen", "unseen"]

ANSWERS_SCHEMA = 1
"""Version of a line of ``answers.jsonl``."""
HUB = "hub:"
"""What begins a source of questions that is no file but a data set of the Hugging Face Hub."""


class QuestionFiles(Strict):
    """Files of one domain, one for each half; a question that is in both is left out of the evaluation."""

    train: str | None = None
    """Questions for demonstrations."""
    evaluation: str | None = None
    """Questions for evaluation."""


class GroundingConfig(Strict):
    """Which questions are asked, and how."""

    control: Control = "none"
    """`blank`: no question, only the options; `swapped`: another episode's question and options; `direct`: the
    candidate is named; `contradictory`: the question is asked and a wrong candidate is named."""
    split: Halves = "evaluation"
    """Which half of the questions; the halves are disjoint by their normalised text."""
    templates: Templates = "seen"
    """Wordings that demonstrations use, or others."""
    hardmath: str | QuestionFiles | None = None
    """GSM8K, a JSONL file; one path for both halves, or `train` and `evaluation`; `hub:` is the Hugging Face Hub's,
    with its halves (`hub:NAME` for another of its layout). None: problems of our own."""
    general: str | QuestionFiles | None = None
    """MMLU (a CSV file or a folder of them) or CommonsenseQA (a JSONL file). None: questions of our own."""


@dataclass(frozen=True)
class Asked:
    """What an episode of a grounding suite keeps for its scores: `Episode.private`.

    Attributes:
        target: The right candidate of what was asked.
        listed: All candidates in the order in which the instruction lists them.
        options: What each of them stands for, in the same order.
        question: What is asked; with `blank` and `direct` what is not asked.
        answer: The right option.
        control: One of `Control`.
        named: The candidate that the instruction names, with `direct` and `contradictory`; else empty.
        form: Of the question, for tables.
        source: Where the question is from.
        original: With `swapped`, the right candidate of the episode's own question and options; else empty.
    """

    target: str
    listed: tuple[str, ...]
    options: tuple[str, ...]
    question: str
    answer: str
    control: Control = "none"
    named: str = ""
    form: str = ""
    source: str = ""
    original: str = ""

    def kept(self) -> dict[str, Any]:
        """Return it as JSON, for `Episode.private`."""
        return {**vars(self), "listed": list(self.listed), "options": list(self.options)}

    @classmethod
    def of(cls, private: Mapping[str, Any]) -> Asked | None:
        """Return what an episode keeps; None where it is of no grounding suite."""
        if "target" not in private or "listed" not in private:
            return None
        fields = {name: private[name] for name in cls.__dataclass_fields__ if name in private}
        return cls(**{**fields, "listed": tuple(private["listed"]), "options": tuple(private.get("options", ()))})


@dataclass(frozen=True)
class Answer:
    """A line of ``answers.jsonl``: what a policy answered to an episode's question without a robot.

    Attributes:
        item_id: The work item whose question it was.
        choice: The candidate of the option that was named; empty: none of the options.
        schema: `ANSWERS_SCHEMA` of the writer.
    """

    item_id: str
    choice: str
    schema: int = ANSWERS_SCHEMA
