"""What the conformance kit for policies tries out: one function a rule of the contract."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from vlassess_link.policies.model import PredictModelServer, predict_together
from vlassess_link.policies.openpi import OpenpiPolicy
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.testing.courses import bounds, copied, seen
from vlassess_link.testing.kit import Broken, NotApplicable, expect
from vlassess_link.testing.policy_subject import ANSWERS, DEADLINE, Loaded, PolicySubject, SessionPolicy
from vlassess_link.wire.server import PolicyServer, ServerOptions

TOLERANCE = 1e-5
"""Most that two answers to the same question may differ in one number."""

Chunks = Sequence[np.ndarray]


def chunk_is_as_declared(subject: PolicySubject) -> None:
    """Count the rows of every answer."""
    declared = subject.spec.chunk
    for chunk in _all_answers(subject):
        expect(
            len(chunk) == declared,
            f"an answer has {len(chunk)} actions, the spec declares chunk={declared}; declare what it answers",
        )


def action_is_as_declared(subject: PolicySubject) -> None:
    """Compare size, dtype and bounds of every answer with the spec, or with the benchmark's."""
    layout = subject.spec.action
    if layout is None or not layout.components:  # empty: its numbers have no meaning that could be wrong
        layout = subject.benchmark.spec.action if subject.benchmark is not None else None
    answers = _all_answers(subject)
    kinds = sorted({chunk.dtype.name for chunk in answers})
    expect(len(kinds) == 1, f"answers have the dtypes {' and '.join(kinds)}; always give the same")
    sizes = sorted({chunk.shape[1] for chunk in answers})
    expect(len(sizes) == 1, f"actions have {' and '.join(map(str, sizes))} numbers; always give as many")
    wanted = layout.size if layout is not None else sizes[0]
    expect(sizes == [wanted], f"actions have {sizes[0]} numbers, {wanted} are declared; declare `action` as it is")
    if layout is None or layout.clip:
        return
    low, high = bounds(layout, np.inf)
    for chunk in answers:
        beyond = np.argwhere((chunk < low - TOLERANCE) | (chunk > high + TOLERANCE))
        if len(beyond):
            row, place = (int(i) for i in beyond[0])
            raise Broken(
                f"action {row} has {chunk[row, place]:.4g} in component {place}, which is bounded to "
                f"[{low[place]:g}, {high[place]:g}]; clip it, or declare the layout with `clip`"
            )


def same_in_same_out(subject: PolicySubject) -> None:
    """Show a deterministic policy the same episodes under two noise seeds."""
    if subject.spec.stochastic:
        raise NotApplicable("the spec says that it is stochastic")
    for scene in subject.scenes:
        one, two = (subject.play(subject.open(), scene, seed) for seed in (1, 2))
        _expect_equal(one, two, "the same observations under two noise seeds", "declare `stochastic`")


def noise_seed_is_honoured(subject: PolicySubject) -> None:
    """Show a stochastic policy the same episode under one noise seed twice, and under another."""
    _require_seeds(subject)
    again = [subject.play(subject.open(), subject.scenes[0], seed) for seed in (1, 1, 2)]
    _expect_equal(again[0], again[1], "the same noise seed twice", "draw all noise from `ctx.rng()`")
    same = all(np.array_equal(one, other) for one, other in zip(again[0], again[2], strict=True))
    expect(not same, "two noise seeds give the same actions; draw noise from `ctx.rng()`, or declare no `stochastic`")


def reset_forgets(subject: PolicySubject) -> None:
    """Break an episode off and run another one: it must be as if nothing had been."""
    _require_repeatable(subject)
    policy = subject.open()
    first, second = subject.scenes[:2]
    whole = subject.play(policy, first)
    for broken_off in range(1, ANSWERS + 1):
        subject.play(policy, second, 5, broken_off)
        _expect_equal(
            whole,
            subject.play(policy, first),
            f"an episode after one that ended at its answer {broken_off}",
            "keep what belongs to an episode in `ctx.memory`",
        )


