"""Every violation that can be planted is found and named; what keeps its word is not accused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.factors import BREAKS, Sighted
from tests.link.episodes import FunctionPolicy, walk
from tests.unit.audit.runs import Change, Planned, cell, result_of, summary_from
from vlassess.audit import FEW_STARTS
from vlassess_link.data import EpisodeRecord
from vlassess_link.policies.model import InProcessPolicy
from vlassess_link.spaces import Layout

GOOD = (
    ("light", "dim"),
    ("light", "dark"),
    ("camera_pose", "near"),
    ("camera_pose", "far_2"),
    ("language", "paraphrase"),
    ("object", "size"),
    ("object", "mug"),
    ("mass", "heavy"),
    ("start", "far"),
)


def test_a_benchmark_that_keeps_its_word_is_not_accused() -> None:
    found = summary_from(Planned([cell(*pair) for pair in GOOD])).policies[0].factors
    assert [(one.axis, one.level) for one in found] == list(GOOD)
    assert {one.name: one.audit.verdict for one in found} == {f"{axis}={level}": "ok" for axis, level in GOOD}
    assert {one.name: one.audit.reasons for one in found} == {f"{axis}={level}": () for axis, level in GOOD}
    assert all(one.audit.pairs == 6 for one in found)


PLANTED = {
    "axis_in_prompt": ("camera_pose", "near", ["leak", "its axis 'camera_pose' in 6 of 6 pairs"]),
    "level_in_prompt": ("language", "paraphrase", ["leak", "its level 'paraphrase' in 6 of 6 pairs"]),
    "seed_in_prompt": ("light", "dim", ["leak", "its seed in 6 of 6 pairs"]),
    "id_in_prompt": ("light", "dim", ["leak", "its episode id in 6 of 6 pairs"]),
    "not_in_observation": (
        "object",
        "mug",
        ["instruction not delivered", "but the observation had the control's in 6"],
    ),
    "not_at_start": ("object", "mug", ["instruction not delivered", "but the episode's start had the control's in 6"]),
    "moves_too": (
        "light",
        "dim",
        ["second factor: the delivered state 'x', which light does not touch", "6 of 6 pairs"],
    ),
    "other_camera_too": ("camera_pose", "near", ["second factor: the image of camera 'front'", "6 of 6 pairs"]),
    "other_text_too": ("light", "dim", ["second factor: the instruction, which light does not touch"]),
    "hidden_state_too": ("light", "dim", ["second factor: the simulator's initial 'hidden'"]),
    "no_op": ("light", "dim", ["no-op: nothing that light may change (camera:front, camera:side)", "any of 6 pairs"]),
    "noise": ("camera_pose", "near", ["second factor: the image of camera 'front'"]),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_a_planted_violation_is_named(broken: str) -> None:
    axis, level, words = PLANTED[broken]
    found = result_of(axis, level, broken)
    assert found.audit.verdict == "violated"
    assert found.verdict == "invalid"
    assert found.adjusted_p is None
    assert all(word in " ".join(found.audit.reasons) for word in words), found.audit.reasons


@pytest.mark.parametrize(("axis", "level"), [("camera_pose", "far_2"), ("object", "mug"), ("light", "dim")])
def test_levels_in_prompts_are_leaks_unless_they_name_what_the_axis_brings(axis: str, level: str) -> None:
    found = result_of(axis, level, "level_in_prompt")
    leaks = [reason for reason in found.audit.reasons if reason.startswith("leak")]
    assert bool(leaks) == (level != "mug")
    assert found.audit.verdict == ("ok" if level == "mug" else "violated")


def test_noise_is_told_from_a_second_factor_where_starts_are_repeated() -> None:
    found = result_of("camera_pose", "near", "noise", config={"repeats": 2})
    assert "not repeatable" in " ".join(found.audit.reasons)
    assert not {one.name: one.repeatable for one in found.audit.components}["camera:front"]
    still = result_of("camera_pose", "near", "other_camera_too", config={"repeats": 2})
    assert "not repeatable" not in " ".join(still.audit.reasons)


def test_a_template_that_was_drawn_equal_is_no_violation_by_itself() -> None:
    found = result_of("language", "paraphrase")
    assert 0 < found.audit.changed < found.audit.pairs == 6
    assert f"the factor shows in {found.audit.changed} of 6 pairs" in found.audit.notes[0]


@pytest.mark.parametrize(("episodes", "verdict"), [(FEW_STARTS - 1, "not witnessed"), (FEW_STARTS, "violated")])
def test_texts_that_never_differ_are_a_no_op_from_enough_starts_on(episodes: int, verdict: str) -> None:
    found = result_of("language", "paraphrase", same_templates=True, config={"episodes": episodes})
    assert found.audit.verdict == verdict
    assert found.audit.changed == 0
    words = "no-op" if verdict == "violated" else f"{episodes} different starts are too few"
    assert words in found.audit.reasons[0]


def test_repeats_are_no_further_starts() -> None:
    found = result_of("language", "paraphrase", same_templates=True, config={"episodes": 2, "repeats": 3})
    assert (found.audit.pairs, found.audit.starts, found.audit.verdict) == (6, 2, "not witnessed")


@pytest.mark.parametrize(
    ("cameras", "axis", "level", "verdict"),
    [
        ((), "light", "dim", "not witnessed"),
        ((), "camera_pose", "near", "not witnessed"),
        ((), "object", "mug", "not witnessed"),
        ((), "language", "paraphrase", "ok"),
        (("front",), "camera_pose", "near", "not witnessed"),
        (("side",), "camera_pose", "near", "ok"),
        (("front",), "light", "dim", "ok"),
    ],
)
def test_a_policy_that_does_not_look_cannot_witness(
    cameras: tuple[str, ...], axis: str, level: str, verdict: str
) -> None:
    found = result_of(axis, level, policy=InProcessPolicy(Sighted(cameras)))
    assert found.audit.verdict == verdict
    assert found.verdict != "invalid"
    if verdict == "not witnessed":
        assert f"the policy looks at none of {'camera:side' if cameras else 'camera:'}" in found.audit.reasons[0]


def test_a_blind_policy_still_finds_a_second_factor() -> None:
    found = result_of("light", "dim", "hidden_state_too", policy=InProcessPolicy(Sighted(())))
    assert found.audit.verdict == "violated"


def test_what_only_the_simulator_knows_is_judged_by_its_measured_state() -> None:
    found = result_of("mass", "heavy", policy=InProcessPolicy(Sighted((), reads=False)))
    assert (found.audit.verdict, found.audit.changed) == ("ok", 6)
    assert result_of("mass", "heavy", "no_op").audit.verdict == "violated"


def test_a_policy_that_receives_nothing_of_the_axis_says_nothing() -> None:
    found = result_of("start", "far", policy=InProcessPolicy(Sighted((), reads=False)))
    assert found.audit.verdict == "not witnessed"
    assert found.audit.notes == ("the simulator's own state differs in 6 of 6 pairs",)


def test_pictures_of_two_machines_are_not_compared() -> None:
    def elsewhere(record: EpisodeRecord) -> EpisodeRecord:
        return dataclasses.replace(record, host="other" if record.perturbation else "one")

    found = result_of("light", "dim", change=elsewhere)
    assert found.audit.verdict == "not witnessed"
    assert "different machines" in found.audit.reasons[0]
    assert result_of("camera_pose", "near", "other_camera_too", change=elsewhere).audit.verdict == "not witnessed"
    assert result_of("light", "dim", "moves_too", change=elsewhere).audit.verdict == "violated"
    assert result_of("language", "paraphrase", change=elsewhere).audit.verdict == "ok"


def test_old_records_are_not_audited() -> None:
    found = result_of("light", "dim", change=lambda record: dataclasses.replace(record, delivered=None, schema=1))
    assert found.audit.verdict == "not audited"
    assert found.audit.pairs == 0
    assert found.verdict == "worse" or found.verdict == "no difference found"


def test_a_control_that_names_its_seed_makes_its_cells_invalid() -> None:
    def leaking(record: EpisodeRecord) -> EpisodeRecord:
        if record.perturbation or record.delivered is None:
            return record
        texts = (f"{record.delivered.instructions[0]} {record.seed}",)
        return dataclasses.replace(record, delivered=dataclasses.replace(record.delivered, instructions=texts))

    assert "its seed" in " ".join(result_of("language", "paraphrase", change=leaking).audit.reasons)


def test_later_texts_are_searched_too() -> None:
    def later(record: EpisodeRecord) -> EpisodeRecord:
        assert record.delivered is not None
        texts = (*record.delivered.instructions, f"hurry {record.pair_key}")
        return dataclasses.replace(record, delivered=dataclasses.replace(record.delivered, instructions=texts))

    found = result_of("light", "dim", change=later)
    assert found.audit.reasons == ("leak: a text that the policy was given has its pair key in 6 of 6 pairs",)


def test_a_policy_that_is_given_no_text_is_not_given_the_changed_one() -> None:
    class Deaf(FunctionPolicy):
        hears_start = False

        def reaching_model(self, obs: Any) -> Any:
            return dataclasses.replace(obs, instruction="")

    found = result_of("object", "mug", policy=Deaf(walk(), state=Layout(())))
    assert found.audit.verdict == "violated"
    assert "instruction not delivered" in found.audit.reasons[0]


def test_a_cell_within_a_scene_is_compared_with_the_control_of_that_scene() -> None:
    found = result_of("camera_pose", "near", within={"light": "dim"})
    assert (found.name, found.control) == ("camera_pose=near within light=dim", "light=dim")
    assert found.audit.verdict == "ok"
    assert {one.name for one in found.audit.components if one.changed} == {"camera:side"}


def said_later(text: str) -> Change:
    """What a cell's episodes were told after their first observation."""

    def change(record: EpisodeRecord) -> EpisodeRecord:
        if not record.perturbation or record.delivered is None:
            return record
        texts = (*record.delivered.instructions, text)
        return dataclasses.replace(record, delivered=dataclasses.replace(record.delivered, instructions=texts))

    return change


