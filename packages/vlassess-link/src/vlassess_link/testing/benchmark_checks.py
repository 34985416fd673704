"""What the conformance kit for benchmarks tries out: one function a rule of the contract."""

from __future__ import annotations

import dataclasses
from typing import FrozenSet, List, Mapping, Sequence, Set, Tuple

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.benchmarks.loop import run_episode
from vlassess_link.benchmarks.watched import check_observation
from vlassess_link.data import Episode, Outcome, RawObservation
from vlassess_link.spaces import Layout
from vlassess_link.specs import CAMERA, Axis, BenchmarkSpec, PolicyIdentity, PolicySpec, TaskSpec
from vlassess_link.testing.benchmark_subject import NO_CAMERAS, STEPS, BenchmarkSubject, Counted, Lazy
from vlassess_link.testing.courses import (
    Course,
    courses_elsewhere,
    episode_for,
    lively,
    run_course,
    seen,
    still,
    whole_view,
)
from vlassess_link.testing.kit import NotApplicable, expect

DRIFT = 0.05
"""Most that a number of the proprioception may change under the hold action, in its own unit."""
CENSORED_STEPS = 200
INSTRUCTION, PROPRIOCEPTION, EXTRAS = "instruction", "proprioception", "extras"
"""What can change beside named components of the state and cameras; the latter two are readings of what moves."""
TRIES = 6
"""How many starts an expert gets to succeed once."""


def reset_is_deterministic(subject: BenchmarkSubject) -> None:
    """Run a start, another one, and the first again."""
    for task in subject.tasks:
        episode, other = episode_for(subject.spec, task), episode_for(subject.spec, task, 1)
        before = subject.course(episode)
        subject.course(other)
        _expect_same(before, subject.course(episode), f"{_path(task)}: after another episode, the same one")


def seeds_differ(subject: BenchmarkSubject) -> None:
    """Run two starts of a task."""
    for task in subject.tasks:
        if len(task.initial_states) == 1:
            continue
        courses = [subject.course(episode_for(subject.spec, task, index), NO_CAMERAS, 0) for index in (0, 1)]
        changed = _changed(courses[0].state, courses[1].state)
        expect(changed, f"{_path(task)}: starts 0 and 1 have the same initial state; draw it from `episode.rng(...)`")


def reported_state_is_there(subject: BenchmarkSubject) -> None:
    """Look at two starts whose reported states differ: something that can be seen must differ too."""
    for task in subject.tasks:
        courses = [subject.course(episode_for(subject.spec, task, index)) for index in range(3)]
        states = [course.digests["initial state"] for course in courses]
        sights = [_sights(course) for course in courses]
        if len(set(states)) > 1:
            expect(
                len(set(sights)) > 1,
                f"{_path(task)}: reset() reports different states, but pictures, proprioception and outcomes are the "
                "same: set the state in the simulator before reporting it",
            )


def stored_states_are_set(subject: BenchmarkSubject) -> None:
    """Reset the same stored state with two seeds."""
    tasks = [task for task in subject.tasks if task.initial_states]
    if not tasks:
        raise NotApplicable("no task has stored initial states")
    for task in tasks:
        episode = episode_for(subject.spec, task)
        one, two = (subject.course(dataclasses.replace(episode, seed=seed), NO_CAMERAS, 0) for seed in (1, 2))
        changed = _changed(one.state, two.state)
        expect(
            not changed,
            f"{_path(task)}: the stored state {episode.initial_state!r} differs between two seeds in "
            f"{', '.join(sorted(changed))}; set the state itself",
        )


def start_is_stable(subject: BenchmarkSubject) -> None:
    """Do nothing for a few steps."""
    spec = subject.spec
    if spec.hold_action is None or spec.state is None:
        raise NotApplicable("without a hold action and a proprioception, nobody can tell what should stay")
    for task in subject.tasks:
        actions = np.tile(still(spec), (STEPS, 1))
        course = run_course(subject.benchmark, episode_for(spec, task), actions, NO_CAMERAS)
        assert course.first.state is not None
        assert course.last.state is not None
        moved = np.abs(course.last.state - course.first.state)
        place = int(np.argmax(moved))
        expect(
            moved[place] <= DRIFT,
            f"{_path(task)}: state[{place}] moves by {moved[place]:.3g} within {STEPS} steps of the hold action (at "
            f"most {DRIFT} is allowed); let the scene settle in reset(), or declare another hold action",
        )


def observation_matches_spec(subject: BenchmarkSubject) -> None:
    """Look through every camera at every size it offers, and through none."""
    spec = subject.spec
    everything = PolicySpec(PolicyIdentity("kit"), state=spec.state, extras=spec.extras)
    for view in _views(spec):
        course = run_course(subject.benchmark, episode_for(spec, subject.tasks[0]), lively(spec, 7, 1), view)
        for obs in (course.first, course.last):
            check_observation(obs, spec, everything, view)
            missing = sorted(set(spec.extras) - set(obs.extras))
            expect(not missing, f"make_obs() lacks the extra {missing[:1]}, which the spec declares")
            expect(
                (obs.state is None) == (spec.state is None),
                "make_obs() and the spec disagree on whether there is a state; declare `state`, or leave it out",
            )
            if spec.state is not None and obs.state is not None:
                _expect_within(obs.state, spec.state)


