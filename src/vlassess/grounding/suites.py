"""The suites: which questions they ask, in which order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from vlassess.grounding.questions import (
    Pool,
    Question,
    QuestionError,
    Split,
    arithmetic,
    bank,
    hub_gsm8k,
    read_commonsenseqa,
    read_gsm8k,
    read_mmlu,
    word_problems,
    wrong_options,
)
from vlassess.schema.grounding import HUB, GroundingConfig, QuestionFiles
from vlassess_link.digest import content_hash

GENERATED = 500
"""Questions of a generated domain, as many as the paper trains on; later episodes ask them again."""

MOST_CHOICES = 10
LETTERS = "ABCDEFGHIK"
"""Without J, which looks like I."""
COLOURS = ("red", "green", "blue", "yellow")

_SUITE = re.compile(r"(rsb|beyond)-(math|hardmath|general)-(4|10)")


@dataclass(frozen=True)
class Suite:
    """One suite.

    Attributes:
        name: As the benchmark lists it.
        objects: Candidates are everyday objects, else lettered blocks.
        domain: "math", "hardmath" or "general".
        choices: Candidates of an episode.
    """

    name: str
    objects: bool
    domain: str
    choices: int


def suite_of(name: str) -> Suite | None:
    """Return the grounding suite of this name; None where there is none."""
    found = _SUITE.fullmatch(name)
    if found is None:
        return None
    return Suite(name, found[1] == "beyond", found[2], int(found[3]))


@dataclass(frozen=True)
class Course:
    """The questions of a domain in the order in which episodes ask them.

    Attributes:
        questions: All different.
        lenders: Topic -> questions whose answers may be shown as wrong options there.
        unusable: Questions that were passed over, since ten choices cannot be made of them.
    """

    questions: tuple[Question, ...]
    lenders: Mapping[str, Sequence[Question]]
    unusable: int = 0

    def question(self, index: int) -> Question:
        """Return what the episode of this index asks: one after the other, then again from the first."""
        return self.questions[index % len(self.questions)]

    def wrong(self, question: Question, count: int, rng: np.random.Generator) -> list[str]:
        """Return wrong options."""
        return wrong_options(question, count, self.lenders.get(question.topic, ()), rng)


def course(domain: str, config: GroundingConfig, seed: int, needed: int) -> Course:
    """Return the questions of a domain: at least ``needed`` where there are so many.

    Which they are and their order depends on the domain, the half, the files and the seed alone, so that more episodes
    never change what earlier ones ask, and suites of 4 and 10 choices ask the same.

    Raises:
        QuestionError: a file cannot be used, or no question is left.
    """
    rng = np.random.default_rng([seed, int(content_hash([domain, config.split])[:15], 16)])
    if domain == "math":
        made = arithmetic(config.split, GENERATED, rng)
        return _usable(made, made, needed)
    source = config.hardmath if domain == "hardmath" else config.general
    if domain == "hardmath" and source is None:
        made = word_problems(config.split, GENERATED, rng)
        return _usable(made, made, needed)
    pool = bank().half(config.split) if source is None else _pool(domain, source, config)
    ordered = tuple(pool.questions[place] for place in rng.permutation(len(pool.questions)))
    return _usable(ordered, bank().questions if source is None else pool.questions, needed)


def _pool(domain: str, source: str | QuestionFiles, config: GroundingConfig) -> Pool:
    if isinstance(source, str) and not source.startswith(HUB):
        return _read(domain, source, config.split).half(config.split)
    # A data set of the hub has its own halves: one name stands for both.
    files = QuestionFiles(train=source, evaluation=source) if isinstance(source, str) else source
    path = getattr(files, config.split)
    if path is None:
        raise QuestionError(f"grounding.{domain} names no file for {config.split}; add `{config.split}: FILE`")
    pool = _read(domain, path, config.split)
    if config.split == "train" or files.train is None:
        return pool
    trained = {question.key for question in _read(domain, files.train, "train").questions}
    left = tuple(question for question in pool.questions if question.key not in trained)
    return Pool(pool.name, left, {**pool.dropped, "in the training file": len(pool.questions) - len(left)})


def _read(domain: str, path: str, split: Split) -> Pool:
    """Return the questions of a file, or of one split of a data set of the hub."""
    if path.startswith(HUB):
        if domain != "hardmath":
            raise QuestionError(
                f"grounding.{domain} is {path!r}; only GSM8K, which is for hardmath, is read from the hub: give a file"
            )
        return hub_gsm8k(path.removeprefix(HUB), split)
    if domain == "hardmath":
        return read_gsm8k(Path(path))
    return read_commonsenseqa(Path(path)) if path.endswith((".jsonl", ".json")) else read_mmlu(Path(path))


def _usable(ordered: Sequence[Question], lenders: Sequence[Question], needed: int) -> Course:
    by_topic: dict[str, list[Question]] = defaultdict(list)
    for question in lenders:
        by_topic[question.topic].append(question)
    passed: list[Question] = []
    kept = tuple(islice(_serving(ordered, by_topic, passed), needed))
    if not kept:
        raise QuestionError(f"none of {len(ordered)} questions has {MOST_CHOICES} choices; give a larger file")
    return Course(kept, by_topic, len(passed))


def _serving(
    ordered: Sequence[Question], lenders: Mapping[str, Sequence[Question]], passed: list[Question]
) -> Iterator[Question]:
    """Yield the questions that ten choices can be made of, whatever the suite: suites of 4 and 10 ask the same."""
    rng = np.random.default_rng(0)
    for question in ordered:
        try:
            wrong_options(question, MOST_CHOICES - 1, lenders.get(question.topic, ()), rng)
        except QuestionError:
            passed.append(question)
        else:
            yield question
