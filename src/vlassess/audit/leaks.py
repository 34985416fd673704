"""Whether a text that a policy was given names what it must not know: its variant, its seeds, its ids.

Seeds and ids have no business in any text. The name of an axis or a level is another matter, since levels may be called
like things ("mug") that an instruction may well name: see `leaked`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from vlassess.audit.members import Member, Pair
from vlassess.schema.cells import PlannedCell
from vlassess_link.specs import Axis

SHORTEST_NUMBER = 6
"""Digits from which on a seed's appearance in a text is no chance."""
SHORTEST_NAME = 3
ANYTHING, NO_SPACE = r"[\W_]*", r"(?:[^\w\s]|_)?"
"""What may stand between the parts of a name: wherever plain words count, and elsewhere."""
SHORT_ID = 8
"""Digits of an id that give it away, as a plan shows it."""


def leaked(pair: Pair, cell: PlannedCell, axes: Iterable[Axis]) -> tuple[str, ...]:
    """Return what the texts of a cell's episode, or its control's, give away, in a few words each.

    A variant's name counts where the cell's texts have it and the control's have not. A name that is a plain word
    counts only for axes that change no more than the text, or not even that: where an axis brings other objects, their
    names belong into the instruction. Other spellings count too: ``cameraPose`` and ``camera-pose`` are
    `camera_pose`, and where plain words count, ``camera pose`` is.
    """
    named = {axis.name: axis for axis in axes}
    cell_texts, control_texts = _texts(pair.cell), _texts(pair.control)
    found = [*_private(pair.cell, cell_texts), *_private(pair.control, control_texts)]
    for text, what, gap in _names(cell, named):
        if _has(cell_texts, text, gap) and not _has(control_texts, text, gap):
            found.append(f"{what} {text!r}")
    return tuple(dict.fromkeys(found))


def _texts(member: Member) -> list[str]:
    return [*member.delivered.start.values(), *member.delivered.instructions]


def _private(member: Member, texts: list[str]) -> Iterator[str]:
    episode = member.episode
    ids = {"its episode id": episode.episode_id, "its pair key": episode.pair_key, "its item id": member.item_id}
    for what, text in ids.items():
        if any(re.search(rf"(?<![^\W_]){re.escape(text[:SHORT_ID])}", one) for one in texts if text[:SHORT_ID] in one):
            yield what
    for what, number in {"its seed": episode.seed, "its policy seed": episode.policy_seed}.items():
        spelled = [text for text in (str(number), f"{number:x}", f"{number:#x}") if len(text) >= SHORTEST_NUMBER]
        if any(_has(texts, text, NO_SPACE) for text in spelled):
            yield what


def _names(cell: PlannedCell, axes: dict[str, Axis]) -> Iterator[tuple[str, str, str]]:
    """Yield each name of the variant, what it is, and what may stand between its parts."""
    for axis, level in cell.perturbation.items():
        touched = axes[axis].may_change((), level)
        words_count = touched == {"instruction"} or "instruction" not in touched
        gap = ANYTHING if words_count else NO_SPACE
        for text, what in ((f"{axis}={level}", "its cell"), (axis, "its axis"), (level, "its level")):
            if words_count or _is_identifier(text):
                yield text, what, gap


def _is_identifier(text: str) -> bool:
    return len(text) >= SHORTEST_NAME and not text.isalpha()


def _has(texts: Iterable[str], name: str, gap: str) -> bool:
    # Looked for as it is first: nearly every text has nothing of the kind, and there are many.
    near = [text for text in texts if _bare(name) in _bare(text)]
    return bool(near) and any(_whole(name, gap).search(text) for text in near)


@lru_cache(maxsize=4096)
def _bare(text: str) -> str:
    """Return letters and digits alone."""
    return re.sub(r"[\W_]+", "", text).lower()


def _whole(name: str, gap: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.split(r"[\W_]+", name) if part]
    return re.compile(rf"(?<![^\W_]){gap.join(parts) or re.escape(name)}(?![^\W_])", re.IGNORECASE)
