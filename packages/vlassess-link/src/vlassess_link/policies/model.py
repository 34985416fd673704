"""What a model author writes: one class with one `predict()`.

The same object runs in-process (`InProcessPolicy`), behind the socket, and batched; it never knows which.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import PolicyFault, PredictError
from vlassess_link.policies.base import Policy
from vlassess_link.seeds import noise
from vlassess_link.specs import PolicyIdentity, PolicySpec

Answer = Union[ActionChunk, Mapping[str, Any], np.ndarray]


@dataclass
class SessionContext:
    """What belongs to one session and one episode; a new one is made at every episode start.

    Attributes:
        session_id: Opaque; one per connection.
        start: The episode's start; None inside a `query`.
        noise_seed: Seed of this episode's noise.
        step: Control steps executed before this observation.
        memory: Whatever the model wants to keep until the episode ends.
    """

    session_id: str
    start: Optional[EpisodeStart] = None
    noise_seed: int = 0
    step: int = 0
    memory: Dict[str, Any] = field(default_factory=dict)

    def rng(self) -> np.random.Generator:
        """Return the generator of this step's noise: a function of (noise_seed, step) alone."""
        return noise(self.noise_seed, self.step)


class PredictModelServer:
    """A model behind one `predict()`. Subclass it; declare `spec`; load weights in `load`.

    ```python
    class Zero(PredictModelServer):
        spec = PolicySpec(PolicyIdentity("zero"), cameras=())

        def predict(self, obs, ctx):
            return {"actions": np.zeros(7)}
    ```
    """

    spec: PolicySpec = PolicySpec(PolicyIdentity("unnamed"))
    max_batch_size: int = 16
    """Most observations of one `predict_batch`; whoever serves the model may set another."""

    @property
    def batched(self) -> bool:
        """Whether `predict_batch` is the model's own."""
        return type(self).predict_batch is not PredictModelServer.predict_batch

    @property
    def answers_questions(self) -> bool:
        """Whether `answer` is the model's own."""
        return type(self).answer is not PredictModelServer.answer

    def load(self) -> None:
        """Load weights; called once, before the first `predict` and before the server says it is ready."""

    def start_episode(self, ctx: SessionContext) -> None:
        """Prepare for an episode; called once per episode with its fresh context."""

    def predict(self, obs: Observation, ctx: SessionContext) -> Answer:
        """Return {"actions": (T, D) or (D,)}, float32 or float64; further keys are recorded as extras."""
        if self.batched:
            return self.predict_batch([obs], [ctx])[0]
        raise NotImplementedError(f"{type(self).__name__} must define predict(self, obs, ctx)")

    def predict_batch(self, obs: List[Observation], ctx: List[SessionContext]) -> List[Answer]:
        """Return one answer for each observation, in order. Optional: define it where a batch is faster than a loop.

        The observations are of different sessions, 1 to `max_batch_size` of them. An answer must not depend on
        its neighbours; noise comes from each context's own `rng()`.
        """
        return [self.predict(one, own) for one, own in zip(obs, ctx)]

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[Answer]:
        """Answer each observation in a fresh context, in batches where the model has them; see `Policy.query`."""
        contexts = [SessionContext("query", None, noise_seed, obs.step) for obs in observations]
        for ctx in contexts:
            self.start_episode(ctx)
        answers: List[Answer] = []
        for begin in range(0, len(contexts), max(1, self.max_batch_size)):
            part = slice(begin, begin + max(1, self.max_batch_size))
            answers.extend(_batch_of(self, list(observations[part]), contexts[part]))
        return answers

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Return which of the options is right: one of the keys of ``options``. Optional, and asked without a robot.

        A model that has it is measured twice where a run asks questions: by what it grasps, and by what it says.
        """
        raise NotImplementedError(f"{type(self).__name__} has no answer(self, question, options)")

    def close(self) -> None:
        """Release what the model holds."""


def announced_spec(model: PredictModelServer) -> PolicySpec:
    """Return the model's spec with what is known of every `PredictModelServer`: its capabilities, and `batched`."""
    answers = ("answer",) if model.answers_questions else ()
    capabilities = tuple(dict.fromkeys((*model.spec.capabilities, "query", *answers)))
    return dataclasses.replace(model.spec, capabilities=capabilities, batched=model.batched)


