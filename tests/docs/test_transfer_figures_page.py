"""The page on the figures of transfer studies: its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from vlassess.schema.findings import RetentionVerdict, Unidentified

PAGE = (Path(__file__).parents[2] / "docs" / "transfer-figures.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
def test_the_code_runs(code: str) -> None:
    assert "assert" in code
    exec(compile(code, "transfer-figures.md", "exec"), {})


def test_every_verdict_and_reason_is_explained() -> None:
    explained = set(re.findall(r"^\| ([^|]+) \| ", PAGE, re.M))
    assert set(get_args(Unidentified)) <= explained
    assert set(get_args(RetentionVerdict)) - {"nothing to compare"} <= explained
