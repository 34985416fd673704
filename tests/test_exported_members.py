"""The public API is what ``__all__`` lists: no more, no less, in order."""

from __future__ import annotations

from types import ModuleType

import pytest

import vlassess
import vlassess_link

PACKAGES = [vlassess, vlassess_link]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_all_is_sorted_and_names_each_member_once(package: ModuleType) -> None:
    assert list(package.__all__) == sorted(set(package.__all__))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_all_equals_the_public_names(package: ModuleType) -> None:
    public = {
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    looked_up_when_asked_for = set(vars(package).get("_WHERE", {"__version__": ""}))
    assert public | looked_up_when_asked_for == set(package.__all__) | {"TYPE_CHECKING", "Any"} & public


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_public_name_has_a_docstring(package: ModuleType) -> None:
    undocumented = [
        name for name in package.__all__ if callable(getattr(package, name)) and not getattr(package, name).__doc__
    ]
    assert undocumented == []


def test_both_packages_have_one_version() -> None:
    assert vlassess.__version__ == vlassess_link.__version__
