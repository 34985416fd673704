"""Makes texts from records showable: a benchmark, a policy or a user may have put anything into them.

Escaping for HTML is the template's; this is about what no output can carry (lone surrogates), what would
act instead of being shown (terminal escapes, direction overrides), and what is too long.
"""

from __future__ import annotations

import re

from vlassess.stats import Interval

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_ENDS = re.compile("[\t\n]+")


def printable(text: str) -> str:
    r"""Return ``text`` with every character that acts or cannot be encoded written out (``\x1b``).

    Tabs and line ends are kept.
    """
    return _ACTING.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return `printable` text on one line, cut to at most ``limit`` characters."""
    return shortened(_LINE_ENDS.sub(" ", printable(text[: 2 * limit])), limit)


def shortened(text: str, limit: int) -> str:
    """Return ``text`` if it has at most ``limit`` characters, else its beginning with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def label(text: str, limit: int) -> str:
    """Return `printable` text on one line, at most ``limit`` characters, its middle left out: ends tell names apart."""
    whole = one_line(text, 10 * limit)
    return whole if len(whole) <= limit else f"{whole[: limit - limit // 2 - 1]}…{whole[-(limit // 2) :]}"


def shortened_middle(text: str, limit: int) -> str:
    """Return ``text``, or its beginning and its end, where a traceback says most, around what was left out."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 4], text[-(limit - limit // 4) :]
    return f"{head}\n[{len(text) - limit} characters left out]\n{tail}"


def percent(value: float | None) -> str:
    """Return a rate as people read it ("84.0 %"), a dash where it is undefined."""
    return "–" if value is None else f"{100 * value:.1f} %"


def interval(found: Interval | None) -> str:
    """Return an interval of rates as people read it ("70.9 – 92.8 %"), a dash where it is undefined."""
    return "–" if found is None else f"{100 * found.low:.1f} – {100 * found.high:.1f} %"


def number(value: float | None) -> str:
    """Return a number with the digits that are worth reading, a dash where it is undefined."""
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """Return a time as people read it ("2 h 05 min"), a dash where it is undefined."""
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
