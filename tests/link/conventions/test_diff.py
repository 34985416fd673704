"""Every planted mismatch is named; what no mistake explains is not explained away."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.link.conventions.planted import SIDE, STATE, Arm, Small, scene, traced
from vlassess_link.conventions import rotations
from vlassess_link.conventions.diff import diff
from vlassess_link.conventions.images import converted, resized
from vlassess_link.conventions.traces import Moment, Trace, arrays_of, load, save
from vlassess_link.errors import ContractError
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import CameraSpec, ImageConvention


class Plain(Small):
    """Does not normalise its state."""

    def normalised(self, values: np.ndarray) -> np.ndarray:
        return values


@pytest.fixture(scope="module")
def right() -> Trace:
    return traced(Small())


PLANTED = {
    "absolute for delta": "actions[0:3] (position) of B are absolute where A's are delta: their steps are the other's "
    "numbers times 0.05",
    "antipodal flip": "model_state[3:6] of B equals A's after antipodal normalisation",
    "missing centre crop": "model_image of B lacks the centre crop of 0.9 that A's has (resized back by bilinear)",
    "missing state field": "model_state of B lacks A's model_state[0:3]",
    "BGR": "model_image of B is A's in BGR for RGB",
    "wxyz for xyzw": "model_state[3:6] of B is A's with the quaternion read as wxyz for xyzw",
    "euler for axis-angle": "model_state[3:6] of B is A's as Euler angles (xyz) for axis-angle",
    "degrees": "model_state[3:6] of B is A's in degrees for radians",
    "gripper 0..1 for -1..1": "actions[6] (gripper) of B is A's in [0, 1] for [-1, 1]",
    "chunk index": "actions of B are A's from 1 later on: a chunk index is off by one",
    "normalised twice": "model_state[0:3] of B is A's normalised once more (normalised twice)",
    "wrong instruction": "B has another prompt: 'What should the robot do to pick up the red block?'",
    "turned": "model_image of B is A's turned by 180 degrees",
    "euler in actions": "actions[3:6] (rotation) of B is A's as Euler angles (xyz) for axis-angle",
    "gripper sign": "actions[6] (gripper) of B is A's negated",
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mismatch_is_named(mistake: str, right: Trace) -> None:
    found = diff(right, traced(Small(mistake)))
    assert found[0].moment == 0
    assert found[0].cause is not None, found
    assert found[0].cause.startswith(PLANTED[mistake])


def test_another_state_source_is_named() -> None:
    (found, *_) = diff(traced(Plain()), traced(Plain("state source")))
    assert found.cause == "model_state[0:3] of B is A's extra controller_position[0:3]: another source"


def test_the_reverse_is_named_too(right: Trace) -> None:
    causes = {
        name: diff(traced(Small(name)), right)[0].cause or "" for name in ("antipodal flip", "missing centre crop")
    }
    assert "lacks the antipodal normalisation that A's has" in causes["antipodal flip"]
    assert "is the centre crop of 0.9 of A's, resized back by bilinear" in causes["missing centre crop"]
    (missing, *_) = diff(traced(Small("missing state field")), right)
    assert missing.cause == "model_state of A lacks B's model_state[0:3]"


def test_equal_traces_do_not_differ(right: Trace) -> None:
    assert diff(right, traced(Small())) == ()


def test_a_later_divergence_is_found_where_it_begins(right: Trace) -> None:
    class Late(Small):
        def actions(self, obs: Any) -> np.ndarray:
            chunk = super().actions(obs)
            if obs.step >= 4:
                chunk[:, 6] *= -1
            return chunk

    (found,) = diff(right, traced(Late()))
    assert (found.moment, found.step, found.part) == (2, 4, "actions[6] (gripper)")


def test_what_no_mistake_explains_has_no_cause(right: Trace) -> None:
    class Other(Small):
        def actions(self, obs: Any) -> np.ndarray:
            chunk = super().actions(obs)
            chunk[:, :3] = np.random.default_rng(99).uniform(-1, 1, (6, 3))
            return chunk

        def image(self, image: np.ndarray) -> np.ndarray:
            return scene(1234)

    found = diff(right, traced(Other()))
    assert [one.part for one in found] == ["model_image", "actions[0:3] (position)"]
    assert [one.cause for one in found] == [None, None]


def test_declared_conventions_are_converted_on_the_way(right: Trace) -> None:
    """The same mistakes in the spec instead of the code: the run's own conversions show up in what is delivered."""
    turned = traced(Small(image=ImageConvention("bgr", "rotated_180")))
    plain = right
    (found, *_) = diff(plain, turned)
    assert found.cause == "image front of B is A's turned by 180 degrees, in BGR for RGB"
    np.testing.assert_array_equal(turned.moments[0].rendered["front"], plain.moments[0].images["front"])
    wxyz = Layout((STATE.components[0], replace(STATE.components[1], rotation="quaternion_wxyz"), STATE.components[2]))
    other = diff(right, traced(Small(state=wxyz)))[0]
    assert other.cause == "state[3:7] (eef_rotation) of B is A's in another order: wxyz for xyzw"


