"""What the messages of the default dialect mean: typed values to payloads and back, no sockets.

The envelope ``{type, payload, seq, timestamp}`` and the types hello, observation, action, episode_start,
episode_end and error are those of vla-eval's protocol 1, so its clients and servers can talk to ours. What is
ours is announced in HELLO under ``capabilities`` and used only when both sides have it:

| capability | what it adds |
|---|---|
| chunks | an action message carries the whole chunk (T, D) instead of one action (D,) |
| acks | episode_start is answered, so that an error in it belongs to it |
| query | the message "query": stateless, batched |
| answer | the message "answer": a question with options; see `questions` |
| float32_images | images may be float32 on the scale [0, 255] |
| out_of_band | bodies of arrays lie behind the map; see `envelope` |
| shared_memory | the client's arrays lie in memory that both ends map; see `memory` |

Whatever else is ours lies under the one key `EXTENSION`, which other peers ignore.

Every request carries a ``seq`` from 1 that its answer repeats; 0 marks an answer to what could not be read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from vlassess_link._version import __version__
from vlassess_link.data import ActionChunk, EpisodeStart, Observation
from vlassess_link.errors import (
    ConnectionLost,
    ContractError,
    DecodeError,
    EpisodeFault,
    HandshakeError,
    InvalidActionError,
    ObservationError,
    PredictError,
)
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.specs import PolicySpec
from vlassess_link.wire import codec, vlaeval
from vlassess_link.wire.codec import Frame

PROTOCOL_VERSION = 1
EXTENSION = "vlassess"

HELLO = "hello"
OBSERVATION = "observation"
ACTION = "action"
EPISODE_START = "episode_start"
EPISODE_END = "episode_end"
ERROR = "error"
QUERY = "query"
ANSWER = "answer"
TYPES = (HELLO, OBSERVATION, ACTION, EPISODE_START, EPISODE_END, ERROR, QUERY, ANSWER)

CHUNKS = "chunks"
ACKS = "acks"
FLOAT32_IMAGES = "float32_images"
OUT_OF_BAND = "out_of_band"
SHARED_MEMORY = "shared_memory"
CAPABILITIES = (CHUNKS, ACKS, QUERY, FLOAT32_IMAGES, OUT_OF_BAND, SHARED_MEMORY, ANSWER)

OBSERVATION_KEYS = frozenset(("images", "task_description", "states", "state", "step", EXTENSION))
"""Names that no extra array of an observation can have."""


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        type: One of `TYPES`.
        payload: A map of what `codec` carries.
        seq: From 1, chosen by whoever asks, repeated in the answer; 0 answers what could not be read.
        timestamp: When it was made, seconds since 1970.
    """

    type: str
    payload: Mapping[str, Any]
    seq: int = 0
    timestamp: float = field(default_factory=time.time)

    def pack(self, form: str = "raw") -> bytes:
        """Return the frame, as every peer reads it; ``form``: how images go, see `codec.pack`.

        Raises:
            EncodeError: the payload holds what the wire does not carry.
        """
        return codec.pack(self._map(), form)

    def parts(self, memory: Optional[memoryview] = None) -> Frame:
        """Return the frame with arrays out of band; see `codec.pack_parts`.

        Raises:
            EncodeError: the payload holds what the wire does not carry.
        """
        return codec.pack_parts(self._map(), memory)

    def _map(self) -> Dict[str, Any]:
        return {"type": self.type, "payload": self.payload, "seq": self.seq, "timestamp": self.timestamp}

    @classmethod
    def unpack(cls, frame: Any, memory: Optional[memoryview] = None) -> Message:
        """Build the message of a received frame; ``memory``: shared with its sender.

        Raises:
            DecodeError: it is a text frame, no message, or of an unknown type.
        """
        if isinstance(frame, str):
            raise DecodeError(f"a text frame came ({frame[:200]!r}); the protocol has binary frames only")
        raw = codec.unpack(frame, memory)
        kind, payload, seq, timestamp = (raw.get(key) for key in ("type", "payload", "seq", "timestamp"))
        if kind not in TYPES:
            raise DecodeError(f"the message has the type {str(kind)[:80]!r}; it must be one of {', '.join(TYPES)}")
        if not isinstance(payload, dict):
            raise DecodeError(f"the {kind} message has a payload of type {type(payload).__name__}; it must be a map")
        if type(seq) is not int or seq < 0:
            raise DecodeError(f"the {kind} message has the seq {str(seq)[:80]!r}; it must be an integer from 0")
        if not isinstance(timestamp, (int, float)):
            raise DecodeError(f"the {kind} message has no timestamp; it must be seconds since 1970")
        return cls(kind, payload, seq, float(timestamp))


