"""A policy behind a socket, the same to its caller as one in the same process."""

from __future__ import annotations

import time
from typing import Any, Callable, FrozenSet, List, Mapping, Optional, Sequence, TypeVar

import numpy as np

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import (
    ConnectionLost,
    EncodeError,
    EpisodeFault,
    HandshakeError,
    InferenceTimeout,
    ObservationError,
    PolicyBusy,
    PolicyHangs,
    PolicyUnavailable,
)
from vlassess_link.policies.base import Policy
from vlassess_link.wire import messages, questions
from vlassess_link.wire.access import PLAIN, Access, ask_health
from vlassess_link.wire.client import DEFAULT, Options, WireClient, open_client

T = TypeVar("T")

_IMAGE_DTYPES = ("uint8", "float32")


class RemotePolicy(Policy):
    """Talks to a policy server; its `spec` is what the server announced on the last connection.

    After any failure, the policy's own included, the connection is closed; the next `reset` opens another. An
    episode is never continued on a second connection.

    Args:
        url: ``ws://host:port``.
        connect_deadline: Seconds until a policy must have answered, all tries together.
        inference_deadline: Seconds until each answer must be there.
        access: Token and trusted certificates.
        options: How arrays travel.

    Raises:
        ContractError: the url is none of a websocket.
        PolicyUnavailable: nobody answered in time.
        HandshakeError: somebody answered who speaks another protocol.
    """

    def __init__(
        self,
        url: str,
        connect_deadline: float = 60.0,
        inference_deadline: float = 60.0,
        access: Access = PLAIN,
        options: Options = DEFAULT,
    ) -> None:
        self._url = url
        self._options = options
        self._access = access
        self._connect_deadline = connect_deadline
        self._inference_deadline = inference_deadline
        self._client: Optional[WireClient] = None
        self._in_episode = False
        self._dtypes: FrozenSet[np.dtype[Any]] = frozenset()
        self.connect()

    def connect(self) -> None:
        """Make sure that there is a connection, and read the spec anew where it had to be opened.

        A caller that times its phases calls this before `reset`, which connects by itself but takes no longer
        than the inference deadline for everything together.

        Raises:
            PolicyUnavailable: nobody answered in time.
            HandshakeError: somebody answered who speaks another protocol.
        """
        self._connect_within(self._connect_deadline)

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode, on a new connection where the last one failed."""
        self._end_episode()
        until = time.monotonic() + self._inference_deadline
        reused = self._client is not None and self._client.usable
        try:
            self._begin(start, policy_seed, until)
        except ConnectionLost:
            if not reused:
                raise
            # The server went away while no episode was running, so nothing is lost by connecting anew.
            self._begin(start, policy_seed, until)
        self._in_episode = True

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the server's next actions.

        Raises:
            PolicyFault: the policy failed, or did not answer in time.
            PolicyBusy, PolicyHangs: it did not answer in time since it was busy with other sessions.
            ConnectionLost: the connection broke, or `reset` was not called since it did.
            ObservationError: the observation cannot be sent, or has images that the policy does not declare.
            DecodeError: what the server sent is no answer.
        """
        client = self._client
        if client is None or not self._in_episode:
            raise ConnectionLost(f"no episode is open at {self._url}: call reset() before predict()")
        self._check_images([obs])
        chunks = messages.CHUNKS in client.hello.capabilities
        done = False
        try:
            payload = messages.observation_payload(obs)
            answer = self._ask(client, messages.OBSERVATION, payload, messages.ACTION)
            chunk = messages.parse_action(answer, chunks)
            done = True
        finally:
            if not done:
                self._drop()
        return chunk

    def query(self, observations: Sequence[Observation], noise_seed: int) -> List[ActionChunk]:
        """Ask statelessly; see `Policy.query`. A running episode is not touched.

        Raises:
            CapabilityError: the policy does not declare the capability "query".
        """
        self.connect()
        client = self._client
        if client is None or messages.QUERY not in client.hello.capabilities:
            return super().query(observations, noise_seed)
        self._check_images(observations)
        payload = messages.query_payload(observations, noise_seed)
        return self._guarded(
            lambda: messages.parse_answers(
                self._ask(client, messages.QUERY, payload, messages.QUERY), len(observations)
            )
        )

    def answer(self, question: str, options: Mapping[str, str]) -> str:
        """Ask a question without a robot; see `Policy.answer`. A running episode is not touched.

        Raises:
            CapabilityError: the policy does not declare the capability "answer".
        """
        self.connect()
        client = self._client
        if client is None or messages.ANSWER not in client.hello.capabilities:
            return super().answer(question, options)
        payload = questions.question_payload(question, options)
        return self._guarded(
            lambda: questions.parse_choice(self._ask(client, messages.ANSWER, payload, messages.ANSWER))
        )

    def close(self) -> None:
        """End the running episode and close the connection."""
        self._end_episode()
        self._drop()

    def _begin(self, start: EpisodeStart, policy_seed: int, until: float) -> None:
        try:
            self._connect_within(min(self._connect_deadline, until - time.monotonic()))
        except HandshakeError as error:
            raise PolicyUnavailable(f"the policy server changed between two episodes: {error}") from error
        client = self._client
        assert client is not None
        payload = messages.start_payload(start, policy_seed)
        rest = max(0.0, until - time.monotonic())
        if messages.ACKS in client.hello.capabilities:
            self._guarded(
                lambda: self._ask(client, messages.EPISODE_START, payload, messages.EPISODE_START, rest),
            )
        else:
            self._guarded(lambda: client.notify(messages.EPISODE_START, payload, rest))

    def _connect_within(self, seconds: float) -> None:
        if self._client is None or not self._client.usable:
            self._drop()
            self._client = open_client(self._url, seconds, self._access, self._options)
            assert self._client.hello.spec is not None
            self.spec = self._client.hello.spec
            self._dtypes = frozenset(np.dtype(name) for name in _IMAGE_DTYPES if name in self.spec.image_dtypes)

    def _ask(self, client: WireClient, kind: str, payload: Any, answer: str, within: Optional[float] = None) -> Any:
        deadline = self._inference_deadline if within is None else within
        try:
            return client.request(kind, payload, answer, deadline)
        except EncodeError as error:
            raise ObservationError(f"the observation cannot be sent: {error}") from error
        except InferenceTimeout as timeout:
            health = ask_health(self._url, self._access) if client.hello.session is not None else None
            raise charge(timeout, health, client.hello.session, deadline) from None

    def _guarded(self, call: Callable[[], T]) -> T:
        """Return what ``call`` returns; whatever else happens in it costs the connection."""
        done = False
        try:
            result = call()
            done = True
        finally:
            if not done:
                self._drop()
        return result

    def _end_episode(self) -> None:
        if self._in_episode and self._client is not None:
            try:
                self._client.notify(messages.EPISODE_END, {}, self._inference_deadline)
            except (ConnectionLost, InferenceTimeout):
                self._drop()
        self._in_episode = False

    def _drop(self) -> None:
        client, self._client = self._client, None
        self._in_episode = False
        if client is not None:
            client.close()

    def _check_images(self, observations: Sequence[Observation]) -> None:
        for obs in observations:
            for name, image in obs.images.items():
                if image.dtype not in self._dtypes and image.dtype.name not in self.spec.image_dtypes:
                    raise ObservationError(
                        f"image {name!r} is {image.dtype}; the policy {self.spec.identity.name!r} takes "
                        f"{' or '.join(self.spec.image_dtypes)}: declare it in its `image_dtypes` or convert"
                    )


def charge(
    timeout: InferenceTimeout, health: Optional[Mapping[str, Any]], session: Optional[str], deadline: float
) -> EpisodeFault:
    """Return what a missing answer means: the policy's own time-out, or one that other sessions have caused.

    Args:
        timeout: What is raised where nothing else is known.
        health: What the server's ``/health`` says, None where it does not answer.
        session: What the server calls this session.
        deadline: Seconds in which the answer was due.
    """
    running = health.get("running") if health is not None else None
    if session is None or not isinstance(running, dict):
        return timeout
    sessions, seconds = list(running.get("sessions") or ()), float(running.get("seconds") or 0.0)
    own = session in sessions
    if own and len(sessions) == 1 and seconds >= deadline / 2:
        return timeout
    if seconds >= deadline:
        shared = f"one that this session shares with {len(sessions) - 1} others" if own else "another session's"
        return PolicyHangs(f"a call of the policy has run for {seconds:.3g} s, {shared}: mend the policy")
    return PolicyBusy(
        f"the policy was busy with other sessions for most of the {deadline:g} s in which the answer was due "
        f"({health.get('queued') if health else 0} wait): run fewer workers, or raise the inference deadline"
    )
