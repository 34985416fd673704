"""What every config model, and every summary model, has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True)]
"""A whole number; neither true nor the text "3" is one."""

Number = Annotated[float, Field(strict=True)]
"""A finite number; neither true nor the text "3" is one."""


class Strict(BaseModel):
    """Base of every config model: frozen, no unknown keys, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Frozen(BaseModel):
    """Base of every summary model: frozen, no unknown keys, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