def _batch_of(model: PredictModelServer, obs: List[Observation], ctx: List[SessionContext]) -> List[Answer]:
    answers = guarded(model.predict_batch, obs, ctx)
    if not isinstance(answers, (list, tuple)) or len(answers) != len(obs):
        found = f"{len(answers)} answers" if isinstance(answers, (list, tuple)) else type(answers).__name__
        raise PredictError(f"predict_batch() returned {found} for {len(obs)} observations; it must be a list, one each")
    return list(answers)


class ModelSession:
    """One session of a model: makes a fresh context per episode and maps what the model raises."""

    def __init__(self, model: PredictModelServer, session_id: str) -> None:
        self._model = model
        self._ctx = SessionContext(session_id)

    @property
    def session_id(self) -> str:
        """Opaque; one per connection."""
        return self._ctx.session_id

    @property
    def context(self) -> SessionContext:
        """The running episode's."""
        return self._ctx

    def start_episode(self, start: EpisodeStart, noise_seed: int) -> None:
        """Drop everything of the last episode and begin one.

        Raises:
            PredictError: the model raised.
        """
        self._ctx = SessionContext(self._ctx.session_id, start, noise_seed)
        guarded(self._model.start_episode, self._ctx)

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the model's chunk.

        Raises:
            PredictError: the model raised.
            InvalidActionError: what it returned is no action chunk.
        """
        self._ctx.step = obs.step
        return ActionChunk.of(guarded(self._model.predict, obs, self._ctx))

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Answer without touching the session."""
        return [ActionChunk.of(answer) for answer in guarded(self._model.query, observations, noise_seed)]

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Answer a question without touching the session.

        Raises:
            PredictError: the model raised, or answered something that is no text.
        """
        choice = guarded(self._model.answer, question, options)
        if not isinstance(choice, str):
            raise PredictError(f"answer() returned a {type(choice).__name__}; it must return a key of its options")
        return choice


def predict_together(
    model: PredictModelServer, sessions: Sequence[ModelSession], observations: Sequence[Observation]
) -> List[Union[ActionChunk, PolicyFault]]:
    """Answer one observation of each session in one `predict_batch`; each gets its chunk or what it is charged with.

    A batch that fails as a whole is retried one by one, so that one bad observation fails one session. What the
    failed try left in a context's `memory` is undone, one level deep.
    """
    if len(sessions) == 1:
        return [_one(model, sessions[0], observations[0])]
    contexts = [session.context for session in sessions]
    for context, obs in zip(contexts, observations):
        context.step = obs.step
    memories = [dict(context.memory) for context in contexts]
    try:
        answers = _batch_of(model, list(observations), contexts)
    except PolicyFault:
        for context, memory in zip(contexts, memories):
            context.memory = memory
        return [_one(model, session, obs) for session, obs in zip(sessions, observations)]
    return [_chunk_of(answer) for answer in answers]


def _one(model: PredictModelServer, session: ModelSession, obs: Observation) -> Union[ActionChunk, PolicyFault]:
    context = session.context
    context.step = obs.step
    try:
        if model.batched:
            return _chunk_of(_batch_of(model, [obs], [context])[0])
        return _chunk_of(guarded(model.predict, obs, context))
    except PolicyFault as fault:
        return fault


def _chunk_of(answer: Answer) -> Union[ActionChunk, PolicyFault]:
    try:
        chunk: ActionChunk = guarded(ActionChunk.of, answer)
    except PolicyFault as fault:
        return fault
    return chunk


def guarded(function: Any, *args: Any) -> Any:
    """Call the model's own code; whatever it raises becomes a `PredictError` that quotes it."""
    try:
        return function(*args)
    except PolicyFault:
        raise
    except (Exception, SystemExit) as error:
        raise PredictError(f"{type(error).__name__} in {function.__qualname__}: {error}") from error


class InProcessPolicy(Policy):
    """A model in the caller's own process, as a `Policy`."""

    def __init__(self, model: PredictModelServer) -> None:
        self.spec = announced_spec(model)
        self._model = model
        self._session = ModelSession(model, "in-process")
        model.load()

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode with a fresh context."""
        self._session.start_episode(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Call the model."""
        return self._session.predict(obs)

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Call the model without a session."""
        return self._session.query(observations, noise_seed)

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Call the model without a session."""
        return self._session.answer(question, options)

    def close(self) -> None:
        """Close the model."""
        self._model.close()
