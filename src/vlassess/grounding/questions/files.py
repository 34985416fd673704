"""Files of others: GSM8K, MMLU, CommonsenseQA. What cannot be asked of a robot is left out, and counted."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlassess.grounding.questions.arithmetic import near
from vlassess.grounding.questions.pools import Pool
from vlassess.grounding.questions.question import Question, QuestionError, number, same

LONGEST_QUESTION = 600
"""Characters; an instruction has to hold the question, its options and the request."""

LONGEST_OPTION = 80
"""Characters."""

EMPTY, LONG, TWICE, ALIKE, REFERS, BROKEN = (
    "empty",
    "too long",
    "asked twice",
    "repeated option",
    "option about options",
    "no answer",
)
_REFERS = re.compile(
    r"\b(all|none|any|both|neither|each|either|two|some) of (the )?(above|these|those|choices|options|them)\b"
    r"|\b(both|neither)\b.*\b[a-d]\b.*\b(and|nor)\b.*\b[a-d]\b"
    r"|^\(?[a-e]\)? (and|or) \(?[a-e]\)?$"
    r"|\b(i{1,3}|iv) (and|or|only)\b|^(i{1,3}|iv)[.,]?$",
    re.IGNORECASE,
)

Row = tuple[str, str, Sequence[str], str]
"""Question, answer, wrong answers, topic."""


def read_gsm8k(path: Path, longest: int = LONGEST_QUESTION, seed: int = 0) -> Pool:
    """Return the word problems of a JSONL file: ``question``, and ``answer`` that ends with ``#### number``.

    Wrong answers are those of a field ``distractors`` (or ``options``, without the right one); without one they are
    numbers near the answer and results of the worked steps (``<<2*3=6>>``).

    Raises:
        QuestionError: the file cannot be read, a line is no JSON object, or nothing is left.
    """
    return gsm8k(_json_lines(path), longest, seed)


def gsm8k(rows: Iterable[Mapping[str, Any]], longest: int = LONGEST_QUESTION, seed: int = 0) -> Pool:
    """Return the word problems of rows as `read_gsm8k` has them, wherever they are from.

    Raises:
        QuestionError: nothing is left.
    """
    dropped: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    found = [row for row in (_gsm8k(each, rng, dropped) for each in rows) if row is not None]
    return _pool("gsm8k", found, dropped, longest)


def read_mmlu(paths: Path | Sequence[Path], longest: int = LONGEST_QUESTION) -> Pool:
    """Return the questions of CSV files, or of all CSV files of a folder.

    Each has a header row, then question, options and the index of the right one, from 0. The topic of a question is
    its file's name, so that only questions of one subject lend each other wrong options.

    Raises:
        QuestionError: a file cannot be read or has another form, or nothing is left.
    """
    files = [paths] if isinstance(paths, Path) else list(paths)
    files = [file for each in files for file in (sorted(each.rglob("*.csv")) if each.is_dir() else [each])]
    if not files:
        raise QuestionError(f"{paths} holds no CSV file; give a file or a folder of MMLU")
    dropped: Counter[str] = Counter()
    rows = [row for file in files for row in _mmlu(file, dropped)]
    return _pool("mmlu", rows, dropped, longest)


def read_commonsenseqa(path: Path, longest: int = LONGEST_QUESTION) -> Pool:
    """Return the questions of a JSONL file of CommonsenseQA, in its own layout or the hub's.

    Raises:
        QuestionError: the file cannot be read, a line is no JSON object, or nothing is left.
    """
    dropped: Counter[str] = Counter()
    rows = [row for row in (_commonsense(each, dropped) for each in _json_lines(path)) if row is not None]
    return _pool("commonsenseqa", rows, dropped, longest)


def _pool(source: str, rows: Iterable[Row], dropped: Counter[str], longest: int) -> Pool:
    found: dict[str, Question] = {}
    for text, answer, wrong, topic in rows:
        reason = _unfit(text, [answer, *wrong], longest)
        if reason is None:
            question = Question(_spaced(text), answer.strip(), tuple(map(str.strip, wrong)), source, topic, form=topic)
            reason = TWICE if question.key in found else None
        if reason is None:
            found[question.key] = question
        else:
            dropped[reason] += 1
    return Pool(source, tuple(found.values()), dict(sorted(dropped.items())))


def _unfit(text: str, options: Sequence[str], longest: int) -> str | None:
    """Return why a row is left out, or None."""
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        (EMPTY, lambda: not text.strip() or not all(option.strip() for option in options)),
        (LONG, lambda: len(_spaced(text)) > longest or max(map(len, options)) > LONGEST_OPTION),
        (ALIKE, lambda: any(same(a, b) for place, a in enumerate(options) for b in options[:place])),
        (REFERS, lambda: any(_REFERS.search(option.strip()) for option in options)),
    )
    return next((reason for reason, holds in checks if holds()), None)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _gsm8k(row: Mapping[str, Any], rng: np.random.Generator, dropped: Counter[str]) -> Row | None:
    solution = row.get("answer")
    text = row.get("question")
    final = solution.rpartition("####")[2].strip() if isinstance(solution, str) and "####" in solution else ""
    value = number(final)
    if not isinstance(text, str) or not isinstance(solution, str) or value is None:
        dropped[BROKEN] += 1
        return None
    prepared = row.get("distractors", row.get("options", ()))
    wrong = [str(option) for option in prepared if not same(str(option), final)] if isinstance(prepared, list) else []
    if not wrong and value.denominator == 1:
        steps = [number(step) for step in re.findall(r"=\s*(-?[\d,.]+)\s*>>", solution)]
        whole = [int(step) for step in reversed(steps) if step is not None and step.denominator == 1]
        wrong = [f"{slip:,}" if "," in final else str(slip) for slip in near(int(value), whole, rng)]
    return text, final.lstrip("$").strip(), wrong, "gsm8k"


def _mmlu(file: Path, dropped: Counter[str]) -> Iterator[Row]:
    topic = re.sub(r"_(test|dev|val)$", "", file.stem)
    try:
        with file.open(newline="", encoding="utf-8") as handle:
            _, *rows = csv.reader(handle)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise QuestionError(f"{file} is not a CSV file with a header row: {error}") from error
    for cells in rows:
        index = cells[-1].strip() if len(cells) >= 4 else ""
        if not index.isdecimal() or int(index) >= len(cells) - 2:
            dropped[BROKEN] += 1
            continue
        text, *options = cells[:-1]
        right = options.pop(int(index))
        yield text, right, options, topic


def _commonsense(row: dict[str, Any], dropped: Counter[str]) -> Row | None:
    question, key = row.get("question"), row.get("answerKey")
    inner = question if isinstance(question, dict) else row
    text = inner.get("stem") if isinstance(question, dict) else question
    choices = inner.get("choices")
    if isinstance(choices, dict):
        labels, texts = choices.get("label", []), choices.get("text", [])
    else:
        entries = [each for each in choices or [] if isinstance(each, dict)]
        labels, texts = [each.get("label") for each in entries], [each.get("text") for each in entries]
    options = dict(zip(labels, texts, strict=False))
    if not isinstance(text, str) or key not in options or not all(isinstance(each, str) for each in texts):
        dropped[BROKEN] += 1
        return None
    right = options.pop(key)
    return text, right, list(options.values()), "commonsense"


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{path} cannot be read as text: {error}") from error
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise QuestionError(f"{path}, line {place} is not JSON ({error}); give a JSONL file") from error
        if not isinstance(value, dict):
            raise QuestionError(f"{path}, line {place} is {type(value).__name__}, not a JSON object; give a JSONL file")
        yield value
