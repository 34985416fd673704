# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24", "msgpack>=1.0.8", "websockets>=15", "onnxruntime>=1.20"]
# ///
"""A small policy that sees two cameras, reads the instruction and was trained with ``make train``.

Its weights are one ONNX file, which also says how words become numbers. See ``mini_vla.md`` beside them for what it
was trained on, how well it does, and what it cannot do.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as native

from vlassess_link.data import ActionChunk, Observation
from vlassess_link.errors import ContractError, PluginError
from vlassess_link.policies.model import Answer, PredictModelServer, SessionContext
from vlassess_link.spaces import Component, Layout, end_effector_delta
from vlassess_link.specs import PolicyIdentity, PolicySpec

CAMERAS = ("agent", "wrist")
SIZE = 128
WEIGHTS = Path(__file__).resolve().parent / "weights" / "mini_vla.onnx"
_REFUSALS: tuple[type[Exception], ...] = (
    *(found for found in vars(native).values() if isinstance(found, type) and issubclass(found, Exception)),
    *(RuntimeError, ValueError, KeyError, TypeError),
)
"""What onnxruntime raises, whose exceptions have no base of their own, and what other people's metadata raise."""

WORD = re.compile(r"[a-z0-9]+")


class Words:
    """Turns text into numbers: 0 pads, known words follow, then buckets that unknown words fall into.

    Args:
        known: The vocabulary, in the order of its numbers.
        buckets: How many buckets there are.
        length: Words that are read; what comes after is not.
    """

    def __init__(self, known: tuple[str, ...], buckets: int, length: int) -> None:
        self.known, self.buckets, self.length = known, buckets, length
        self._numbers = {word: number for number, word in enumerate(known, 1)}
        self._last: tuple[str, np.ndarray] = ("", self._read(""))

    @property
    def size(self) -> int:
        """How many different numbers there are."""
        return 1 + len(self.known) + self.buckets

    def __call__(self, text: str) -> np.ndarray:
        """Return (length,) int64; it must not be changed."""
        if text != self._last[0]:
            self._last = text, self._read(text)
        return self._last[1]

    def _read(self, text: str) -> np.ndarray:
        numbers = [self._number(word) for word in WORD.findall(text.lower())[: self.length]]
        return np.array(numbers + [0] * (self.length - len(numbers)), np.int64)

    def _number(self, word: str) -> int:
        bucket = 1 + len(self.known) + zlib.crc32(word.encode()) % self.buckets
        return self._numbers.get(word, bucket)


def proprioception() -> Layout:
    """Return the layout of the eight numbers that it reads, as the benchmark that it was trained on declares them."""
    position = Component(
        "eef_position", "position", 3, "absolute", "base", unit="meter", source="site between the pads"
    )
    rotation = replace(
        position,
        name="eef_rotation",
        kind="rotation",
        rotation="axis_angle_2pi",
        unit="radian",
        source="same site; of the two quaternions the one whose x is not negative; down is (pi, 0, 0)",
    )
    fingers = Component(
        "gripper_qpos",
        "joints",
        2,
        "absolute",
        "joint",
        unit="meter",
        low=-0.04,
        high=0.04,
        source="finger joints: left in [0, 0.04], right in [-0.04, 0], 0 is closed",
    )
    return Layout((position, rotation, fingers))


class MiniVla(PredictModelServer):
    """Answers ten actions for two images, proprioception and an instruction; deterministic, batched.

    Args:
        weights: ONNX file; empty for the one that comes with it.
        horizon: Actions that are executed before it looks again, 1 to 10.
    """

    name = "mini-vla"
    weights = WEIGHTS

    def __init__(self, weights: str = "", horizon: int = 5) -> None:
        self._path = Path(weights).expanduser() if weights else self.weights
        if not self._path.is_file():
            raise ContractError(f"weights is {str(self._path)!r}, which is no file; name an ONNX file of `make train`")
        digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        self.spec = PolicySpec(
            PolicyIdentity(self.name, revision="1", weights_digest=digest),
            cameras=CAMERAS,
            image_size=(SIZE, SIZE),
            image_dtypes=("uint8", "float32"),
            state=proprioception(),
            action=end_effector_delta("", 0.05, 0.5),
            control_rate_hz=20.0,
            chunk=10,
            horizon=horizon,
        )
        self._session: Any = None
        self._words = Words((), 1, 1)

    def load(self) -> None:
        """Read the weights.

        Raises:
            PluginError: the file holds no weights of ``make train``.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])
            self._words = _words(session.get_modelmeta().custom_metadata_map)
        except _REFUSALS as error:
            raise PluginError(f"{self._path} holds no weights of mini-vla: {error}") from error
        self._session = session

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Answer every observation; what stands beside it changes an answer by less than 1e-5."""
        inputs = {name: np.empty((len(obs), 3, SIZE // 2, SIZE // 2), np.float32) for name in CAMERAS}
        for number, one in enumerate(obs):
            for name in CAMERAS:
                halve(_picture(one, name), inputs[name][number])
        inputs["state"] = np.stack([_state(one) for one in obs])
        inputs["tokens"] = np.stack([self._words(one.instruction) for one in obs])
        (actions,) = self._session.run(["actions"], inputs)
        return [ActionChunk(chunk) for chunk in actions]


def _words(metadata: Mapping[str, str]) -> Words:
    stored = json.loads(metadata["words"])
    return Words(tuple(stored["known"]), int(stored["buckets"]), int(stored["length"]))


def _picture(obs: Observation, camera: str) -> np.ndarray:
    image = obs.images.get(camera)
    if image is None or image.shape != (SIZE, SIZE, 3):
        shape = "missing" if image is None else f"of shape {image.shape}"
        raise ContractError(f"the image {camera!r} is {shape}; mini-vla looks at {SIZE}x{SIZE} RGB")
    return image


def halve(image: np.ndarray, out: np.ndarray) -> None:
    """Write sums of 2x2 pixels of (height, width, 3) to (3, height / 2, width / 2) float32, in [0, 1020]."""
    height, width, channels = image.shape
    rows = image.reshape(height // 2, 2, width * channels)
    pairs = np.add(rows[:, 0], rows[:, 1], dtype=np.float32).reshape(height // 2, width // 2, 2, channels)
    planes = pairs.transpose(3, 2, 0, 1)
    np.add(planes[:, 0], planes[:, 1], out=out)


def _state(obs: Observation) -> np.ndarray:
    if obs.state is None or obs.state.shape != (8,):
        raise ContractError("mini-vla reads 8 numbers of proprioception: position, axis-angle and two fingers")
    return np.asarray(obs.state, np.float32)


if __name__ == "__main__":
    from vlassess_link.policies.server import serve

    serve(MiniVla)
