"""A policy behind openpi's policy server: whatever already serves one can be evaluated.

Its protocol has no episodes and no seeds: the server answers observations, one at a time, with chunks. Its
noise therefore depends on what it was asked before, and the spec says so (`stochastic`, not `uses_noise_seed`).
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

import numpy as np
from websockets.exceptions import ConnectionClosed

from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.digest import content_id
from vlassess_link.errors import (
    ConnectionLost,
    DecodeError,
    EncodeError,
    HandshakeError,
    InferenceTimeout,
    InvalidActionError,
    ObservationError,
    PolicyUnavailable,
    PredictError,
)
from vlassess_link.jsonable import to_json
from vlassess_link.policies.base import Policy
from vlassess_link.policies.mapping import KeyMapping, mapping_of
from vlassess_link.specs import PolicyIdentity, PolicySpec
from vlassess_link.wire import openpi
from vlassess_link.wire.access import PLAIN, Access
from vlassess_link.wire.dialling import NotYet, connect, retried
from vlassess_link.wire.keeper import Keeper
from vlassess_link.wire.websocket import WebSocket

CLOSE_SECONDS = 1.0
TEXT_LIMIT = 4000
_NOT_KEPT = ("state", "policy_timing", "server_timing")


class OpenpiPolicy(Policy):
    """Talks to a server that speaks openpi's protocol.

    Args:
        url: ``ws://host:port``.
        mapping: Which camera and state goes under which key: see `mapping_of`.
        connect_deadline: Seconds until a policy must have answered, all tries together.
        inference_deadline: Seconds until each answer must be there.
        access: Token and trusted certificates; the token goes as openpi's ``Api-Key``.

    Attributes:
        metadata: What the server said of itself.

    Raises:
        ContractError: the url is none of a websocket, or the mapping is wrong.
        PolicyUnavailable: nobody answered in time.
        HandshakeError: somebody answered who speaks another protocol.
    """

    hears_start = False

    def __init__(
        self,
        url: str,
        mapping: Union[str, Mapping[str, Any], None],
        connect_deadline: float = 60.0,
        inference_deadline: float = 60.0,
        access: Access = PLAIN,
    ) -> None:
        self._url = url
        self._mapping: KeyMapping = mapping_of(mapping)
        self._connect_deadline = connect_deadline
        self._inference_deadline = inference_deadline
        self._access = access
        self._websocket: Optional[WebSocket] = None
        self._in_episode = False
        self._keeper = Keeper()
        self._keeper.start()
        self.metadata: Dict[str, Any] = {}
        self.connect()

    def connect(self) -> None:
        """Make sure that there is a connection.

        Raises:
            PolicyUnavailable: nobody answered in time.
            HandshakeError: somebody answered who speaks another protocol.
        """
        if self._websocket is None or not self._websocket.alive:
            self._drop()
            self._websocket = retried(self._url, self._connect_deadline, self._open)
            self._keeper.add(self._websocket)
            self.spec = self._spec()

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode, of which the server learns nothing."""
        try:
            self.connect()
        except HandshakeError as error:
            raise PolicyUnavailable(f"the policy server changed between two episodes: {error}") from error
        self._in_episode = True

    def predict(self, obs: Observation) -> ActionChunk:
        """Return the server's next actions.

        Raises:
            PolicyFault: the policy failed, or did not answer in time.
            ConnectionLost: the connection broke, or `reset` was not called since it did.
            ObservationError: the observation has not what the mapping asks for, or cannot be sent.
            DecodeError: what the server sent is no answer.
        """
        websocket = self._websocket
        if websocket is None or not self._in_episode:
            raise ConnectionLost(f"no episode is open at {self._url}: call reset() before predict()")
        try:
            frame = openpi.pack(self._mapping.outgoing(obs))
        except EncodeError as error:
            raise ObservationError(f"the observation cannot be sent: {error}") from error
        done = False
        try:
            chunk = self._chunk(self._exchange(websocket, frame))
            done = True
        finally:
            if not done:
                self._drop()
        return chunk

    def reaching_model(self, obs: Observation) -> Observation:
        """Return what the mapping sends of an observation."""
        return self._mapping.taken(obs)

    def close(self) -> None:
        """Close the connection."""
        self._drop()
        self._keeper.stop()

    def _open(self, seconds: float) -> WebSocket:
        websocket = connect(self._url, seconds, self._access, "Api-Key")
        done = False
        try:
            frame = websocket.recv(seconds)
            if isinstance(frame, str):
                raise HandshakeError(f"{self._url} greets with an error: {frame[:TEXT_LIMIT]}")
            self.metadata = openpi.unpack(frame)
            done = True
        except TimeoutError:
            raise HandshakeError(
                f"{self._url} does not speak openpi's protocol: it sent no metadata first; correct the dialect"
            ) from None
        except (ConnectionClosed, OSError) as error:
            raise NotYet(f"it closed the connection before it sent metadata: {error}") from None
        except DecodeError as error:
            raise HandshakeError(f"{self._url} does not speak openpi's protocol: {error}") from None
        finally:
            if not done:
                websocket.close(timeout=CLOSE_SECONDS)
        return websocket

    def _spec(self) -> PolicySpec:
        given = self.metadata.get("name")
        name = given if isinstance(given, str) and given else "openpi"
        identity = PolicyIdentity(name, config_digest=content_id(to_json(self._mapping)))
        return PolicySpec(
            identity,
            cameras=self._mapping.cameras,
            chunk=self._mapping.chunk,
            horizon=self._mapping.horizon,
            stochastic=True,
        )

    def _exchange(self, websocket: WebSocket, frame: bytes) -> Dict[str, Any]:
        try:
            websocket.send(frame, self._inference_deadline)
            answer = websocket.recv(self._inference_deadline)
        except TimeoutError:
            raise InferenceTimeout(
                f"{self._url} did not answer within {self._inference_deadline:g} s: mend the policy or raise the "
                "inference deadline"
            ) from None
        except (ConnectionClosed, OSError) as error:
            raise ConnectionLost(f"the connection to {self._url} broke while an answer was awaited: {error}") from None
        if isinstance(answer, str):
            raise PredictError(f"the server's policy raised: {answer[-TEXT_LIMIT:]}")
        return openpi.unpack(answer)

    def _drop(self) -> None:
        websocket, self._websocket = self._websocket, None
        self._in_episode = False
        if websocket is not None:
            self._keeper.discard(websocket)
            websocket.close(timeout=CLOSE_SECONDS)

    def _chunk(self, answer: Dict[str, Any]) -> ActionChunk:
        kept = {
            key: value
            for key, value in answer.items()
            if key not in _NOT_KEPT and isinstance(value, (str, int, float, np.ndarray, np.generic))
        }
        chunk = ActionChunk.of(kept)
        if len(chunk.actions) < self._mapping.horizon:
            raise InvalidActionError(
                f"the server answered {len(chunk.actions)} actions; {self._mapping.horizon} of each answer are to be "
                "executed: set the mapping's chunk and horizon"
            )
        return chunk
