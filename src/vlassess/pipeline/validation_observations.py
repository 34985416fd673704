"""The observations of a validation campaign: read from where they are, chosen by the seed, fitted to a policy."""

from __future__ import annotations

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from vlassess.campaign import BUNDLED_OBSERVATIONS, CampaignConfig, ObservationSource
from vlassess.datasets.lerobot.reading import LeRobotReader
from vlassess_link.conventions.images import resized
from vlassess_link.data import Observation
from vlassess_link.digest import ArrayDigest
from vlassess_link.errors import VlassessError
from vlassess_link.specs import PolicySpec

TEXTS = ("instruction", "language", "task_description", "task")
RECORDED = re.compile(r"(\d+)_(image|extra)_(.+)|(\d+)_(state|instruction|step)")
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
PREFIX = re.compile(r"^(images?|pixels)[_.]")


class ObservationsError(VlassessError):
    """Observations cannot be read, or do not fit a policy."""


class Named(NamedTuple):
    """An observation.

    Attributes:
        id: Digest of its arrays and its text.
        source: Where it is from, for people.
        observation: As it was found.
    """

    id: str
    source: str
    observation: Observation


def read_observations(config: CampaignConfig) -> list[Named]:
    """Return the campaign's observations, at most as many as it asks for; the same ones for the same seed.

    Raises:
        ObservationsError: there are none, or they cannot be read.
        DatasetError: the data set cannot be read.
    """
    source = config.observations
    found = [_named(where, obs) for where, obs in _found(source, np.random.default_rng(config.seed))]
    unique = list({one.id: one for one in found}.values())
    if not unique:
        raise ObservationsError(
            f"observations: {_place(source)} holds none; see the documentation for what it may hold"
        )
    if len(unique) > source.limit:
        chosen = np.random.default_rng(config.seed).permutation(len(unique))[: source.limit]
        unique = [unique[i] for i in sorted(chosen.tolist())]
    return unique


def fitted(named: Named, spec: PolicySpec, cameras: Mapping[str, str]) -> Observation:
    """Return an observation as a policy takes it: its cameras, at its size, with its state.

    Args:
        named: The observation.
        spec: The policy's.
        cameras: The policy's camera -> the observation's, where their names differ.

    Raises:
        ObservationsError: something is missing; says what, and what there is.
    """
    own = named.observation
    images = {}
    for camera in spec.cameras if spec.cameras is not None else tuple(own.images):
        other = cameras.get(camera, camera)
        if other not in own.images:
            raise ObservationsError(
                f"the policy looks at the camera {camera!r}, but {named.source} has {', '.join(own.images) or 'none'}: "
                "name the one to show in observations.cameras"
            )
        images[camera] = _sized(own.images[other], spec)
    if not images:
        raise ObservationsError("the policy looks at no camera, so no perturbation of a picture can change its answer")
    wanted = None if spec.state is None else spec.state.size
    has = None if own.state is None else len(own.state)
    if wanted and wanted != has:
        raise ObservationsError(f"the policy reads {wanted} numbers of state, but {named.source} has {has or 'none'}")
    return replace(own, images=images)


def _sized(image: np.ndarray, spec: PolicySpec) -> np.ndarray:
    if spec.image_size is None or image.shape[:2] == tuple(spec.image_size):
        return image
    height, width = spec.image_size
    return resized(image, (height, width), spec.image.resize or "bilinear")


def _found(source: ObservationSource, rng: np.random.Generator) -> Iterator[tuple[str, Observation]]:
    if source.images is not None:
        return _of_pictures(source.images, source.instruction)
    if source.dataset is not None:
        return _of_dataset(source.dataset, source.limit, rng)
    if source.run is not None:
        return _of_run(source.run)
    return _of_file(_file(source), source.instruction)


def _file(source: ObservationSource) -> Path:
    if source.npz is not None:
        return source.npz
    known = BUNDLED_OBSERVATIONS
    if source.name not in known:
        raise ObservationsError(f"no observations are called {source.name!r}; there are {', '.join(known)}")
    return known[source.name]


def _place(source: ObservationSource) -> str:
    return str(source.name or source.npz or source.dataset or source.run or source.images)


def _named(where: str, obs: Observation) -> Named:
    digest = ArrayDigest()
    for name, image in sorted(obs.images.items()):
        digest.update(name, image)
    if obs.state is not None:
        digest.update("state", obs.state)
    digest.update_text("instruction", obs.instruction)
    return Named(digest.hexdigest()[:12], where, obs)


