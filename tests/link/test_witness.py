"""What a record says of what reached its policy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.link.episodes import FunctionPolicy, job_of, walk
from vlassess_link.benchmarks.attempt import Attempt
from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.benchmarks.watched import Monitor
from vlassess_link.benchmarks.witness import MOST_TEXTS, Witness
from vlassess_link.conventions.layouts import state_parts
from vlassess_link.data import EpisodeStart, Observation, RawObservation
from vlassess_link.delivered import Delivered
from vlassess_link.policies.base import Policy
from vlassess_link.policies.ensembling import EnsemblePolicy
from vlassess_link.policies.mapping import mapping_of
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import Axis, Level
from vlassess_link.testing import FakeBenchmark


def delivered(benchmark: Benchmark | None = None, policy: Policy | None = None) -> Delivered:
    found = Attempt(job_of(), benchmark or FakeBenchmark(), policy or FunctionPolicy(walk()), Monitor()).run().delivered
    assert found is not None
    return found


class Speaking(FakeBenchmark):
    """Says something else at every step."""

    def make_obs(self, raw: RawObservation) -> Observation:
        return dataclasses.replace(super().make_obs(raw), instruction=f"{raw.instruction}, at {raw.native:.2f}")


def test_texts_are_kept_whole_and_arrays_as_digests() -> None:
    found = delivered()
    assert found.start == {"suite": "walk", "task": "to-4", "instruction": "go to 4", "mode": "sync"}
    assert found.instructions == ("go to 4",)
    assert set(found.images) == {"front"}
    assert set(found.state) == {"x"}
    assert all(len(digest) == 20 for digest in (*found.images.values(), *found.state.values()))
    assert found == delivered()


def test_the_first_few_texts_of_later_observations_are_kept() -> None:
    found = delivered(Speaking())
    assert len(found.instructions) == MOST_TEXTS
    assert found.start["instruction"] == "go to 4"


def test_what_a_policy_does_not_look_at_is_not_delivered() -> None:
    assert delivered(policy=FunctionPolicy(walk(), cameras=())).images == {}
    assert delivered(policy=FunctionPolicy(walk(), state=Layout(()))).state == {}


@pytest.mark.parametrize("change", [lambda image: image + 1, lambda image: image.astype(np.float32)])
def test_other_numbers_and_other_types_have_other_digests(change: Any) -> None:
    class Other(FakeBenchmark):
        def make_obs(self, raw: RawObservation) -> Observation:
            obs = super().make_obs(raw)
            return dataclasses.replace(obs, images={name: change(image) for name, image in obs.images.items()})

    both = FunctionPolicy(walk(), image_dtypes=("uint8", "float32"))
    assert delivered(Other(), both).images != delivered(policy=both).images


def test_an_attempt_that_never_asked_its_policy_delivered_nothing() -> None:
    assert (
        Attempt(job_of(), FakeBenchmark(fault="reset_raises"), FunctionPolicy(walk()), Monitor()).run().delivered
        is None
    )


def test_a_state_is_told_by_the_benchmarks_names() -> None:
    spec = dataclasses.replace(
        FakeBenchmark().spec,
        state=Layout(
            (Component("a", "position", 3, source="hand"), Component("b", "other", 1), Component("c", "other", 2))
        ),
    )
    renamed = Layout((Component("c", "other", 2), Component("eef", "position", 3, source="hand")))
    policy = FunctionPolicy(walk(), state=renamed).spec
    assert state_parts(policy, spec) == (("c", 2), ("a", 3))
    assert state_parts(dataclasses.replace(policy, state=None), spec) == (("a", 3), ("b", 1), ("c", 2))
    assert state_parts(policy, dataclasses.replace(spec, state=None)) == ()


def test_a_state_that_no_layout_fits_is_one_component() -> None:
    witness = Witness(FunctionPolicy(walk()), (("x", 1),))
    witness.observed(Observation({}, "go", np.zeros(2)))
    assert witness.delivered is not None
    assert set(witness.delivered.state) == {"state"}


class Deaf(FunctionPolicy):
    """As a server of another dialect: no starts, one camera, no text."""

    hears_start = False

    def reaching_model(self, obs: Observation) -> Observation:
        return mapping_of({"images": {"picture": "front"}, "instruction": None}).taken(obs)


@pytest.mark.parametrize("ensemble", [False, True])
def test_what_a_dialect_leaves_out_is_not_delivered(ensemble: bool) -> None:
    policy: Policy = Deaf(walk(), chunk=2)
    witness = Witness(EnsemblePolicy(policy, "newest") if ensemble else policy, (("x", 1),))
    witness.started(EpisodeStart("id", "walk", "to-4", "go to 4"))
    images = {"front": np.zeros((2, 2, 3), np.uint8), "side": np.zeros((2, 2, 3), np.uint8)}
    witness.observed(Observation(images, "go to 4", np.zeros(1)))
    found = witness.delivered
    assert found is not None
    assert (found.start, found.instructions, set(found.images), found.state) == ({}, ("",), {"front"}, {})


@pytest.mark.parametrize(
    ("touched", "allowed"),
    [
        (("x",), {"x", "camera:front", "camera:side"}),
        (("x", "camera:side"), {"x", "camera:side"}),
        (("instruction",), {"instruction"}),
        (("x", "instruction"), {"x", "instruction", "camera:front", "camera:side"}),
    ],
)
def test_what_moves_is_seen_by_every_camera_unless_the_axis_says_by_which(
    touched: tuple[str, ...], allowed: set[str]
) -> None:
    axis = Axis("axis", (Level("level"),), touched)
    assert axis.may_change(("front", "side")) == allowed
