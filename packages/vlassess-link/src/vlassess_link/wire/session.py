"""The server's end of one connection, without its socket: frames in, frames out.

A dialect of another make is another class like this one. What belongs to one episode lives in the
`ModelSession` and the action buffer, and both are replaced when the next episode starts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Callable, Deque, Dict, Mapping, Optional, Tuple

import numpy as np

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import (
    ConnectionLost,
    DecodeError,
    EncodeError,
    HandshakeError,
    PolicyFault,
    PredictError,
    VlassessError,
)
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.model import ModelSession
from vlassess_link.wire import codec, messages, questions
from vlassess_link.wire.codec import Frame
from vlassess_link.wire.memory import attach
from vlassess_link.wire.messages import Hello, Message
from vlassess_link.wire.patterns import Reader, Writer

Reply = Tuple[str, Mapping[str, Any]]
"""Type and payload of an answer."""


class ServerSession:
    """Answers the messages of one client.

    Args:
        host: The loaded model.
        session_id: Opaque; unique within the server.
        alive: Whether the client is still there; a request of one that left is not computed.

    Attributes:
        over: Nothing more can be answered; the connection must be closed.
        in_episode: An episode is running.
    """

    def __init__(self, host: ModelHost, session_id: str, alive: Callable[[], bool] = lambda: True) -> None:
        self.over = False
        self._host = host
        self._id = session_id
        self._alive = alive
        self._model = ModelSession(host.model, session_id)
        self._hello: Optional[Hello] = None
        self._reader, self._writer = Reader(), Writer()
        self.in_episode = False
        self._step = 0
        self._buffer: Deque[np.ndarray] = deque()
        self._handlers: Dict[str, Callable[[Mapping[str, Any]], Optional[Reply]]] = {
            messages.HELLO: self._on_hello,
            messages.EPISODE_START: self._on_start,
            messages.OBSERVATION: self._on_observation,
            messages.QUERY: self._on_query,
            messages.ANSWER: self._on_answer,
            messages.EPISODE_END: self._on_end,
            messages.ERROR: self._on_end,
        }

    def answer(self, frame: Any) -> Optional[Frame]:
        """Return the answer to a received frame (a buffer, or several in a row), None where it has none.

        Never raises for what a client sent or a model did: both become an error message. A frame that cannot
        be read, or another protocol version, ends the session, since the two sides no longer agree.
        """
        seq = 0
        try:
            kind, payload, seq = self._reader.read(frame)
            if self._hello is None and kind not in (messages.HELLO, messages.ERROR):
                raise DecodeError(f"a {kind} message came before hello: say hello first")
            handler = self._handlers.get(kind)
            if handler is None:
                raise DecodeError(f"a client sends no {kind} message")
            reply = handler(payload)
            return None if reply is None else self._frame(*reply, seq)
        except EncodeError as error:
            self.in_episode = False
            return self._error(PredictError(f"the policy's answer cannot be sent: {error}"), seq)
        except PolicyFault as error:
            # The model may hold half of a step; nothing of this episode goes on.
            self.in_episode = False
            return self._error(error, seq)
        except (HandshakeError, ConnectionLost) as error:
            self.over = True
            return self._error(error, seq)
        except DecodeError as error:
            self.over = seq == 0
            return self._error(error, seq)

    @property
    def greeted(self) -> bool:
        """Whether the client has said HELLO."""
        return self._hello is not None

    def greeting(self) -> Optional[Frame]:
        """Return what the server says before it is asked: nothing."""
        return None

    def close(self) -> None:
        """Say that the client is gone, and give back what it held at once: no cycle waits for the collector."""
        self.in_episode = False
        self.over = True
        self._host.left(self._id)
        self._reader.memory = None
        self._buffer.clear()
        self._handlers.clear()

    def _frame(self, kind: str, payload: Mapping[str, Any], seq: int) -> Frame:
        if self._has(messages.OUT_OF_BAND):
            return self._writer.frame(kind, payload, seq)
        return Message(kind, payload, seq).pack()

    def _error(self, error: Exception, seq: int) -> bytes:
        return Message(messages.ERROR, messages.error_payload(error), seq).pack()

    def _on_hello(self, payload: Mapping[str, Any]) -> Reply:
        hello = messages.parse_hello(payload)
        memory = attach(hello.memory, codec.MAX_FRAME_BYTES) if hello.memory is not None else None
        self._reader.memory, self._hello = memory, hello
        return messages.HELLO, messages.hello_answer(self._host.spec, self._id, memory is not None)

    def _on_start(self, payload: Mapping[str, Any]) -> Optional[Reply]:
        start, seed = messages.parse_start(payload)
        if not start.episode_id:
            start = replace(start, episode_id=self._id)
        self._buffer.clear()
        self._step = 0
        self.in_episode = False
        self._host.paused(self._id)
        if self._host.draining:
            raise ConnectionLost("the policy server is shutting down and begins no new episode")
        self._call(self._model.start_episode, start, self._host.next_seed() if seed is None else seed)
        self.in_episode = True
        self._host.metrics.count("episodes")
        return (messages.EPISODE_START, {}) if self._has(messages.ACKS) else None

    def _on_observation(self, payload: Mapping[str, Any]) -> Reply:
        if not self.in_episode:
            raise DecodeError("an observation came before episode_start: an episode must be started first")
        obs = messages.parse_observation(payload, self._step)
        self._step = obs.step + 1
        if self._has(messages.CHUNKS):
            return messages.ACTION, messages.action_payload(self._predict(obs))
        if not self._buffer:
            spec = self._host.spec
            used = 1 if spec.observe == "every_step" else spec.horizon
            self._buffer.extend(self._predict(obs).actions[:used])
        return messages.ACTION, messages.one_action_payload(self._buffer.popleft())

    def _on_query(self, payload: Mapping[str, Any]) -> Reply:
        observations, seed = messages.parse_query(payload)
        return messages.QUERY, messages.answers_payload(self._call(self._model.query, observations, seed))

    def _on_answer(self, payload: Mapping[str, Any]) -> Reply:
        question, options = questions.parse_question(payload)
        return messages.ANSWER, questions.choice_payload(self._call(self._model.answer, question, options))

    def _on_end(self, payload: Mapping[str, Any]) -> None:
        self.in_episode = False
        self._buffer.clear()
        self._host.paused(self._id)

    def _predict(self, obs: Observation) -> ActionChunk:
        return self._host.predict(self._model, obs, self._alive)

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return self._host.call(function, *args, wanted=self._alive, session_id=self._id)
        except VlassessError:
            raise
        except (Exception, SystemExit) as error:
            raise PredictError(f"the policy's answer cannot be used: {type(error).__name__}: {error}") from error

    def _has(self, capability: str) -> bool:
        return self._hello is not None and capability in self._hello.capabilities