def looking_changes_nothing(subject: BenchmarkSubject) -> None:
    """Run a start with and without a look before every step."""
    actions = lively(subject.spec, 7, STEPS)
    for task in subject.tasks:
        episode = episode_for(subject.spec, task)
        blind = run_course(subject.benchmark, episode, actions)
        looked = run_course(subject.benchmark, episode, actions, look=_look)
        _expect_same(blind, looked, f"{_path(task)}: with a look before every step, the same episode")


def instruction_is_the_episodes(subject: BenchmarkSubject) -> None:
    """Replace the text."""
    words = "do what this sentence says"
    course = subject.course(episode_for(subject.spec, subject.tasks[0], instruction=words), steps=1)
    for where, obs in (("after reset()", course.first), ("after a step", course.last)):
        expect(
            obs.instruction == words,
            f"the episode's instruction is {words!r}, but {where} the observation says {obs.instruction!r}",
        )


def no_success_at_reset(subject: BenchmarkSubject) -> None:
    """Do nothing for one step."""
    for task in subject.tasks:
        for index in range(3):
            actions = still(subject.spec)[None]
            course = run_course(subject.benchmark, episode_for(subject.spec, task, index), actions, NO_CAMERAS)
            expect(
                not course.told[0]["success"],
                f"{_path(task)}: start {index} is a success after one step of doing nothing; draw another start",
            )


def step_limit_is_exact(subject: BenchmarkSubject) -> None:
    """Do nothing until the limit."""
    spec = subject.spec
    task = min(subject.tasks, key=lambda one: one.step_limit)
    episode = episode_for(spec, task, step_limit=min(task.step_limit, CENSORED_STEPS))
    lazy = Lazy(still(spec))
    subject.benchmark.view = NO_CAMERAS
    outcome = run_episode(episode, subject.benchmark, lazy, 1)
    if outcome.success:
        raise NotApplicable(f"{_path(task)}: doing nothing succeeds after {outcome.success_step} steps")
    expect(
        outcome.cause == "limit" and lazy.asked == episode.step_limit,
        f"{_path(task)}: the simulator ended after {lazy.asked} of {episode.step_limit} steps of doing nothing; lift "
        "its own limit, the episode's is the only one",
    )


def processes_agree(subject: BenchmarkSubject) -> None:
    """Run two episodes here in one process, and each in a process of its own."""
    if subject.target is None:
        raise NotApplicable("the benchmark is an object; a second process needs its class by name")
    task = subject.tasks[0]
    episodes = [episode_for(subject.spec, task, index) for index in (0, 1)]
    here = [subject.course(episode).digests for episode in episodes]
    for index, episode in enumerate(episodes):
        (there,) = courses_elsewhere(subject.target, subject.params, [episode], STEPS)
        different = [name for name in here[index] if here[index][name] != there[name]]
        expect(
            not different,
            f"{_path(task)}: start {index} differs between two processes in {', '.join(different)}; let nothing depend "
            "on what ran before, on hash() or on a global generator",
        )


def termination_is_as_declared(subject: BenchmarkSubject) -> None:
    """Let an expert succeed, and see when and how the episode ends."""
    if subject.expert is None:
        raise NotApplicable("no policy is known that succeeds; give an expert")
    expert = subject.expert()
    expert.bind(subject.benchmark)
    task = subject.tasks[0]
    for index in range(TRIES):
        episode = episode_for(subject.spec, task, index)
        counted = Counted(expert)
        subject.benchmark.view = NO_CAMERAS if expert.spec.cameras == () else whole_view(subject.spec)
        outcome = run_episode(episode, subject.benchmark, counted, 1)
        if outcome.success_step is not None:
            _expect_declared(subject.spec, episode, outcome, counted.asked)
            return
    raise NotApplicable(f"the expert succeeds in none of {TRIES} starts of {_path(task)}")


def primary_metric_is_told(subject: BenchmarkSubject) -> None:
    """Look for the primary metric in an outcome."""
    name = subject.spec.primary_metric
    if name in ("success", "progress"):
        return
    told = subject.course(episode_for(subject.spec, subject.tasks[0]), steps=1).told[0]["metrics"]
    expect(name in told, f"the primary metric {name!r} is not among the metrics {sorted(told)}; return it in each step")


