"""The licence check accepts what Apache-2.0 can live with, and the installation has nothing else."""

from __future__ import annotations

import pytest

from tools.licences import compatible, packages


@pytest.mark.parametrize(
    ("licence", "accepted"),
    [
        ("MIT", True),
        ("BSD-3-Clause AND 0BSD AND MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("(MIT OR Apache-2.0) AND PSF-2.0", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-only", False),
        ("MIT with further terms", False),
        ("unknown", False),
    ],
)
def test_every_part_must_be_accepted_and_one_of_each_choice(licence: str, accepted: bool) -> None:
    assert compatible(licence) is accepted


def test_everything_that_an_installation_brings_is_accepted() -> None:
    found = packages()
    assert {"numpy", "msgpack", "websockets", "pydantic", "mujoco"} <= {package.name for package in found}
    assert [package for package in found if not compatible(package.licence)] == []
