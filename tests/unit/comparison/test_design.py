"""What may be asked of a comparison."""

from __future__ import annotations

import pytest

from vlassess.comparison import design_of
from vlassess.comparison.arms import ComparisonRefusedError


@pytest.mark.parametrize("test", ["stratified", "progress"])
def test_a_test_with_two_sides_answers_no_one_sided_question(test: str) -> None:
    with pytest.raises(ComparisonRefusedError, match="has two sides"):
        design_of((), {"test": test, "sides": "greater"})
    assert design_of((), {"test": test}).sides == "two-sided"