def test_an_instruction_that_is_the_controls_again_from_the_second_observation_on_is_not_delivered() -> None:
    found = result_of("object", "mug", change=said_later("go to 4"))
    assert found.audit.verdict == "violated"
    assert "a later one had the control's in 6 of 6 pairs" in found.audit.reasons[0]
    assert result_of("object", "mug", change=said_later("go to 4 with the mug, slowly")).audit.verdict == "ok"


@pytest.mark.parametrize(
    ("axis", "level", "text", "leaks"),
    [
        ("camera_pose", "near", "cameraPose", True),
        ("camera_pose", "near", "camera pose near", True),
        ("camera_pose", "far_2", "far-2", True),
        ("language", "paraphrase", "Language: Paraphrase", True),
        ("light", "dim", "go to the camera", False),
        ("object", "mug", "object:mug", True),
        ("object", "mug", "the object, a mug", False),
        ("object", "mug", "an object and a mug", False),
    ],
)
def test_other_spellings_of_a_variant_are_leaks(axis: str, level: str, text: str, leaks: bool) -> None:
    reasons = " ".join(result_of(axis, level, change=said_later(text)).audit.reasons)
    assert ("leak" in reasons) == leaks, reasons


@pytest.mark.parametrize("spelled", ["#{0.episode_id:.8}", "#{0.pair_key:.12}", "x {0.item_id:.8}", "0x{0.seed:x}"])
def test_shortened_ids_and_seeds_in_hex_are_leaks(spelled: str) -> None:
    def change(record: EpisodeRecord) -> EpisodeRecord:
        return said_later(spelled.format(record))(record)

    assert "leak" in " ".join(result_of("light", "dim", change=change).audit.reasons)