def axes_touch_what_they_say(subject: BenchmarkSubject) -> None:
    """Run each level of each axis beside its control, and the control again at the end."""
    if not subject.spec.axes:
        raise NotApplicable("the benchmark declares no axes")
    controls = [subject.course(episode_for(subject.spec, task)) for task in subject.tasks]
    for axis in subject.spec.axes:
        for level in axis.levels:
            _expect_level(subject, axis, level.name, controls)
    for task, control in zip(subject.tasks, controls):
        again = subject.course(episode_for(subject.spec, task))
        _expect_same(control, again, f"{_path(task)}: after episodes at a level of an axis, the same one without")


def _expect_level(subject: BenchmarkSubject, axis: Axis, level: str, controls: Sequence[Course]) -> None:
    """Try a level on every task: it changes what it may, something in one of them, and the same each time."""
    what = f"{axis.name}={level}"
    allowed = axis.may_change([camera.name for camera in subject.spec.cameras], level)
    effects: Set[str] = set()
    for number, (task, control) in enumerate(zip(subject.tasks, controls)):
        episode = episode_for(subject.spec, task, perturbation={axis.name: level})
        varied = subject.course(episode)
        changed = _everything_changed(control, varied)
        beyond = sorted(name for name in changed if name not in _with_readings(allowed))
        expect(
            not beyond, f"{_path(task)}: {what} changes {', '.join(beyond)}, which its axis does not name in `touched`"
        )
        effects |= changed or {name for name in control.digests if control.digests[name] != varied.digests[name]}
        if number == 0:
            _expect_same(varied, subject.course(episode), f"{_path(task)}: at {what}, the same episode twice")
    expect(
        effects,
        f"{what} changes nothing of {', '.join(axis.touched)} in {len(controls)} starts; apply the level in reset()",
    )


def _with_readings(allowed: FrozenSet[str]) -> FrozenSet[str]:
    """Return what may change, with what is read of it: what moves is felt by proprioception and extras."""
    moves = any(name != INSTRUCTION and not name.startswith(CAMERA) for name in allowed)
    return allowed | {PROPRIOCEPTION, EXTRAS} if moves else allowed


def _look(benchmark: Benchmark, raw: RawObservation) -> None:
    benchmark.make_obs(raw)


def _expect_same(one: Course, two: Course, what: str) -> None:
    ours, theirs = one.digests, two.digests
    different = [name for name in ours if ours[name] != theirs[name]]
    expect(not different, f"{what} differs in {', '.join(different)}")


def _expect_within(state: np.ndarray, layout: Layout) -> None:
    begin = 0
    for part in layout.components:
        values = state[begin : begin + part.size]
        begin += part.size
        low, high = (-np.inf if part.low is None else part.low), (np.inf if part.high is None else part.high)
        margin = 1e-3 * (high - low) if np.isfinite(high - low) else 0.0
        expect(
            bool(np.all((values >= low - margin) & (values <= high + margin))),
            f"the state's {part.name} is {values.tolist()}; the spec bounds it to [{part.low}, {part.high}]",
        )


def _expect_declared(spec: BenchmarkSpec, episode: Episode, outcome: Outcome, steps: int) -> None:
    kind, first = spec.termination.kind, outcome.success_step
    wanted = {"on_success": "success", "at_limit": "limit", "hold": "held"}[kind]
    expect(
        outcome.cause == wanted,
        f"with termination {kind!r} an episode with success at step {first} must end as {wanted!r}; it ended as "
        f"{outcome.cause!r} after {steps} steps: the simulator must not end itself at success",
    )
    if kind == "at_limit":
        expect(steps == episode.step_limit, f"it ended after {steps} of {episode.step_limit} steps, not at the limit")


def _views(spec: BenchmarkSpec) -> List[View]:
    """Return views that show each camera at each size, all of them at once, and none."""
    every = [whole_view(spec), NO_CAMERAS]
    for camera in spec.cameras:
        every += [View({camera.name: (int(size[0]), int(size[1]))}) for size in camera.sizes]
    return every


def _sights(course: Course) -> Tuple[str, ...]:
    return (seen(course.first), seen(course.last), course.digests["outcomes"])


def _changed(one: Mapping[str, np.ndarray], two: Mapping[str, np.ndarray]) -> Set[str]:
    names = set(one) | set(two)
    return {name for name in names if name not in one or name not in two or not np.array_equal(one[name], two[name])}


def _everything_changed(control: Course, varied: Course) -> Set[str]:
    """Return the names, as `Axis.touched` has them, of all that a level changes at the start."""
    one, two = control.first, varied.first
    changed = _changed(control.state, varied.state) | {CAMERA + name for name in _changed(one.images, two.images)}
    readings = {
        INSTRUCTION: one.instruction != two.instruction,
        PROPRIOCEPTION: bool(_changed(*({} if obs.state is None else {"": obs.state} for obs in (one, two)))),
        EXTRAS: bool(_changed(one.extras, two.extras)),
    }
    return changed | {name for name, differs in readings.items() if differs}


def _path(task: TaskSpec) -> str:
    return f"{task.suite}/{task.name}"
