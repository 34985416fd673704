"""Which camera, which part of the state and which text goes under which key of somebody else's observation.

A mapping is plain data, so that a config can hold it::

    mapping: libero
    mapping: {like: libero, images: {observation/image: front, observation/wrist_image: wrist}}
    mapping:
      images: {images.cam_high: top}
      state: {state: [0, 14]}
      instruction: prompt
      size: [224, 224]
      channels_first: true
      chunk: 50
      horizon: 25

A "." in a key goes one map deeper. A camera is named exactly; where a ready-made mapping says words instead, the
first camera whose name contains one of them is meant, so `observation/image` finds "agentview" and "front" alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from vlassess_link.data import Observation
from vlassess_link.errors import ContractError, ObservationError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.policies.pictures import resize_with_pad

Camera = Union[str, Tuple[str, ...]]

MAIN = ("agentview", "exterior", "front", "main", "base", "top", "scene", "image")
WRIST = ("wrist", "eye_in_hand", "hand", "gripper")


def _is_range(part: Any) -> bool:
    if not isinstance(part, (list, tuple)) or len(part) != 2:
        return False
    first, end = part
    return type(first) is int and first >= 0 and (end is None or (type(end) is int and end > first))


def _are_words(camera: Any) -> bool:
    return isinstance(camera, (list, tuple)) and bool(camera) and all(isinstance(word, str) for word in camera)


@dataclass(frozen=True)
class KeyMapping:
    """How an `Observation` becomes a map of another dialect, and the reverse.

    Attributes:
        images: Key -> name of a camera, or a list of words of which its name contains one.
        state: Key -> [first, end) of the state vector; end None: to its end.
        instruction: Key of the text; None: none is sent.
        size: (height, width) to which images are brought, keeping their proportions, with black borders; None: as
            they come.
        channels_first: Images are (C, H, W).
        optional: Keys of images that are left out where there is no such camera.
        chunk: Actions in one answer.
        horizon: How many of them are executed.
    """

    images: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    instruction: Optional[str] = "prompt"
    size: Optional[Tuple[int, ...]] = None
    channels_first: bool = False
    optional: Tuple[str, ...] = ()
    chunk: int = 1
    horizon: int = 1

    def __post_init__(self) -> None:
        for key, camera in self.images.items():
            if not isinstance(camera, str) and not _are_words(camera):
                raise ContractError(f"mapping.images.{key} is {camera!r}; it must be a camera's name")
        for key, part in self.state.items():
            if not _is_range(part):
                raise ContractError(f"mapping.state.{key} is {part!r}; it must be [first, end], as [0, 7]")
        if self.size is not None and (len(self.size) != 2 or min(self.size) < 1):
            raise ContractError(f"mapping.size is {self.size}; it must be [height, width]")
        if not 1 <= self.horizon <= self.chunk:
            raise ContractError(f"mapping.horizon is {self.horizon}; it must be from 1 to chunk ({self.chunk})")

    @property
    def cameras(self) -> Optional[Tuple[str, ...]]:
        """Names of the cameras that are needed; None where words must be matched with what the benchmark has."""
        names = tuple(camera for camera in self.images.values() if isinstance(camera, str))
        return names if len(names) == len(self.images) else None

    def outgoing(self, obs: Observation) -> Dict[str, Any]:
        """Return the map of an observation.

        Raises:
            ObservationError: a camera or a part of the state is not there, or an image cannot be brought to size.
        """
        found: Dict[str, Any] = {}
        for key, camera in self.images.items():
            name = _find(camera, obs.images)
            if name is not None:
                _put(found, key, self._picture(obs.images[name], key))
            elif key not in self.optional:
                has = ", ".join(sorted(obs.images)) or "none"
                raise ObservationError(
                    f"the mapping puts the camera {_said(camera)} under {key!r}, and the observation has {has}: name "
                    "one of them in the mapping"
                )
        for key, (first, end) in self.state.items():
            _put(found, key, self._part(obs.state, key, first, end))
        if self.instruction is not None:
            _put(found, self.instruction, obs.instruction)
        return found

    def taken(self, obs: Observation) -> Observation:
        """Return an observation without what `outgoing` leaves out: cameras, the state, the text. Never raises."""
        names = {_find(camera, obs.images) for camera in self.images.values()}
        images = {name: image for name, image in obs.images.items() if name in names}
        text = obs.instruction if self.instruction is not None else ""
        return Observation(images, text, obs.state if self.state else None, step=obs.step)

    def incoming(self, message: Mapping[str, Any], cameras: Optional[Sequence[str]], step: int) -> Observation:
        """Return the observation of a received map; keys that the mapping does not know are left out.

        Args:
            message: As received.
            cameras: Those that the policy names, with which words are matched.
            step: Of the observation.

        Raises:
            ObservationError: an image or the state is missing, or no array.
        """
        images = {}
        for key, camera in self.images.items():
            image = _get(message, key)
            if image is None and key in self.optional:
                continue
            if not isinstance(image, np.ndarray) or image.ndim != 3:
                raise ObservationError(
                    f"the client sent no image under {key!r}: send a (H, W, 3) array, or serve another mapping"
                )
            name = _find(camera, cameras or ()) or _first(camera)
            images[name] = image.transpose(1, 2, 0) if self.channels_first else image
        parts = [self._received(message, key) for key in self.state]
        text = _get(message, self.instruction) if self.instruction is not None else ""
        state = np.concatenate(parts) if parts else None
        return Observation(images, text if isinstance(text, str) else "", state, step=step)

    def _picture(self, image: np.ndarray, key: str) -> np.ndarray:
        if self.size is not None and image.shape[:2] != tuple(self.size):
            image = resize_with_pad(image, self.size[0], self.size[1], f"the image for {key!r}")
        return np.ascontiguousarray(image.transpose(2, 0, 1)) if self.channels_first else image

    def _part(self, state: Optional[np.ndarray], key: str, first: int, end: Optional[int]) -> np.ndarray:
        size = 0 if state is None else len(state)
        last = size if end is None else end
        if state is None or first >= last or last > size:
            raise ObservationError(
                f"the mapping puts numbers {first} to {last} of the state under {key!r}, and the observation has "
                f"{size}: correct the mapping or take a benchmark with this state"
            )
        return state[first:last]

    def _received(self, message: Mapping[str, Any], key: str) -> np.ndarray:
        value = np.asarray(_get(message, key))
        if value.dtype.kind not in "iuf" or value.ndim > 1:
            raise ObservationError(
                f"the client sent no vector of numbers under {key!r}: send one, or serve another mapping"
            )
        return np.atleast_1d(value)


READY_MADE: Mapping[str, KeyMapping] = {
    "libero": KeyMapping(
        {"observation/image": MAIN, "observation/wrist_image": WRIST},
        {"observation/state": (0, None)},
        size=(224, 224),
        chunk=10,
        horizon=5,
    ),
    "droid": KeyMapping(
        {"observation/exterior_image_1_left": MAIN, "observation/wrist_image_left": WRIST},
        {"observation/joint_position": (0, 7), "observation/gripper_position": (7, 8)},
        size=(224, 224),
        chunk=10,
        horizon=8,
    ),
    "aloha": KeyMapping(
        {
            "images.cam_high": ("cam_high", "high", "top"),
            "images.cam_low": ("cam_low", "low"),
            "images.cam_left_wrist": ("cam_left_wrist", "left_wrist"),
            "images.cam_right_wrist": ("cam_right_wrist", "right_wrist"),
        },
        {"state": (0, None)},
        size=(224, 224),
        channels_first=True,
        optional=("images.cam_low", "images.cam_left_wrist", "images.cam_right_wrist"),
        chunk=50,
        horizon=10,
    ),
}
"""As openpi's examples send them and as many actions as its examples execute."""


