"""Whether a text that a policy was given names what it must not know: its variant, its seeds, its ids.

Seeds and ids have no business in any text. The name of an axis or a level is another matter, since levels may be called
like things ("mug") that an instruction may well name: see `leaked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vlassess.audit.members import Member, Pair
from vlassess.schema.cells import PlannedCell
from vlassess_link.specs import Axis

SHORTEST_NUMBER = 6
"""Digits from which on a seed's appearance in a text is no chance."""
SHORTEST_NAME = 3


def leaked(pair: Pair, cell: PlannedCell, axes: Iterable[Axis]) -> tuple[str, ...]:
    """Return what the texts of a cell's episode, or its control's, give away, in a few words each.

    A variant's name counts where the cell's texts have it and the control's have not. A name that is a plain word
    counts only for axes that change no more than the text, or not even that: where an axis brings other objects, their
    names belong into the instruction.
    """
    named = {axis.name: axis for axis in axes}
    cell_texts, control_texts = _texts(pair.cell), _texts(pair.control)
    found = [*_private(pair.cell, cell_texts), *_private(pair.control, control_texts)]
    for text, what in _names(cell, named):
        if _has(cell_texts, text) and not _has(control_texts, text):
            found.append(f"{what} {text!r}")
    return tuple(dict.fromkeys(found))


def _texts(member: Member) -> list[str]:
    return [*member.delivered.start.values(), *member.delivered.instructions]


def _private(member: Member, texts: list[str]) -> Iterator[str]:
    episode = member.episode
    ids = {"its episode id": episode.episode_id, "its pair key": episode.pair_key, "its item id": member.item_id}
    numbers = {"its seed": str(episode.seed), "its policy seed": str(episode.policy_seed)}
    long_enough = {what: text for what, text in numbers.items() if len(text) >= SHORTEST_NUMBER}
    for what, text in {**ids, **long_enough}.items():
        if _has(texts, text):
            yield what


def _names(cell: PlannedCell, axes: dict[str, Axis]) -> Iterator[tuple[str, str]]:
    for axis, level in cell.perturbation.items():
        touched = axes[axis].may_change((), level)
        words_count = touched == {"instruction"} or "instruction" not in touched
        for text, what in ((f"{axis}={level}", "its cell"), (axis, "its axis"), (level, "its level")):
            if words_count or _is_identifier(text):
                yield text, what


def _is_identifier(text: str) -> bool:
    return len(text) >= SHORTEST_NAME and not text.isalpha()


def _has(texts: Iterable[str], name: str) -> bool:
    # Looked for as it is first: nearly every text has nothing of the kind, and there are many.
    near = [text for text in texts if name.lower() in text.lower()]
    if not near:
        return False
    whole = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)
    return any(whole.search(text) for text in near)