def _of_file(path: Path, instruction: str) -> Iterator[tuple[str, Observation]]:
    arrays = _arrays(path)
    if any(RECORDED.fullmatch(name) for name in arrays):
        yield from ((f"{path.name} #{i}", obs) for i, obs in enumerate(_recorded(arrays)))
        return
    pictures = {PREFIX.sub("", name): array for name, array in arrays.items() if _is_pictures(array)}
    if not pictures:
        raise ObservationsError(f"{path} holds no pictures: give `images_CAMERA`, (n, height, width, 3) uint8")
    single = {array.ndim for array in pictures.values()} == {3}
    pictures = {name: array[None] if single else array for name, array in pictures.items()}
    texts = next((arrays[name] for name in TEXTS if name in arrays), np.array(instruction))
    state = arrays.get("state")
    states = None if state is None else np.atleast_2d(state)
    counts = {len(array) for array in pictures.values()} | ({len(states)} if states is not None else set())
    if len(counts) > 1:
        raise ObservationsError(
            f"{path}: its cameras and its state have {sorted(counts)} entries; each must have as many"
        )
    for i in range(counts.pop()):
        images = {name: np.ascontiguousarray(array[i]) for name, array in pictures.items()}
        text = str(texts if texts.ndim == 0 else texts[i])
        yield f"{path.name} #{i}", Observation(images, text, None if states is None else states[i])


def _is_pictures(array: np.ndarray) -> bool:
    return array.dtype in (np.uint8, np.float32) and array.ndim in (3, 4) and array.shape[-1] == 3


def _recorded(arrays: Mapping[str, np.ndarray]) -> Iterator[Observation]:
    """Yield the observations of a run's ``inputs.npz``."""
    by_number: dict[int, dict[str, Any]] = defaultdict(lambda: {"image": {}, "extra": {}})
    for name, array in arrays.items():
        match = RECORDED.fullmatch(name)
        if match is None:
            continue
        if match[2]:
            by_number[int(match[1])][match[2]][match[3]] = array
        else:
            by_number[int(match[4])][match[5]] = array
    for _, parts in sorted(by_number.items()):
        yield Observation(parts["image"], str(parts.get("instruction", "")), parts.get("state"), parts["extra"])


def _of_run(folder: Path) -> Iterator[tuple[str, Observation]]:
    files = sorted(folder.glob("**/inputs.npz"))
    if not files:
        raise ObservationsError(f"{folder} holds no recorded inputs; run it with --set artifacts.inputs=1")
    for file in files:
        first = next(_recorded(_arrays(file)), None)
        if first is not None:
            yield f"{file.parent.name}, first input", first


def _of_pictures(folder: Path, instruction: str) -> Iterator[tuple[str, Observation]]:
    if not folder.is_dir():
        raise ObservationsError(f"{folder} is no folder; observations.images names one with pictures")
    for file in sorted(file for file in folder.iterdir() if file.suffix.lower() in PICTURES):
        try:
            with Image.open(file) as picture:
                yield file.name, Observation({"image": np.asarray(picture.convert("RGB"))}, instruction)
        except (OSError, UnidentifiedImageError) as error:
            raise ObservationsError(f"{file} cannot be read as a picture ({error}); mend or remove it") from None


def _of_dataset(root: Path, limit: int, rng: np.random.Generator) -> Iterator[tuple[str, Observation]]:
    """Yield one frame of each chosen episode; episodes are taken from the tasks in turn."""
    reader = LeRobotReader(root)
    by_task: dict[str, list[int]] = defaultdict(list)
    for episode in reader.episodes:
        by_task[episode.task].append(episode.index)
    shuffled = [list(rng.permutation(indices)) for indices in by_task.values()]
    for index in _in_turn(shuffled)[:limit]:
        episode = reader.episodes[index]
        frame = int(rng.integers(episode.length))
        state = reader.arrays(index).get("observation.state")
        images = {
            camera.rpartition(".")[2]: np.ascontiguousarray(reader.pictures(index, camera)[frame])
            for camera in reader.cameras
        }
        where = f"episode {index}, frame {frame}"
        yield where, Observation(images, episode.task, None if state is None else np.asarray(state[frame], np.float64))


def _in_turn(groups: Sequence[list[int]]) -> list[int]:
    longest = max((len(group) for group in groups), default=0)
    return [int(group[i]) for i in range(longest) for group in groups if i < len(group)]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except OSError as error:
        raise ObservationsError(f"{path} cannot be read ({error.strerror or error}); mend the path") from None
    except (ValueError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
        raise ObservationsError(f"{path} is no archive of arrays; give an .npz without objects") from None