def sessions_are_apart(subject: PolicySubject) -> None:
    """Run two sessions in turns."""
    _require_repeatable(subject)
    _require_several(subject)
    alone = [subject.play(subject.open(), scene, seed) for seed, scene in enumerate(subject.scenes)]
    sessions = [subject.open() for _ in subject.scenes]
    for seed, (policy, scene) in enumerate(zip(sessions, subject.scenes, strict=True)):
        policy.reset(scene.start, seed)
    turns: list[list[np.ndarray]] = [[] for _ in sessions]
    for number in range(ANSWERS):
        for policy, scene, chunks in zip(sessions, subject.scenes, turns, strict=True):
            chunks.append(policy.predict(copied(scene.observations[number])).actions)
    for one, other in zip(alone, turns, strict=True):
        _expect_equal(one, other, "sessions in turns and each alone", "keep what belongs to a session in `ctx.memory`")


def observation_is_left_alone(subject: PolicySubject) -> None:
    """Look at the observations after the answer."""
    if subject.model is None and subject.several:
        raise NotApplicable("the policy is in another process and gets copies")
    if subject.spec.privileged:
        raise NotApplicable("a privileged policy is shown the benchmark itself")
    policy, scene = subject.open(), subject.scenes[0]
    policy.reset(scene.start, 1)
    for obs in scene.observations:
        given = copied(obs)
        policy.predict(given)
        expect(seen(given) == seen(obs), "predict() changes the observation that it is given; work on a copy")


def query_is_stateless(subject: PolicySubject) -> None:
    """Ask beside a running episode, in another order, and one by one."""
    _require_query(subject)
    scene = subject.scenes[0]
    asked = [copied(one.observations[0]) for one in subject.scenes]
    undisturbed = subject.play(subject.open(), scene)
    policy = subject.open()
    policy.reset(scene.start, 1)
    disturbed, answers = [], []
    for obs in scene.observations:
        answers.append([chunk.actions for chunk in policy.query(asked, 3)])
        disturbed.append(policy.predict(copied(obs)).actions)
    _expect_equal(undisturbed, disturbed, "an episode with queries in between", "let query() touch no session")
    for other in answers[1:]:
        _expect_equal(answers[0], other, "the same query at two moments", "let query() keep nothing")
    backwards = [chunk.actions for chunk in policy.query(asked[::-1], 3)][::-1]
    _expect_equal(answers[0], backwards, "a query in another order", "let no row of a batch depend on its neighbours")
    alone = [policy.query([obs], 3)[0].actions for obs in asked]
    _expect_equal(answers[0], alone, "a query one by one", "let no row of a batch depend on its neighbours")


def query_is_a_fresh_episode(subject: PolicySubject) -> None:
    """Compare a query with the first answer of an episode."""
    _require_query(subject)
    for scene in subject.scenes:
        policy = subject.open()
        first = subject.play(policy, scene, 4, 1)
        queried = [policy.query([copied(scene.observations[0])], 4)[0].actions]
        _expect_equal(first, queried, "a query and the first answer of an episode", "answer queries by `predict`")


def socket_agrees(subject: PolicySubject) -> None:
    """Serve the model and ask it over a socket."""
    _require_repeatable(subject)
    with served(_model(subject)) as url:
        remote = RemotePolicy(url, DEADLINE, DEADLINE)
        try:
            for scene in subject.scenes:
                here = subject.play(subject.open(), scene)
                there = subject.play(remote, scene)
                _expect_equal(here, there, "in this process and over a socket", "depend on the observation alone")
        finally:
            remote.close()


def batch_agrees(subject: PolicySubject) -> None:
    """Answer several sessions in one batch, and each alone."""
    if not subject.spec.batched:
        raise NotApplicable("the policy has no `predict_batch` of its own")
    _require_repeatable(subject)
    alone = [subject.play(subject.open(), scene, seed) for seed, scene in enumerate(subject.scenes)]
    together = _in_batches(subject, subject.model) if subject.model is not None else _at_once(subject)
    for one, other in zip(alone, together, strict=True):
        _expect_equal(one, other, "alone and in a batch", "let no row of a batch depend on its neighbours")


