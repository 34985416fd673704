"""The server's end of one connection of openpi's protocol, without its socket.

Its clients have no episodes: a connection is one, and a new instruction begins another. They keep chunks
themselves, so each answer is a whole one.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, Optional, Union

from vlassess_link.data import EpisodeStart, Observation
from vlassess_link.errors import DecodeError, VlassessError
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.mapping import KeyMapping
from vlassess_link.policies.model import ModelSession
from vlassess_link.wire import openpi
from vlassess_link.wire.codec import Frame

log = logging.getLogger(__name__)


class OpenpiSession:
    """Answers the frames of one client.

    Args:
        host: The loaded model.
        session_id: Opaque; unique within the server.
        mapping: Under which keys its clients send what.
        alive: Whether the client is still there; a request of one that left is not computed.

    Attributes:
        over: Nothing more can be answered; the connection must be closed.
        in_episode: Whether an observation has come.
        greeted: True: there is nothing that a client must say first.
    """

    greeted = True

    def __init__(
        self, host: ModelHost, session_id: str, mapping: KeyMapping, alive: Callable[[], bool] = lambda: True
    ) -> None:
        self.over = False
        self.in_episode = False
        self._host = host
        self._id = session_id
        self._mapping = mapping
        self._alive = alive
        self._model = ModelSession(host.model, session_id)
        self._instruction: Optional[str] = None
        self._step = 0
        if host.spec.history:
            log.warning(
                "the policy remembers %d observations, and openpi's clients do not say when an episode ends",
                host.spec.history,
            )

    def greeting(self) -> Optional[Frame]:
        """Return what the server says first: who the policy is."""
        spec = self._host.spec
        metadata: Dict[str, Any] = {
            "name": spec.identity.name,
            "identity": spec.identity.digest,
            "action_horizon": spec.horizon,
        }
        return openpi.pack(metadata)

    def answer(self, frame: Any) -> Union[str, Frame]:
        """Return the answer to a received frame: an action map, or the text of an error, which ends the session."""
        begun = time.monotonic()
        try:
            if isinstance(frame, str):
                raise DecodeError("openpi's clients send binary frames only")
            answer = self._infer(openpi.unpack(frame))
            answer["server_timing"] = {"infer_ms": (time.monotonic() - begun) * 1000.0}
            return openpi.pack(answer)
        except VlassessError as error:
            self.over = True
            return f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """Say that the client is gone."""
        self.in_episode = False
        self._host.left(self._id)

    def _infer(self, message: Dict[str, Any]) -> Dict[str, Any]:
        obs = self._mapping.incoming(message, self._host.spec.cameras, self._step)
        if not self.in_episode or obs.instruction != self._instruction:
            obs = self._begin(obs)
        self._step = obs.step + 1
        chunk = self._host.predict(self._model, obs, wanted=self._alive)
        return {**chunk.extras, "actions": chunk.actions}

    def _begin(self, obs: Observation) -> Observation:
        start = EpisodeStart(self._id, "", obs.instruction, obs.instruction)
        self._instruction = obs.instruction
        seed = self._host.next_seed()
        self._host.call(self._model.start_episode, start, seed, wanted=self._alive, session_id=self._id)
        self.in_episode = True
        return Observation(obs.images, obs.instruction, obs.state, obs.extras, 0)
