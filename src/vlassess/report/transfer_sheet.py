"""The operator's sheet of a study as a page: every trial in its order, blind codes, and a picture of each start.

The page needs no network and runs no script; printed, a block of trials stays on one sheet where it fits.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from vlassess.report.text import printable

JPEG = b"\xff\xd8"


@dataclass(frozen=True)
class SheetTrial:
    """One trial on the sheet.

    Attributes:
        number: As the file of results names it.
        block: Trials with one number have one start.
        code: Of the policy; its name is nowhere on the page.
        cell: What to set up.
        start: Name of the initial state.
        picture: Of the start, PNG or JPEG; None where there is none.
    """

    number: str
    block: int
    code: str
    cell: str
    start: str
    picture: bytes | None = None


@dataclass(frozen=True)
class Block:
    """Trials of one start."""

    number: int
    start: str
    picture: str | None
    trials: tuple[SheetTrial, ...]


def render_sheet(name: str, lock: str, stages: Sequence[str], trials: Sequence[SheetTrial]) -> str:
    """Return the page's HTML, pictures included.

    Args:
        name: Of the study.
        lock: Digest of what was locked.
        stages: That progress is scored by, in order.
        trials: In the order in which they are to be done.
    """
    environment = Environment(
        loader=PackageLoader("vlassess.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    blocks = [
        _block(number, list(several)) for number, several in itertools.groupby(trials, key=lambda trial: trial.block)
    ]
    template = environment.get_template("transfer_sheet.html.jinja")
    return template.render(name=name, lock=lock, stages=stages, blocks=blocks, count=len(trials))


def _block(number: int, trials: Sequence[SheetTrial]) -> Block:
    picture = trials[0].picture
    source = None if picture is None else f"data:{_kind(picture)};base64,{base64.b64encode(picture).decode()}"
    return Block(number, trials[0].start, source, tuple(trials))


def _kind(picture: bytes) -> str:
    return "image/jpeg" if picture.startswith(JPEG) else "image/png"
