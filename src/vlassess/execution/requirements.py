"""Pinned requirements: the same file gives everybody the same environment, today and in two years."""

from __future__ import annotations

import re
from pathlib import Path

from vlassess.schema.interpreter import WORKER_NEEDS
from vlassess_link.errors import PluginError

PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*(==\s*[^\s;*,]+|@\s*\S+)(\s*;.*)?(\s+--hash=\S+)*$"
)


def read_pinned(path: Path) -> tuple[str, ...]:
    """Return the requirements of a file, one a line, without comments.

    Raises:
        PluginError: the file cannot be read, a line is not pinned, or it lacks what every worker needs; names it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"the requirements {path} cannot be read: {error}") from None
    pinned = {}
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        requirement = re.sub(r"(^|\s)#.*", "", line).strip()
        if not requirement:
            continue
        match = PINNED.match(requirement)
        if match is None:
            raise PluginError(
                f"{path}:{number}: {requirement!r} is not pinned; write NAME==VERSION, so that everybody measures "
                "with the same packages"
            )
        pinned[normalised(match["name"])] = requirement
    missing = [name for name in WORKER_NEEDS if name not in pinned]
    if missing:
        raise PluginError(f"{path} lacks {' and '.join(missing)}, which every worker needs; add it with its version")
    return tuple(pinned[name] for name in sorted(pinned))


def normalised(name: str) -> str:
    """Return a package's name as it is compared: lower case, one dash between parts."""
    return re.sub(r"[-_.]+", "-", name).lower()
