"""The numpy prototype that the solvers are compared with, where its folder is beside the checkout."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[4] / "shared" / "reference" / "h2v_prototype.py"

needs_prototype = pytest.mark.skipif(not PATH.exists(), reason=f"{PATH} is not there")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("h2v_prototype", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
