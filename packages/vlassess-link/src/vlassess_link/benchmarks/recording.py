"""Records an attempt beside the loop: raw frames, steps and delivered inputs go to a folder as ``.npz``.

Two wrappers, so that the loop knows nothing of it. What a policy is given and what a simulator is told stay
the same, bit for bit: a state that the policy did not look at is rendered just before the next step, one that
it did is not rendered again, and whatever goes wrong here ends the recording, never the attempt. Nothing is
encoded here: simulators have old interpreters and no video library, and the next episode waits.

```
frames-00000.npz ...  camera_0, camera_1 ...: (n, height, width, 3) uint8, in the order of spool.json's cameras
steps.npz             one row a control step; see `StepRows.arrays`
inputs.npz            the first delivered observations; see `input_arrays`
trace.npz             everything that crossed the wire in the first steps; see `conventions.traces`
spool.json            written last: cameras, frames, steps, problem
```
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from vlassess_link.benchmarks.base import Benchmark, View
from vlassess_link.benchmarks.tracing import Tracing
from vlassess_link.conventions.traces import arrays_of
from vlassess_link.data import ActionChunk, Episode, EpisodeStart, Observation, RawObservation, StepOutcome, StepResult
from vlassess_link.policies.base import Policy
from vlassess_link.specs import BenchmarkSpec

PHASE = "artifact"
CHUNK_BYTES = 16 * 2**20
"""Raw frames kept in memory before they are written."""
TIMED = ("render", "inference", "step", PHASE)
"""Phases whose seconds a row of steps tells apart."""

Enter = Callable[[str], str]


@dataclass(frozen=True)
class ArtifactRequest:
    """What to record of an attempt.

    Attributes:
        folder: Where to; it exists, or worker and coordinator share no file system and nothing is recorded.
        frames: Every state's images.
        steps: One row a control step.
        inputs: How many of the first delivered observations, 0 for none.
        limit: Bytes of raw frames after which recording them ends.
        trace: Keep everything that crosses the wire in this many first control steps, 0 for nothing.
        size: (height, width) of the frames where the policy looks at no camera; None: each camera's default.
    """

    folder: str
    frames: bool = False
    steps: bool = False
    inputs: int = 0
    limit: int = 2**30
    trace: int = 0
    size: Optional[Tuple[int, ...]] = None


def recorded_view(view: View, benchmark: BenchmarkSpec, request: Optional[ArtifactRequest]) -> View:
    """Return what to render: the policy's view, or every camera where frames are wanted and it looks at none."""
    if request is None or not request.frames or view.cameras:
        return view
    sizes = {camera.name: request.size or camera.sizes[0] for camera in benchmark.cameras}
    return View({name: (int(height), int(width)) for name, (height, width) in sizes.items()})


