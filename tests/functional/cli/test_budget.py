from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.cli.conftest import Invoke

GRID = ("--cells", "5", "--policies", "2", "--seconds-per-trial", "90")


def plans(invoke: Invoke, *arguments: str) -> list[dict[str, Any]]:
    said = invoke("budget", *arguments, "--json")
    assert said.code == 0
    return list(json.loads(said.out)["plans"])


def test_the_rule_of_thumb_stands_beside_what_power_asks(invoke: Invoke) -> None:
    found = {plan["power"]: plan["n"] for plan in plans(invoke, "--delta", "0.10", "--power", "0.8")}
    assert found == {0.5: 192, 0.8: 393, 0.9: 526}
    said = invoke("budget", "--delta", "0.10")
    assert "missed every second time" in " ".join(said.out.split())


def test_pairs(invoke: Invoke) -> None:
    found = [plan["n"] for plan in plans(invoke, "--paired") if plan["design"].startswith("paired")]
    assert found == [277, 200, 122]
    (one,) = [plan for plan in plans(invoke, "--paired", "--correlation", "0.5") if "paired, " in plan["design"]]
    assert one["n"] == 200


def test_hours_of_one_arm_and_of_a_grid(invoke: Invoke) -> None:
    arm = plans(invoke, "--seconds-per-trial", "90")[0]
    grid = plans(invoke, *GRID)[0]
    assert arm["hours"] == pytest.approx(4.8)
    assert grid["trials"] == 10 * arm["trials"] == 1920
    assert grid["hours"] == pytest.approx(48.0)
    assert plans(invoke)[0]["hours"] is None


@pytest.mark.parametrize(("n", "half", "pilot"), [(20, 0.219, True), (200, 0.069, False)])
def test_what_a_number_of_episodes_shows(invoke: Invoke, n: int, half: float, pilot: bool) -> None:
    (size,) = json.loads(invoke("budget", "--n", str(n), "--json").out)["sizes"]
    assert size["half_width"] == pytest.approx(half, abs=5e-4)
    assert size["pilot"] is pilot
    shown = invoke("budget", "--n", str(n)).out
    assert ("pilot" in shown) is pilot
    assert f"With {n} episodes a policy, this run could not see a difference below" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delta", "10"), "delta is 10.0; it must be between 0 and 1"),
        (("--correlation", "0.5"), "a correlation needs --paired"),
        (("--paired", "--correlation", "0.99", "--rate", "0.9"), "correlation is 0.99"),
        (("--power", "1"), "power is 1.0"),
        (("--delta", "0.3", "--rate", "0.95"), "both rates must lie in"),
    ],
)
def test_what_cannot_be_is_refused(invoke: Invoke, arguments: tuple[str, ...], message: str) -> None:
    said = invoke("budget", *arguments)
    assert said.code == 2
    assert message in " ".join(said.err.replace("│", " ").split())
