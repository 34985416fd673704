from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess.config.yaml12 import Reading, Unreadable, read_yaml


def read(text: str, **environment: str) -> Any:
    reading = Reading(environment)
    value = read_yaml(text, reading)
    assert reading.problems == []
    return value


def problems_of(text: str, **environment: str) -> list[str]:
    reading = Reading(environment)
    read_yaml(text, reading)
    return reading.problems


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        (".5", 0.5),
        ("-2.", -2.0),
        ("10", 10),
        ("-3", -3),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("2026-01-02", "2026-01-02"),
        ("'1e-4'", "1e-4"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("camera_pose=far", "camera_pose=far"),
        ("[a, 1, 2.5]", ["a", 1, 2.5]),
        ("{a: {b: []}}", {"a": {"b": []}}),
    ],
)
def test_scalars_are_of_the_core_schema(text: str, value: Any) -> None:
    found = read(text)
    assert found == value
    assert type(found) is type(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("abc ${é"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_means_the_same_in_yaml(value: Any) -> None:
    text = json.dumps(value).replace("${", "$${")
    assert read(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_that_python_prints_is_a_number(number: float) -> None:
    assert read(repr(number)) == number


def test_a_plain_reference_is_typed_and_a_quoted_one_is_a_text() -> None:
    assert read("${env:N}", N="3") == 3
    assert read("'${env:N}'", N="3") == "3"
    assert read("a-${env:N}-b", N="3") == "a-3-b"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:GONE:7}", 7),
        ("${env:GONE:}", None),
        ("${env:URL:ws://localhost:8000}", "ws://localhost:8000"),
        ("$${env:GONE}", "${env:GONE}"),
        ("costs 5 $", "costs 5 $"),
    ],
)
def test_references_have_defaults_and_an_escape(text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", ["a is given twice", "line 3"]),
        ("x: {y: 1, y: 2}", ["x.y is given twice", "line 1"]),
        ("a: ${env:GONE}", ["a needs the environment variable GONE", "${env:GONE:default}", "line 1"]),
        ("a: ${ENV:HOME}", ["a has the reference '${ENV:HOME}'", "${env:VAR}"]),
        ("a: .nan", ["a is .nan", "finite"]),
        ("a: 1e999", ["a is 1e999", "finite"]),
        ("1: a", ["1 has a key that is not a text", "quote"]),
        ("[a]: b", ["has a key that is not a text"]),
        ("a: !!python/object:os.system x", ["a has the tag", "remove the tag"]),
        ("a: !!set {b}", ["a has the tag"]),
        ("a: &x [*x]", ["contains itself"]),
        ("a: b: c", ["line 1, column 5", "not YAML"]),
        ("a: [1,\nb: 2", ["line 2", "not YAML"]),
        ("a: 1\n---\nb: 2", ["line 2", "not YAML"]),
        ("a: \x00", ["not YAML"]),
        ('a: "b\\0"', ["a is 'b\\x00'", "no text", "line 1"]),
        ('a: "\\ud800"', ["a is '\\ud800'", "no text"]),
        ('"\\0": 1', ["is a key", "no text"]),
        ("a: " + "9" * 5000, ["finite", "9" * 80 + ";"]),
        ("a: " + "[" * 3000 + "]" * 3000, ["nested too deeply"]),
        (
            "- &a [x, x]\n"
            + "".join(f"- &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)),
            ["100000"],
        ),
    ],
)
def test_what_cannot_be_read_is_told(text: str, words: list[str]) -> None:
    (problem,) = problems_of(text)
    for word in words:
        assert word in problem


def test_every_mistake_of_a_text_is_told() -> None:
    assert len(problems_of("a: ${env:X}\na: 1\nb: .inf\n2: x")) == 4


def test_an_unreadable_value_leaves_its_neighbours() -> None:
    reading = Reading({})
    value = read_yaml("a: ${env:GONE}\nb: 2", reading)
    assert isinstance(value["a"], Unreadable)
    assert value["b"] == 2


@given(st.text(max_size=40))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    reading = Reading({})
    value = read_yaml(text, reading)
    assert bool(reading.problems) or not isinstance(value, Unreadable)
