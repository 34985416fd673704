"""Batches for fitting: frames, and for each a task whose words are read and whose label is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from vlassess.training.network import scaled_state
from vlassess.training.store import Frame, Frames
from vlassess.training.teacher import GRIPPER, STEP, TURN
from vlassess.training.world import Job

OWN = 0.5
"""Share of frames that are taught with the task that was being done."""

RELATED = 0.8
"""Of the others, while something is held: share that is taught with a task of what is held."""

_MIDDLE = np.array((0.425, 0.0, 0.05, 0.425, 0.0, 0.0, 0.0), np.float32)
_SCALE = np.array((0.13, 0.24, 0.05, 0.13, 0.24, 1.0, 1.0), np.float32)
_DROPPED = 0.04


class Batch(NamedTuple):
    """What one step learns from; B is the batch.

    Attributes:
        agent, wrist: (B, 3, 64, 64) in [-0.5, 0.5].
        state: (B, 8), see `scaled_state`.
        tokens: (B, length).
        moves: (B, chunk, 4) in units of the farthest move and turn.
        closes: (B, chunk), 1 closes, 0 opens.
        places: (B, 7), about in [-1, 1].
        has_goal: (B, 1).
    """

    agent: Tensor
    wrist: Tensor
    state: Tensor
    tokens: Tensor
    moves: Tensor
    closes: Tensor
    places: Tensor
    has_goal: Tensor


@dataclass(frozen=True)
class Lessons:
    """What is said of each task, in numbers.

    Attributes:
        tokens: (tasks, sentences, length) int64; None: what was said in the episode is what is read.
        has_goal: (tasks,) bool.
        unknown: First and last-plus-one number of the buckets of unknown words.
        words: Reads what was said.
        own: Share of frames that are taught with the task that was being done; the others with any.
    """

    tokens: np.ndarray | None
    has_goal: np.ndarray
    unknown: tuple[int, int]
    words: Any
    own: float = OWN

    @classmethod
    def of(cls, jobs: tuple[Job, ...], words: Any) -> Lessons:
        """Return lessons in which each task is said in any of its sentences; all tasks have equally many."""
        table = np.stack([np.stack([words(text) for text in job.instructions]) for job in jobs])
        return cls(table, np.array([job.goal is not None for job in jobs]), (1 + len(words.known), words.size), words)

    @classmethod
    def as_shown(cls, jobs: tuple[Job, ...], words: Any) -> Lessons:
        """Return lessons of nothing but what was shown: the task that was being done, in the words that were said."""
        goals = np.array([job.goal is not None for job in jobs])
        return cls(None, goals, (1 + len(words.known), words.size), words, own=1.0)


def draw(frames: Frames, lessons: Lessons, size: int, rng: np.random.Generator) -> Batch:
    """Return a random batch, augmented."""
    frame = frames.take(np.sort(rng.integers(len(frames), size=size)))
    jobs = _jobs(frame, lessons, rng)
    rows = np.arange(size)
    labels = frame.labels[rows, jobs].astype(np.float32)
    tokens = _tokens(frame, jobs, lessons, rng)
    dropped = (rng.uniform(size=tokens.shape) < _DROPPED) & (tokens != 0)
    tokens = np.where(dropped, rng.integers(*lessons.unknown, size=tokens.shape), tokens)
    moves = labels[:, :, :GRIPPER] / np.array((STEP, STEP, STEP, TURN), np.float32)
    state = scaled_state(torch.from_numpy(frame.state))
    return Batch(
        _pictures(frame.agent, rng),
        _pictures(frame.wrist, rng),
        state + 0.02 * torch.from_numpy(rng.standard_normal(state.shape, np.float32)),
        torch.from_numpy(tokens),
        torch.from_numpy(moves),
        torch.from_numpy((labels[:, :, GRIPPER] > 0).astype(np.float32)),
        torch.from_numpy((frame.places[rows, jobs] - _MIDDLE) / _SCALE),
        torch.from_numpy(lessons.has_goal[jobs, None].astype(np.float32)),
    )


def _jobs(frame: Frame, lessons: Lessons, rng: np.random.Generator) -> np.ndarray:
    """Return which task each frame teaches: its own, or any that is possible there."""
    size, count = frame.held.shape
    likes = np.where(frame.possible, rng.uniform(size=(size, count)), -1.0)
    related = frame.held & (rng.uniform(size=(size, 1)) < RELATED)
    likes = np.where(related.any(1, keepdims=True) & ~related, -1.0, likes)
    return np.where(rng.uniform(size=size) < lessons.own, frame.job, likes.argmax(1)).astype(np.int64)


def _tokens(frame: Frame, jobs: np.ndarray, lessons: Lessons, rng: np.random.Generator) -> np.ndarray:
    if lessons.tokens is None:
        return np.stack([lessons.words(str(text)) for text in frame.said])
    return np.asarray(lessons.tokens[jobs, rng.integers(lessons.tokens.shape[1], size=len(jobs))])


def _pictures(images: np.ndarray, rng: np.random.Generator) -> Tensor:
    """Return images with another brightness, contrast and tint each."""
    size = len(images)
    gain = 1.0 + 0.15 * rng.uniform(-1.0, 1.0, (size, 1, 1, 1)) + 0.06 * rng.uniform(-1.0, 1.0, (size, 1, 1, 3))
    shift = 0.08 * rng.uniform(-1.0, 1.0, (size, 1, 1, 1)) - 0.5
    scaled = torch.from_numpy(images).float() * torch.from_numpy((gain / 255.0).astype(np.float32))
    scaled += torch.from_numpy(shift.astype(np.float32))
    return scaled.clamp_(-0.5, 0.5).permute(0, 3, 1, 2)  # channels last in memory, as they were