def test_a_factor_that_never_reaches_one_of_the_tasks_is_a_no_op_there() -> None:
    """A rate over a task that was perturbed and one that was not is none of the cell."""
    controls: dict[str, EpisodeRecord] = {}

    def change(record: EpisodeRecord) -> EpisodeRecord:
        if not record.perturbation:
            controls[record.pair_key] = record
        elif record.task == "to-4":
            return dataclasses.replace(record, delivered=controls[record.pair_key].delivered)
        return record

    def audit(episodes: int, seen_on: str = "") -> Any:
        def elsewhere(record: EpisodeRecord) -> EpisodeRecord:
            found = change(record)
            away = seen_on and record.perturbation and record.task == "to-4"
            return dataclasses.replace(found, host="another") if away else found

        planned = Planned((cell("light", "dim"),), change=elsewhere, config={"episodes": episodes}, tasks=2)
        (found,) = summary_from(planned).policies[0].factors
        return found.audit

    assert audit(6).verdict == "violated"
    assert "no-op in walk/to-4: nothing that light may change" in audit(6).reasons[0]
    few = audit(5)
    assert (few.verdict, few.changed) == ("ok", 5)
    assert "in 5 of 10 pairs, and never in walk/to-4 (5 pairs)" in few.notes[0]
    assert audit(6, seen_on="another").verdict == "ok"
