"""General without a file: our own questions on tools, places, household things and everyday physics.

They lie in ``bank.json``: topics of questions with one answer each, such that within a topic every answer is right for
its own question alone. So the answers of a topic are each other's wrong options, all of one kind and all checked.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from vlassess.grounding.questions.pools import Pool
from vlassess.grounding.questions.question import Question


@cache
def bank() -> Pool:
    """Return all questions of the bank."""
    text = resources.files("vlassess.grounding.questions").joinpath("bank.json").read_text(encoding="utf-8")
    topics: dict[str, list[dict[str, object]]] = json.loads(text)
    return Pool("bank", tuple(_question(topic, entry) for topic, entries in topics.items() for entry in entries))


def _question(topic: str, entry: dict[str, object]) -> Question:
    also = entry.get("also", [])
    if not isinstance(also, list):
        raise TypeError(f"the bank's question {entry['q']!r} has also: {also!r}, which must be a list")
    return Question(str(entry["q"]), str(entry["a"]), (), "bank", topic, topic, tuple(map(str, also)))