def mapping_of(given: Union[str, Mapping[str, Any], None]) -> KeyMapping:
    """Return the mapping that a config holds: a ready-made one's name, or its fields, on top of one with ``like``.

    Raises:
        ContractError: an unknown name or field, or a wrong value.
    """
    if given is None:
        raise ContractError(f"the dialect needs a mapping: {', '.join(READY_MADE)}, or one of your own")
    fields = {"like": given} if isinstance(given, str) else dict(given)
    like = fields.pop("like", None)
    if like is not None and like not in READY_MADE:
        raise ContractError(f"the mapping is {like!r}; ready-made are {', '.join(READY_MADE)}")
    base: Dict[str, Any] = to_json(READY_MADE[like]) if like is not None else {}
    try:
        return from_json(KeyMapping, {**base, **fields})
    except TypeError as error:
        raise ContractError(f"the mapping cannot be read: {error}") from None


def _find(camera: Camera, names: Any) -> Optional[str]:
    if isinstance(camera, str):
        return camera if camera in names else None
    for word in camera:
        for name in names:
            # The arm's camera is not the scene's, whatever else its name says.
            if word in name and (tuple(camera) != MAIN or not any(hand in name for hand in WRIST)):
                return str(name)
    return None


def _first(camera: Camera) -> str:
    return camera if isinstance(camera, str) else camera[0]


def _said(camera: Camera) -> str:
    return repr(camera) if isinstance(camera, str) else f"with {' or '.join(camera)} in its name"


def _put(found: Dict[str, Any], key: str, value: Any) -> None:
    *outer, last = key.split(".")
    for step in outer:
        found = found.setdefault(step, {})
    found[last] = value


def _get(message: Mapping[str, Any], key: str) -> Any:
    value: Any = message
    steps: List[str] = key.split(".")
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