@dataclass(frozen=True)
class Hello:
    """What one side learns of the other.

    Attributes:
        capabilities: Of `CAPABILITIES`; empty for a peer of another make.
        spec: The policy's, from a server.
        session: What a server calls this session in ``/health``; None where it has no name.
        memory: What a client offers to share, unchecked.
    """

    capabilities: FrozenSet[str] = frozenset()
    spec: Optional[PolicySpec] = None
    session: Optional[str] = None
    memory: Any = None

    @property
    def ours(self) -> bool:
        """Whether the peer is of this project, so that it reads what lies under `EXTENSION`."""
        return bool(self.capabilities)


def hello_request(memory: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """Return the payload with which a client opens; ``memory``: what it offers to share."""
    has = {name: True for name in CAPABILITIES if name != SHARED_MEMORY or memory is not None}
    return _hello(has, **({EXTENSION: {"memory": memory}} if memory is not None else {}))


def hello_answer(spec: PolicySpec, session: str = "", shares_memory: bool = False) -> Dict[str, Any]:
    """Return the payload with which the server of a policy answers; ``session`` is what it calls the client's."""
    has = {
        CHUNKS: True,
        ACKS: True,
        QUERY: QUERY in spec.capabilities,
        ANSWER: ANSWER in spec.capabilities,
        FLOAT32_IMAGES: "float32" in spec.image_dtypes,
        OUT_OF_BAND: True,
        SHARED_MEMORY: shares_memory,
    }
    own = {EXTENSION: {"spec": to_json(spec), "session": session}}
    return _hello(has, model_server=spec.identity.name, **vlaeval.announced(spec), **own)


def _hello(capabilities: Mapping[str, bool], **more: Any) -> Dict[str, Any]:
    return {
        "harness_version": f"{EXTENSION} {__version__}",
        "protocol_version": PROTOCOL_VERSION,
        "capabilities": dict(capabilities),
        **more,
    }


def parse_hello(payload: Mapping[str, Any]) -> Hello:
    """Return what the peer announced. A server that sends no `PolicySpec` gets one with what is known.

    Raises:
        HandshakeError: another protocol version, or a spec that cannot be read.
    """
    version = payload.get("protocol_version")
    if version != PROTOCOL_VERSION:
        raise HandshakeError(
            f"the peer speaks protocol version {str(version)[:40]}, this side {PROTOCOL_VERSION}: use matching versions"
        )
    given = payload.get("capabilities") or {}
    has = frozenset(name for name in CAPABILITIES if isinstance(given, Mapping) and given.get(name) is True)
    extension = payload.get(EXTENSION)
    extension = extension if isinstance(extension, Mapping) else {}
    if "spec" in extension:
        try:
            session = extension.get("session")
            spec = from_json(PolicySpec, extension["spec"])
            return Hello(has, spec, session if session and isinstance(session, str) else None)
        except (ContractError, TypeError) as error:
            raise HandshakeError(
                f"the server's policy spec cannot be read: {error}; install the same vlassess-link on both sides"
            ) from None
    foreign = vlaeval.foreign_spec(payload) if "model_server" in payload else None
    return Hello(has, foreign, memory=extension.get("memory"))


def start_payload(start: EpisodeStart, policy_seed: int) -> Dict[str, Any]:
    """Return the payload of episode_start."""
    return {
        "task": {"name": start.task, "suite": start.suite, "task_description": start.instruction},
        "mode": start.mode,
        EXTENSION: {"episode_id": start.episode_id, "policy_seed": policy_seed},
    }


def parse_start(payload: Mapping[str, Any]) -> Tuple[EpisodeStart, Optional[int]]:
    """Return the start and the noise seed, which is None (and the episode id empty) where the peer sent none.

    Raises:
        DecodeError: a field has the wrong type.
    """
    task, own = _map(payload, "task"), _map(payload, EXTENSION)
    name = _text(task, "name")
    instruction = _text(task, "task_description") or name
    seed = own.get("policy_seed")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise DecodeError(f"policy_seed is {str(seed)[:40]}; it must be an integer from 0")
    mode = _text(payload, "mode") or "sync"
    return EpisodeStart(_text(own, "episode_id"), _text(task, "suite"), name, instruction, mode), seed


def observation_payload(obs: Observation) -> Dict[str, Any]:
    """Return the payload of an observation.

    Raises:
        ObservationError: an extra has a name that the message uses itself.
    """
    taken = sorted(OBSERVATION_KEYS.intersection(obs.extras)) if obs.extras else ()
    if taken:
        raise ObservationError(f"an extra array is called {taken[0]!r}, which the wire uses itself: rename it")
    payload: Dict[str, Any] = {"images": dict(obs.images), "task_description": obs.instruction, **obs.extras}
    if obs.state is not None:
        payload["states"] = obs.state
    payload["step"] = obs.step
    return payload


def parse_observation(payload: Mapping[str, Any], step: int = 0) -> Observation:
    """Return the observation; ``step`` is taken where the peer sends none.

    Raises:
        DecodeError: a field has the wrong type.
    """
    images = _map(payload, "images")
    for name, image in images.items():
        if not isinstance(image, np.ndarray):
            raise DecodeError(f"images.{name} is of type {type(image).__name__}; it must be an array")
    state = payload.get("states", payload.get("state"))
    extras = {key: value for key, value in payload.items() if key not in OBSERVATION_KEYS}
    if state is not None and not isinstance(state, np.ndarray):
        if isinstance(state, Mapping):
            # Some peers send named parts instead of one vector; there is no layout to join them by.
            extras["state"], state = state, None
        else:
            state = _vector(state)
    given = payload.get("step", step)
    if type(given) is not int or given < 0:
        raise DecodeError(f"step is {str(given)[:40]!r}; it must be an integer from 0")
    return Observation(images, _text(payload, "task_description"), state, extras, given)


def action_payload(chunk: ActionChunk) -> Dict[str, Any]:
    """Return the payload of an answer with a whole chunk, (T, D)."""
    return {**chunk.extras, "actions": chunk.actions}


def one_action_payload(action: np.ndarray) -> Dict[str, Any]:
    """Return the payload of an answer with one action, (D,), for a peer that knows no chunks."""
    return {"actions": action}


def parse_action(payload: Mapping[str, Any], chunks: bool) -> ActionChunk:
    """Return the answer as a chunk.

    Args:
        payload: Of the action message.
        chunks: Whether whole chunks were negotiated; without it a chunk cannot be told from a mistake.

    Raises:
        InvalidActionError: not finite, not float, or of another shape.
    """
    given = {"actions": payload["action"], **payload} if "action" in payload and "actions" not in payload else payload
    chunk = ActionChunk.of(given)
    if not chunks and len(chunk.actions) > 1:
        raise InvalidActionError(
            f"the server answered {len(chunk.actions)} actions to one observation without announcing chunks, so how "
            "many to execute is unknown: set the server's chunk_size"
        )
    return chunk


def query_payload(observations: Sequence[Observation], noise_seed: int) -> Dict[str, Any]:
    """Return the payload of a query."""
    return {"observations": [observation_payload(obs) for obs in observations], "noise_seed": noise_seed}


def parse_query(payload: Mapping[str, Any]) -> Tuple[List[Observation], int]:
    """Return a query's observations and noise seed.

    Raises:
        DecodeError: a field is missing or has the wrong type.
    """
    observations, seed = payload.get("observations"), payload.get("noise_seed")
    if not isinstance(observations, list) or not all(isinstance(item, dict) for item in observations):
        raise DecodeError("the query's observations must be a list of maps")
    if type(seed) is not int or seed < 0:
        raise DecodeError(f"the query's noise_seed is {str(seed)[:40]}; it must be an integer from 0")
    return [parse_observation(item) for item in observations], seed


def answers_payload(chunks: Sequence[ActionChunk]) -> Dict[str, Any]:
    """Return the payload of the answer to a query."""
    return {"chunks": [action_payload(chunk) for chunk in chunks]}


def parse_answers(payload: Mapping[str, Any], count: int) -> List[ActionChunk]:
    """Return the chunks that answer a query of ``count`` observations.

    Raises:
        DecodeError: another number of answers.
        InvalidActionError: one of them is no action chunk.
    """
    chunks = payload.get("chunks")
    if not isinstance(chunks, list) or len(chunks) != count or not all(isinstance(item, dict) for item in chunks):
        raise DecodeError(f"the answer to a query of {count} observations must be a list of {count} maps")
    return [parse_action(item, chunks=True) for item in chunks]


def error_payload(error: Exception) -> Dict[str, Any]:
    """Return the payload that tells a peer of an error: who is charged, which class, one sentence."""
    origin = error.origin if isinstance(error, EpisodeFault) else "protocol"
    text = str(error).encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate cannot be sent
    return {"kind": origin, "exception": type(error).__name__, "message": text}


def parse_error(payload: Mapping[str, Any]) -> EpisodeFault:
    """Return the exception that a received error stands for.

    A peer of another make says neither kind nor class; all its errors come from the model's code.
    """
    kind = payload.get("kind", "policy")
    text = str(payload.get("message") or payload.get("error") or payload)[:4000]
    if kind == "policy":
        return InvalidActionError(text) if payload.get("exception") == "InvalidActionError" else PredictError(text)
    return ConnectionLost(f"the server refused to go on ({str(kind)[:40]} error): {text}")


def _map(payload: Mapping[str, Any], key: str) -> Dict[str, Any]:
    value = payload.get(key)
    if value is not None and not isinstance(value, dict):
        raise DecodeError(f"{key} is of type {type(value).__name__}; it must be a map")
    return dict(value or {})


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if value is not None and not isinstance(value, str):
        raise DecodeError(f"{key} is of type {type(value).__name__}; it must be a text")
    return value or ""


def _vector(value: Any) -> np.ndarray:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise DecodeError(f"states is {str(value)[:80]!r}; it must be an array or a list of numbers") from None
