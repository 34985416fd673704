"""How mistakes are told: all of them at once, each in one sentence, with the nearest valid name.

Here, below the stages, because config, plan and catalog tell mistakes alike and never import each other.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from vlassess_link.errors import VlassessError


class ProblemsError(VlassessError):
    """Something that people wrote has mistakes; `problems` holds one sentence for each.

    Attributes:
        subject: What has the mistakes (a file, a config's name).
        problems: One sentence a mistake, at least one.
    """

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        self.subject = subject
        self.problems = tuple(problems)
        count = "1 mistake" if len(self.problems) == 1 else f"{len(self.problems)} mistakes"
        super().__init__("\n".join([f"{subject}: {count}", *(f"  - {problem}" for problem in self.problems)]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from both arguments, so that the error can cross a process boundary."""
        return type(self), (self.subject, self.problems)


def nearest(name: str, options: Iterable[str]) -> str:
    """Return a clause that leads to the valid name: the nearest one, else all of them.

    Returns:
        ``did you mean 'x'?``, or ``valid: a, b, c``, or ``there is none`` for no options.
    """
    valid = list(dict.fromkeys(options))
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"valid: {', '.join(valid)}" if valid else "there is none"


def shown(value: Any) -> str:
    """Return ``value`` as a sentence can hold it: one line, at most 80 characters, constants as YAML has them."""
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