def openpi_agrees(subject: PolicySubject) -> None:
    """Serve the model in openpi's dialect and ask it there."""
    model = _model(subject)
    if subject.spec.stochastic:
        raise NotApplicable("openpi's protocol carries no noise seed")
    keys = _openpi_keys(subject)
    with served(model, ServerOptions(dialect="openpi", mapping=keys)) as url:
        for scene in subject.scenes:
            shown = scene.spaced(1)
            here = subject.play(subject.open(), shown)
            remote = OpenpiPolicy(url, {**keys, "chunk": subject.spec.chunk}, DEADLINE, DEADLINE)
            try:
                there = subject.play(remote, shown)
            finally:
                remote.close()
            _expect_equal(here, there, "in this process and in openpi's dialect", "depend on what is seen alone")


@contextlib.contextmanager
def served(model: PredictModelServer, options: ServerOptions | None = None) -> Iterator[str]:
    """Serve a loaded model on loopback and give its url."""
    with PolicyServer(Loaded(model), options=options) as server:
        yield server.url


def _all_answers(subject: PolicySubject) -> list[np.ndarray]:
    return [chunk for scene in subject.scenes for chunk in subject.play(subject.open(), scene)]


def _in_batches(subject: PolicySubject, model: PredictModelServer) -> list[list[np.ndarray]]:
    sessions = [SessionPolicy(model, f"kit-{seed}").session for seed in range(len(subject.scenes))]
    for seed, (session, scene) in enumerate(zip(sessions, subject.scenes, strict=True)):
        session.start_episode(scene.start, seed)
    found: list[list[np.ndarray]] = [[] for _ in sessions]
    for number in range(ANSWERS):
        shown = [copied(scene.observations[number]) for scene in subject.scenes]
        for chunks, answer in zip(found, predict_together(model, sessions, shown), strict=True):
            if isinstance(answer, Exception):
                raise answer
            chunks.append(answer.actions)
    return found


def _at_once(subject: PolicySubject) -> list[list[np.ndarray]]:
    """Ask a server from several connections at once; whether it makes a batch of them is its own affair."""
    policies = [subject.open() for _ in subject.scenes]
    with ThreadPoolExecutor(len(policies)) as pool:
        running = [
            pool.submit(subject.play, policy, scene, seed)
            for seed, (policy, scene) in enumerate(zip(policies, subject.scenes, strict=True))
        ]
        return [one.result() for one in running]


def _openpi_keys(subject: PolicySubject) -> dict[str, Any]:
    obs = subject.scenes[0].observations[0]
    if obs.extras:
        raise NotApplicable("the policy reads extra arrays, which a mapping does not carry")
    images = {f"observation/{name}": name for name in obs.images}
    state = {} if obs.state is None else {"observation/state": [0, int(obs.state.size)]}
    return {"images": images, "state": state, "instruction": "prompt"}


def _expect_equal(one: Chunks, two: Chunks, what: str, mend: str) -> None:
    for number, (left, right) in enumerate(zip(one, two, strict=True)):
        if left.shape != right.shape:
            raise Broken(f"{what}: answer {number} has the shapes {left.shape} and {right.shape}; {mend}")
        worst = float(np.max(np.abs(left.astype(np.float64) - right)))
        expect(worst <= TOLERANCE, f"{what}: answer {number} differs by {worst:.3g}; {mend}")


def _model(subject: PolicySubject) -> PredictModelServer:
    if subject.model is None:
        raise NotApplicable("the policy is no model in this process")
    return subject.model


def _require_repeatable(subject: PolicySubject) -> None:
    if not subject.repeatable:
        raise NotApplicable("it is stochastic and does not use its noise seed, so nothing can be repeated")


def _require_seeds(subject: PolicySubject) -> None:
    if not subject.spec.stochastic:
        raise NotApplicable("the spec says that it is deterministic")
    _require_repeatable(subject)


def _require_several(subject: PolicySubject) -> None:
    if not subject.several:
        raise NotApplicable("it is one object, which serves one episode at a time")


def _require_query(subject: PolicySubject) -> None:
    if "query" not in subject.spec.capabilities:
        raise NotApplicable("it does not declare the capability 'query'")
    _require_repeatable(subject)
