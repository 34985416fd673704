from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.report.text import duration, label, number, one_line, percent, printable, shortened_middle


@given(st.text(st.characters()))
@settings(deadline=None, max_examples=100)
def test_printable_text_can_be_encoded_and_does_not_act(text: str) -> None:
    found = printable(text)
    assert found.encode().decode() == found
    assert all(character.isprintable() or character in "\t\n" or ord(character) > 159 for character in found)
    assert printable(found) == found


@given(st.text(st.characters()), st.integers(1, 50))
@settings(deadline=None, max_examples=100)
def test_one_line_is_one_and_short(text: str, limit: int) -> None:
    found = one_line(text, limit)
    assert len(found) <= limit
    assert "\n" not in found
    assert "\t" not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain äöü 漢字 👩‍🚀", "plain äöü 漢字 👩‍🚀"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\u202eb", r"a\u202eb"),
        ("\udc80", r"\udc80"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_a_label_keeps_both_ends() -> None:
    assert label("put the red block into the bowl", 11) == "put t… bowl"
    assert label("short\nname", 11) == "short name"
    assert len(label("x" * 99, 12)) == 12


def test_the_middle_is_left_out() -> None:
    found = shortened_middle("a" * 500 + "b" * 500, 100)
    assert found == "a" * 25 + "\n[900 characters left out]\n" + "b" * 75
    assert shortened_middle("short", 100) == "short"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (percent(None), "–"),
        (percent(0.0), "0.0 %"),
        (percent(2 / 3), "66.7 %"),
        (number(None), "–"),
        (number(0.0), "0"),
        (number(12.345), "12.3"),
        (number(1234.5), "1234"),
        (duration(None), "–"),
        (duration(0.1234), "0.123 s"),
        (duration(200), "3 min"),
        (duration(7500), "2 h 05 min"),
    ],
)
def test_numbers_as_people_read_them(found: str, expected: str) -> None:
    assert found == expected
