from __future__ import annotations

from typing import Any

import pytest

from vlassess.config import ConfigError, config_of, override_config

LEAST: dict[str, Any] = {"benchmark": "tabletop-v1", "policy": "random"}


def cells_of(cells: Any) -> list[tuple[str, str, dict[str, str]]]:
    return [(cell.axis, cell.level, cell.within) for cell in config_of({**LEAST, "cells": cells}).cells]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("camera_pose=far", [("camera_pose", "far", {})]),
        (["camera_pose=far", "light = dim"], [("camera_pose", "far", {}), ("light", "dim", {})]),
        (["camera_pose=*"], [("camera_pose", "*", {})]),
        (["control", {}, "light=dim"], [("light", "dim", {})]),
        (["object=mug within background=wood"], [("object", "mug", {"background": "wood"})]),
        (["object=mug within background=wood, light=dim"], [("object", "mug", {"background": "wood", "light": "dim"})]),
        ([{"axis": "a", "level": "b", "within": {"c": "d"}}], [("a", "b", {"c": "d"})]),
        ([], []),
    ],
)
def test_short_and_long_forms_mean_the_same(given: Any, meant: Any) -> None:
    assert cells_of(given) == meant


@pytest.mark.parametrize("text", ["far", "camera_pose=", "=far", "a=b within c", "a=b within c=d, e", "a=b within =d"])
def test_what_is_no_cell_is_told_once(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cells_of([text, "fine=yes"])
    (problem,) = caught.value.problems
    assert repr(text) in problem
    assert "AXIS=LEVEL" in problem


def test_cells_can_be_given_on_the_command_line() -> None:
    config = override_config(config_of(LEAST), ["cells=[camera_pose=far, object=mug within background=wood]"])
    assert [(cell.axis, cell.level, cell.within) for cell in config.cells] == [
        ("camera_pose", "far", {}),
        ("object", "mug", {"background": "wood"}),
    ]
    assert override_config(config, ["audit=arrays"]).audit == "arrays"