class FrameSpool:
    """Writes frames in chunks, so that an episode of any length fits into memory."""

    def __init__(self, folder: str, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._chunk: List[Tuple[np.ndarray, ...]] = []
        self._chunks = 0
        self._waiting = 0
        self._bytes = 0
        self.cameras: Tuple[str, ...] = ()
        self.frames = 0

    def add(self, images: Mapping[str, np.ndarray]) -> None:
        """Add one state's images.

        Raises:
            ValueError: the limit is reached; what came before is kept.
        """
        if not images:
            return
        self.cameras = self.cameras or tuple(sorted(images))
        frame = tuple(as_bytes(images[name]) for name in self.cameras)
        size = sum(image.nbytes for image in frame)
        if self._bytes + size > self._limit:
            raise ValueError(f"the frames take more than {self._limit / 2**20:.0f} MiB; the video ends there")
        if self._chunk and [image.shape for image in self._chunk[0]] != [image.shape for image in frame]:
            self.flush()
        self._chunk.append(frame)
        self.frames += 1
        self._bytes += size
        self._waiting += size
        if self._waiting >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._chunk:
            return
        arrays = {f"camera_{i}": np.stack(images) for i, images in enumerate(zip(*self._chunk))}
        save(os.path.join(self._folder, f"frames-{self._chunks:05d}.npz"), arrays)
        self._chunks += 1
        self._chunk, self._waiting = [], 0


def save(path: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays, uncompressed: what waits for an encoder does not wait long."""
    write: Any = np.savez
    write(path, **arrays)


def as_bytes(image: np.ndarray) -> np.ndarray:
    """Return a copy of an image as uint8; floats are on the same scale."""
    if image.dtype == np.uint8:
        return np.array(image)
    return np.array(np.clip(np.rint(np.nan_to_num(image)), 0, 255), dtype=np.uint8)


class Actions(NamedTuple):
    """What a step executed, and what was meant where a disturbance made another of it."""

    executed: np.ndarray
    meant: Optional[np.ndarray] = None


class StepRows:
    """One row a control step."""

    def __init__(self) -> None:
        self._rows: List[Dict[str, Any]] = []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._rows)

    def add(self, actions: Actions, outcome: StepOutcome, seen: Optional[Observation], took: Sequence[float]) -> None:
        """Add a step; `seen` is the observation before it, if any, `took` as `TIMED`."""
        state = None if seen is None or seen.state is None else np.asarray(seen.state, np.float64)
        row = {"action": np.asarray(actions.executed, np.float64).copy(), "state": state, "observed": seen is not None}
        if actions.meant is not None:
            row["meant"] = np.asarray(actions.meant, np.float64).copy()
        self._rows.append({**row, "progress": outcome.progress, "success": outcome.success, "took": tuple(took)})

    def arrays(self) -> Dict[str, np.ndarray]:
        """Return every step's numbers.

        Returns:
            action (n, D), as executed; meant (n, D), as the policy gave it, only where a disturbance made another of
            it; state (n, S), NaN where nobody looked; observed, progress, success, seconds_PHASE (n,).
        """
        size = next((len(row["state"]) for row in self._rows if row["state"] is not None), 0)
        unseen = np.full(size, np.nan)
        found = {name: np.array([row[name] for row in self._rows]) for name in ("observed", "progress", "success")}
        found["action"] = np.array([row["action"] for row in self._rows])
        if all("meant" in row for row in self._rows):
            found["meant"] = np.array([row["meant"] for row in self._rows])
        found["state"] = np.array([unseen if row["state"] is None else row["state"] for row in self._rows])
        for i, phase in enumerate(TIMED):
            found[f"seconds_{phase}"] = np.array([row["took"][i] for row in self._rows])
        return found


def input_arrays(observations: Sequence[Observation]) -> Dict[str, np.ndarray]:
    """Return delivered observations as named arrays.

    Returns:
        ``N_image_CAMERA``, ``N_state``, ``N_extra_NAME``, ``N_instruction`` and ``N_step`` for the Nth one, from 0.
    """
    found: Dict[str, np.ndarray] = {}
    for i, obs in enumerate(observations):
        named = {**_prefixed("image", obs.images), **_prefixed("extra", obs.extras)}
        if obs.state is not None:
            named["state"] = obs.state
        named["instruction"] = np.array(obs.instruction)
        named["step"] = np.array(obs.step)
        found.update({f"{i}_{name}": array for name, array in named.items()})
    return found


def member_name(name: str) -> str:
    """Return the name of an image or an extra as an archive can hold it in a member's name."""
    return re.sub(r"[^0-9A-Za-z.-]", "_", name)


def _prefixed(kind: str, arrays: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    return {f"{kind}_{member_name(name)}": array for name, array in arrays.items()}


class Recorder:
    """Keeps what the wrappers see.

    Args:
        request: What to record.
        enter: `Monitor.enter`.
        seconds: Returns the attempt's seconds by phase so far.

    Attributes:
        problem: Why the recording ended early, None while nothing is wrong.
    """

    def __init__(self, request: ArtifactRequest, enter: Enter, seconds: Callable[[], Mapping[str, float]]) -> None:
        self.request = request
        self.problem: Optional[str] = None
        self.seen: Optional[Observation] = None
        self._enter = enter
        self._seconds = seconds
        self._frames = FrameSpool(request.folder, request.limit)
        self._rows = StepRows()
        self._inputs: List[Observation] = []
        self._tracing = Tracing(request.trace)
        self._before: Mapping[str, float] = {}
        self._meant: Optional[np.ndarray] = None
        if not os.path.isdir(request.folder):
            self.problem = f"the folder {request.folder} is not there: worker and run share no file system"

    def look(self, observe: Callable[[], Observation]) -> None:
        """Make and keep an observation that nobody else asked for."""
        if self.request.frames:
            self._guarded(lambda: self._keep(observe()))

    def saw(self, obs: Observation) -> None:
        """Keep an observation that was made anyway."""
        self._guarded(lambda: self._keep(obs))

    def delivered(self, obs: Observation) -> None:
        """Keep what a policy is given, if it is one of the first."""
        if len(self._inputs) < self.request.inputs:
            self._guarded(lambda: self._inputs.append(_copied(obs)))

        if self.request.trace:
            self._guarded(lambda: self._tracing.delivered(obs, self.seen))

    def answered(self, obs: Observation, chunk: ActionChunk) -> None:
        """Keep what a policy answers to an observation, if it is one of the first."""
        if self.request.trace:
            self._guarded(lambda: self._tracing.answered(obs, chunk))

    def meant(self, action: np.ndarray) -> None:
        """Keep what the policy gave for the coming step, which is executed disturbed."""
        self._meant = action.copy()

    def stepped(self, action: np.ndarray, outcome: StepOutcome) -> None:
        """Keep a step."""
        if self.request.steps:
            self._guarded(lambda: self._add_row(action, outcome))
        if self.request.trace:
            self._guarded(lambda: self._tracing.executed(action))
        self.seen = None

    def finish(self) -> None:
        """Write everything that is still in memory; `spool.json` comes last."""
        problem, self.problem = self.problem, None
        self._guarded(lambda: self._write(problem))
        self.problem = problem or self.problem

    def _keep(self, obs: Observation) -> None:
        self.seen = obs
        if self.request.frames:
            self._frames.add(obs.images)

    def _add_row(self, action: np.ndarray, outcome: StepOutcome) -> None:
        now = dict(self._seconds())
        took = [now.get(phase, 0.0) - self._before.get(phase, 0.0) for phase in TIMED]
        self._before = now
        self._rows.add(Actions(action, self._meant), outcome, self.seen, took)

    def _write(self, problem: Optional[str]) -> None:
        folder = self.request.folder
        self._frames.flush()
        if len(self._rows):
            save(os.path.join(folder, "steps.npz"), self._rows.arrays())
        if self._inputs:
            save(os.path.join(folder, "inputs.npz"), input_arrays(self._inputs))
        if self.request.trace:
            save(os.path.join(folder, "trace.npz"), arrays_of(self._tracing.trace))
        told = {"cameras": self._frames.cameras, "frames": self._frames.frames, "steps": len(self._rows)}
        with open(os.path.join(folder, "spool.json"), "w", encoding="utf-8") as file:
            json.dump({**told, "problem": problem}, file, allow_nan=False)

    def _guarded(self, work: Callable[[], None]) -> None:
        if self.problem is not None:
            return
        before = self._enter(PHASE)
        try:
            work()
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self._enter(before)


class RecordedBenchmark(Benchmark):
    """A benchmark whose states, actions and outcomes are recorded.

    Args:
        inner: What the loop would call without it.
        bare: The benchmark itself: renders that only the recording needs are counted as its own, not as the
            policy's.
        recorder: Keeps what is seen.
        blind: The policy looks at no camera, so that images are for the recording alone.
    """

    def __init__(self, inner: Benchmark, bare: Benchmark, recorder: Recorder, blind: bool) -> None:
        self.spec = inner.spec
        self._inner = inner
        self._bare = bare
        self._recorder = recorder
        self._blind = blind
        self._unseen: Optional[RawObservation] = None
        self._action = np.zeros(0)

    def reset(self, episode: Episode) -> RawObservation:
        """Reset."""
        self._unseen = self._inner.reset(episode)
        return self._unseen

    def make_obs(self, raw: RawObservation) -> Observation:
        """Return what the policy asked for, and keep it."""
        self._unseen = None
        obs = self._inner.make_obs(raw)
        self._recorder.saw(obs)
        return replace(obs, images={}) if self._blind else obs

    def step(self, action: np.ndarray) -> StepResult:
        """Step; the state before it is kept first."""
        self._look()
        self._action = action
        result = self._inner.step(action)
        self._unseen = result.raw
        return result

    def get_step_result(self, result: StepResult) -> StepOutcome:
        """Score, and keep the step."""
        outcome = self._inner.get_step_result(result)
        self._recorder.stepped(self._action, outcome)
        return outcome

    def finish(self) -> None:
        """Keep the last state and write everything."""
        self._look()
        self._recorder.finish()

    def _look(self) -> None:
        raw, self._unseen = self._unseen, None
        if raw is not None:
            unseen = raw
            self._recorder.look(lambda: self._bare.make_obs(unseen))


class RecordedPolicy(Policy):
    """A policy whose first delivered inputs are recorded."""

    def __init__(self, inner: Policy, recorder: Recorder) -> None:
        self.spec = inner.spec
        self.hears_start = inner.hears_start
        self._inner = inner
        self._recorder = recorder

    def reset(self, start: EpisodeStart, policy_seed: int) -> None:
        """Begin an episode."""
        self._inner.reset(start, policy_seed)

    def predict(self, obs: Observation) -> ActionChunk:
        """Keep what is delivered, then ask, and keep the answer."""
        self._recorder.delivered(obs)
        chunk = self._inner.predict(obs)
        self._recorder.answered(obs, chunk)
        return chunk

    def reaching_model(self, obs: Observation) -> Observation:
        """Return what reaches the policy's model."""
        return self._inner.reaching_model(obs)


def _copied(obs: Observation) -> Observation:
    """Return a copy that the policy cannot change any more."""
    images = {name: image.copy() for name, image in obs.images.items()}
    extras = {name: np.array(array) for name, array in obs.extras.items()}
    return replace(obs, images=images, extras=extras, state=None if obs.state is None else obs.state.copy())