def test_a_source_that_the_specs_declare_is_named() -> None:
    class Elsewhere(Arm):
        def __init__(self) -> None:
            super().__init__()
            other = replace(STATE.components[0], source="controller")
            self.spec = replace(self.spec, state=Layout((other, *STATE.components[1:])))

        def make_obs(self, raw: Any) -> Any:
            obs = super().make_obs(raw)
            assert obs.state is not None
            return replace(obs, state=np.concatenate((obs.extras["controller_position"], obs.state[3:])))

    (found, *_) = diff(traced(Small(state=None)), traced(Small(state=None), Elsewhere()))
    assert found.cause == "state 'eef_position' comes from 'controller' in B, and from 'site' in A: another source"


def one_moment(**fields: Any) -> Trace:
    return Trace((Moment(**fields),))


def test_resize_methods_are_told_apart() -> None:
    large = scene(1)
    detailed = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    made = {name: resized(detailed, (24, 24), name) for name in ("area", "bilinear", "linear", "lanczos")}
    a = one_moment(images={"front": made["area"]}, rendered={"front": detailed})
    b = one_moment(images={"front": made["bilinear"]})
    assert diff(a, b)[0].cause == "image front of B is resized by bilinear, A's by area"
    small = diff(one_moment(images={"front": large}), one_moment(images={"front": resized(large, (32, 32), "area")}))
    assert small[0].cause == "image front of B is A's resized by area"


@pytest.mark.parametrize(
    ("b", "words"),
    [
        (lambda a, w: w, "is A's image of the camera 'wrist'"),
        (lambda a, w: a[::-1], "is A's upside down (rows flipped)"),
        (lambda a, w: a[:, ::-1, ::-1], "is A's mirrored (columns flipped), in BGR for RGB"),
        (lambda a, w: a.astype(np.float32) / 255, "is A's normalised to [0, 1] (twice, if A's was)"),
        (
            lambda a, w: converted(a, ImageConvention(), ImageConvention("bgr", crop=0.9, resize="area"), (64, 64)),
            "BGR",
        ),
    ],
)
def test_images(b: Any, words: str) -> None:
    front, wrist = scene(1), scene(2)
    a = one_moment(images={"front": front, "wrist": wrist})
    (found, *_) = diff(a, one_moment(images={"front": b(front, wrist), "wrist": wrist}))
    assert found.cause is not None
    assert words in found.cause


RNG = np.random.default_rng(5)
ROWS = RNG.uniform(0.1, 1.0, (5, 4))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (ROWS * 100.0, "is A's times 100: another unit or scale"),
        (ROWS + np.array((0.1, 0.2, -0.3, 0.0)), "is A's plus [0.1, 0.2, -0.3]: another origin, frame or source"),
        (ROWS * 0, "is zero"),
        (ROWS[:, ::-1], "is A's in the reverse order"),
    ],
)
def test_vectors(made: np.ndarray, words: str) -> None:
    a = Trace(tuple(Moment(step=i, state=row) for i, row in enumerate(ROWS)))
    b = Trace(tuple(Moment(step=i, state=row) for i, row in enumerate(made)))
    assert words in str(diff(a, b)[0].cause)


