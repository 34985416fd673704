from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlassess_link.digest import ID_LENGTH, ArrayDigest, arrays_digest, canonical_json, content_hash, content_id

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_the_canonical_text_is_spelled_out() -> None:
    assert canonical_json({"b": [1, 2.5, None, True], "a": "ö"}) == '{"a":"ö","b":[1,2.5,null,true]}'


def test_hash_and_id_agree_with_hashlib_by_hand() -> None:
    by_hand = hashlib.sha256('{"a":"ö","b":1}'.encode()).hexdigest()
    assert content_hash({"b": 1, "a": "ö"}) == by_hand
    assert content_id({"b": 1, "a": "ö"}) == by_hand[:20]
    assert ID_LENGTH == 20


@given(JSON)
def test_every_json_value_has_one_text_that_reads_back(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_count(value: dict[str, int]) -> None:
    assert content_hash(value) == content_hash(dict(reversed(value.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_what_is_not_strict_json_has_no_hash(value: Any) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        content_hash(value)


def test_what_json_has_no_type_for_has_no_hash() -> None:
    with pytest.raises(TypeError):
        content_hash({"a": object()})


def test_an_array_digest_agrees_with_hashlib_by_hand() -> None:
    digest = ArrayDigest()
    digest.update("state", np.array([[1.0, 2.0]], np.float32))
    digest.update_text("instruction", "go ö")
    by_hand = hashlib.sha256()
    by_hand.update(b"state|<f4|(1, 2)|" + np.array([1.0, 2.0], "<f4").tobytes())
    by_hand.update("instruction|text|4|go ö".encode())
    assert digest.hexdigest() == by_hand.hexdigest()


BASE = {"a": np.array([1.0, 2.0])}


@pytest.mark.parametrize(
    "other",
    [
        {"b": np.array([1.0, 2.0])},
        {"a": np.array([1.0, 2.0], np.float32)},
        {"a": np.array([[1.0, 2.0]])},
        {"a": np.array([1.0, np.nextafter(2.0, 3.0)])},
        {"a": np.array([2.0, 1.0])},
        {"a": np.array([1.0, 2.0]), "b": np.zeros(0)},
        {},
    ],
)
def test_name_dtype_shape_and_every_bit_count(other: dict[str, np.ndarray]) -> None:
    assert arrays_digest(other) != arrays_digest(BASE)


def test_order_of_names_and_layout_in_memory_do_not_count() -> None:
    grid = np.arange(12.0).reshape(3, 4)
    forward = {"a": grid, "b": np.float64(3.0).reshape(())}
    backward = {"b": np.array(3.0), "a": np.asfortranarray(grid)}
    assert arrays_digest(forward) == arrays_digest(backward)
    assert arrays_digest({"a": grid[:, ::2]}) == arrays_digest({"a": grid[:, ::2].copy()})


@pytest.mark.parametrize("shape", [(0,), (0, 3), (), (1,)])
def test_empty_and_scalar_arrays_are_told_apart_by_shape(shape: tuple[int, ...]) -> None:
    others = [(0,), (0, 3), (), (1,)]
    others.remove(shape)
    assert arrays_digest({"a": np.zeros(shape)}) not in {arrays_digest({"a": np.zeros(other)}) for other in others}


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", ">f8", "int64", "bool", "complex128"])
def test_every_number_type_can_be_digested(dtype: str) -> None:
    zeros, ones = np.zeros(3, dtype), np.ones(3, dtype)
    assert arrays_digest({"a": zeros}) != arrays_digest({"a": ones})