def test_a_state_in_another_frame_is_turned_by_a_constant() -> None:
    """As X-VLA's: observation quaternion against the controller's, about 90 degrees apart."""
    turns = RNG.standard_normal((6, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    matrices = rotations.convert(turns, "quaternion_xyzw", "matrix").reshape(-1, 3, 3)
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    moved = rotations.convert((matrices @ quarter).reshape(-1, 9), "matrix", "axis_angle_pi")
    still = rotations.convert(turns, "quaternion_xyzw", "axis_angle_pi")
    a = Trace(tuple(Moment(state=row) for row in still))
    b = Trace(tuple(Moment(state=row) for row in moved))
    assert "is A's turned by a constant 90 degrees: another frame or source" in str(diff(a, b)[0].cause)


def test_a_rotation_with_more_numbers_is_named() -> None:
    vector = np.array([0.1, 0.2, 0.3, 0.4, -0.5, 0.6, 0.04])
    turn = rotations.convert(vector[3:6], "axis_angle_pi", "rot6d_contiguous")
    longer = np.concatenate((vector[:3], turn, vector[6:]))
    (found,) = diff(one_moment(state=vector), one_moment(state=longer))
    assert found.cause == "state[3:6] of A is axis_angle_pi, and rot6d_contiguous in B"


def test_a_normalised_component_is_named_by_its_bounds() -> None:
    layout = Layout((Component("fingers", "joints", 2, low=0.0, high=0.08),))
    about = {"benchmark_spec": {"id": "b", "version": "1", "tasks": [], "action": {"components": []}}}
    about["benchmark_spec"]["state"] = {"components": [vars(layout.components[0])]}
    a = Trace((Moment(state=np.array([0.02, 0.05])),), about=about)
    b = Trace((Moment(state=np.array([-0.5, 0.25])),), about=about)
    assert "is A's normalised from [0, 0.08] to [-1, 1]" in str(diff(a, b)[0].cause)


@pytest.mark.parametrize(
    ("a", "b", "cause"),
    [
        (np.zeros((2, 3, 4, 5)), np.zeros((2, 3, 4, 6)), None),
        (np.zeros((2, 2)), np.ones((2, 2)), None),
        (np.zeros(3, bool), np.ones(3, bool), None),
        (np.arange(3.0), np.array((0, np.nan, 2)), "model[1] of B is not finite"),
        (np.arange(3.0), np.array((1e300, -1e300, 1e300)), None),
        (scene(1), np.moveaxis(scene(1), 2, 0), "model of B is A's with the channels first"),
        (
            np.moveaxis(scene(1), 2, 0),
            np.moveaxis(scene(1)[:, ::-1], 2, 0),
            "model of B is A's mirrored (columns flipp",
        ),
        (scene(1), np.dstack((scene(1), scene(2)[..., :1])), "model of B is A's with 1 more channels"),
        (scene(1)[..., :1], scene(1), "model of B is A's with 2 more channels"),
        (np.zeros((4, 4, 3)), np.full((4, 4, 3), np.nan), "model of B is not finite everywhere"),
        (np.zeros((4, 4, 3)), np.zeros((4, 0, 3)), None),
        ("text", np.zeros(3), "B has another model"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_whatever_a_model_tells_of_itself_can_be_compared(a: Any, b: Any, cause: str | None) -> None:
    (found, *_) = diff(one_moment(answer={"model": a}), one_moment(answer={"model": b}))
    if cause is not None:
        assert str(found.cause).startswith(cause)


def test_chunks_of_other_sizes_in_one_trace_can_be_compared() -> None:
    later = (Moment(step=1, actions=np.zeros((4, 4))), Moment(step=2))
    a = Trace((Moment(actions=np.ones((1, 7))), *later))
    b = Trace((Moment(actions=np.zeros((1, 7))), *later))
    assert diff(a, b)[0].part == "actions[0:7]"


def test_executed_actions_are_compared_after_the_answers() -> None:
    answers = RNG.uniform(-1, 1, (5, 3))
    moment = Moment(actions=answers)
    a, b = Trace((moment,), answers[:4]), Trace((moment,), answers[1:])
    (found,) = diff(a, b)
    assert (found.part, found.moment) == ("executed", 0)
    assert found.cause == "executed of B are A's from 1 later on: a chunk index is off by one"


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        ("Pick it up", "pick it up", "in another case"),
        ("pick it up", "In: pick it up?\nOut:", "inside of a template"),
        ("pick it up", "open the drawer", "B has another instruction"),
    ],
)
def test_texts(mine: str, theirs: str, words: str) -> None:
    assert words in str(diff(one_moment(instruction=mine), one_moment(instruction=theirs))[0].cause)


def test_what_only_one_side_has_is_said() -> None:
    a = one_moment(images={"front": scene(1)}, state=np.zeros(2), actions=np.zeros((1, 2)))
    assert [(one.part, one.size) for one in diff(a, one_moment())] == [
        ("image front", "only A has it"),
        ("state", "only A has it"),
        ("actions", "only A has an answer"),
    ]
    (ends,) = diff(a, Trace((*a.moments, Moment(step=5))))
    assert (ends.size, ends.step) == ("A has 1 observations, B 2", 5)
    assert str(ends.cause).startswith("A ends there")


def test_a_trace_comes_back_from_its_file(tmp_path: Path, right: Trace) -> None:
    path = tmp_path / "trace.npz"
    save(str(path), right)
    again = load(str(path))
    assert again.about == right.about
    assert diff(right, again) == ()
    assert arrays_of(again).keys() == arrays_of(right).keys()
    assert again.executed is not None
    assert (len(again.moments), again.executed.shape) == (4, (8, 7))


@pytest.mark.parametrize("arrays", [{"x": np.zeros(1)}, {"0_what": np.zeros(1)}, {"about": np.array("{")}])
def test_what_is_no_trace_is_refused(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    path = tmp_path / "other.npz"
    write: Any = np.savez
    write(path, **arrays)
    with pytest.raises(ContractError, match="no trace"):
        load(str(path))


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    write: Any = np.savez
    write(path, **{"0_state": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(ContractError, match="is no trace"):
        load(str(path))


def test_a_camera_that_is_resized_is_traced_with_what_was_rendered() -> None:
    class Large(Arm):
        def __init__(self) -> None:
            super().__init__()
            self.spec = replace(self.spec, cameras=(CameraSpec("front", ((SIDE, SIDE),)),))

        def make_obs(self, raw: Any) -> Any:
            obs = super().make_obs(raw)
            return replace(obs, images={"front": obs.images["front"]})

    class Blind(Small):
        def image(self, image: np.ndarray) -> np.ndarray:
            return np.zeros((2, 2, 3), np.uint8)

    traces = [
        traced(Blind(image=ImageConvention(resize=method), image_size=(24, 24)), Large())
        for method in ("area", "lanczos")
    ]
    assert diff(*traces)[0].cause == "image front of B is resized by lanczos, A's by area"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"0_actions": np.zeros(7)}, "rows of one length"),
        ({"0_actions": np.zeros((0, 7))}, "at least one row"),
        ({"0_state": np.array("text")}, "numbers in one row"),
        ({"0_state": np.zeros(3, complex)}, "numbers in one row"),
        ({"executed": np.zeros(7)}, "'executed' has the shape"),
        ({"0_step": np.arange(3)}, "one whole number"),
        ({"0_step": np.array(np.nan)}, "one whole number"),
        ({"0_step": np.array(-1)}, "at least 0"),
        ({"0_instruction": np.array(["a", "b"])}, "one text"),
        ({"0_extra_x": np.array(["a", "b"])}, "numbers, or one text"),
        ({"0_image_front": np.zeros((4, 4), np.uint8)}, "an image, .height, width, 3."),
        ({"0_image_front": np.zeros((0, 4, 3), np.uint8)}, "an image"),
        ({"0_image_front": np.zeros((3, 4, 4), np.uint8)}, "an image"),
        ({"0_rendered_front": np.zeros((4, 4, 4), np.uint8)}, "an image"),
        ({"0_image_front": np.array("x")}, "an image"),
        ({"0_step": np.array(0), "about": np.array('{"policy_spec": {"chunk": 1}}')}, "has a spec that cannot be read"),
        ({"3000000000_state": np.zeros(7)}, "count from 0"),
        ({"0_state": np.zeros(7), "about": np.array("[1]")}, "is no trace"),
    ],
)
def test_file_with_other_arrays_than_a_traces_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    write: Any = np.savez
    write(tmp_path / "a.npz", **arrays)
    with pytest.raises(ContractError, match=message):
        load(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("kept", [slice(0, -3), slice(0, 100)])
def test_file_that_is_cut_short_is_refused(tmp_path: Path, kept: slice) -> None:
    whole, cut = tmp_path / "a.npz", tmp_path / "b.npz"
    write: Any = np.savez
    write(whole, **{"0_state": np.zeros(7)})
    cut.write_bytes(whole.read_bytes()[kept])
    with pytest.raises(ContractError, match="is no trace"):
        load(str(cut))


def test_file_whose_member_is_no_array_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("0_state", "no array")
    with pytest.raises(ContractError, match="numbers in one row"):
        load(str(tmp_path / "a.npz"))


def test_what_holds_objects_is_refused_without_advice_to_unpickle(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("hello", encoding="utf-8")
    with pytest.raises(ContractError, match=r"it is no \.npz file, or has Python objects in it"):
        load(str(tmp_path / "a.npz"))


def test_one_bare_array_is_no_trace(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(7))
    with pytest.raises(ContractError, match="is no trace"):
        load(str(tmp_path / "a.npy"))
