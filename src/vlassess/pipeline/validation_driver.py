"""Asks the questions of many regions together, so that a policy's server is never without work.

Each series of radii is a generator that wants answers. Its questions are cut into batches with those of other series;
a lane of the policy makes the pictures of a batch, asks, and works out the terms. How questions are put together
changes no answer but by rounding, which the campaign has measured, so it changes no verdict.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from vlassess.campaign.asking import Answered, Rules, Subject, attempted, joined, judged
from vlassess.campaign.deciding import Ask
from vlassess.execution import StopSwitch
from vlassess.pipeline.validation_lanes import Lanes
from vlassess.robustness.perturbations import Family
from vlassess.robustness.specifications import Floats, Specification

BATCH = 16
"""Most observations of one query."""
AHEAD = 2
"""Batches that are under way although they are not full: one that is answered, one that waits for it."""
AT_ONCE = 96
"""Series that are followed at the same time."""
LOOK = 0.25
"""Seconds after which a request to stop is looked for."""

Work = Generator[Ask, Answered, None]


@dataclass
class Errand:
    """One series at work.

    Attributes:
        key: Of the series.
        work: Yields what it wants to know.
        subject: The observation.
        family: The perturbations.
        specification: What has to hold.
        size: Of an answer.
        after: Keys of errands that have to be done before.
    """

    key: str
    work: Work
    subject: Subject
    family: Family
    specification: Specification
    size: int
    after: frozenset[str] = frozenset()


@dataclass
class _Open:
    """An errand's question that is being answered."""

    errand: Errand
    ask: Ask
    sent: int = 0
    answers: dict[int, Answered] = field(default_factory=dict)

    @property
    def left(self) -> int:
        return len(self.ask.thetas) - self.sent

    @property
    def complete(self) -> bool:
        return sum(len(part.terms) for part in self.answers.values()) == len(self.ask.thetas)


@dataclass(frozen=True)
class _Piece:
    """Part of a question, in a batch."""

    open: _Open
    first: int
    thetas: Floats


class Driver:
    """Works on errands for one policy.

    Args:
        lanes: The policy.
        rules: What is looked at of its answers.
        noise_seed: Its noise's.
        switch: How it is asked to stop.
        asked: Told of answers as they come.
    """

    def __init__(
        self, lanes: Lanes, rules: Rules, noise_seed: int, switch: StopSwitch, asked: Callable[[int], None]
    ) -> None:
        self._lanes, self._rules, self._seed = lanes, rules, noise_seed
        self._switch, self._asked = switch, asked
        self._ready: deque[_Open] = deque()
        self._running = 0
        self._done: set[str] = set()

    def run(self, errands: Sequence[Errand]) -> bool:
        """Work until every errand is done; return False where it was asked to stop before.

        Raises:
            EpisodeFault: the policy failed, or cannot be reached; what was recorded before is on disk.
        """
        waiting = list(errands)
        flying: dict[Future[list[Answered]], list[_Piece]] = {}
        with ThreadPoolExecutor(self._lanes.count, "lane") as pool:
            while waiting or self._running or flying:
                if self._switch.requests:
                    return False
                self._begin(waiting)
                while (pieces := self._batch(len(flying))) is not None:
                    flying[pool.submit(self._answer, pieces)] = pieces
                finished, _ = wait(flying, LOOK, FIRST_COMPLETED)
                for future in finished:
                    self._take(flying.pop(future), future.result())
        return True

    def _begin(self, waiting: list[Errand]) -> None:
        for errand in list(waiting):
            if self._running >= AT_ONCE:
                return
            if errand.after <= self._done:
                waiting.remove(errand)
                self._running += 1
                self._go_on(errand, None)

    def _go_on(self, errand: Errand, answered: Answered | None) -> None:
        try:
            ask = next(errand.work) if answered is None else errand.work.send(answered)
        except StopIteration:
            self._done.add(errand.key)
            self._running -= 1
        else:
            self._ready.append(_Open(errand, ask))

    def _batch(self, flying: int) -> list[_Piece] | None:
        """Return the next batch; None where there is nothing to ask, or what there is had better wait for more."""
        if not self._ready or flying >= self._lanes.count:
            return None
        if self._ready[0].ask.alone:
            return [self._piece(self._ready[0], 1)]
        if flying >= AHEAD and sum(one.left for one in self._ready) < BATCH:
            return None
        pieces, room = [], BATCH
        for one in [one for one in self._ready if not one.ask.alone]:
            pieces.append(self._piece(one, room))
            room -= len(pieces[-1].thetas)
            if not room:
                break
        return pieces

    def _piece(self, one: _Open, room: int) -> _Piece:
        first = one.sent
        one.sent = min(first + room, len(one.ask.thetas))
        if not one.left:
            self._ready.remove(one)
        return _Piece(one, first, one.ask.thetas[first : one.sent])

    def _answer(self, pieces: Sequence[_Piece]) -> list[Answered]:
        """Make the pictures, ask, and work out the terms; runs in a lane."""
        observations = [
            obs
            for piece in pieces
            for obs in piece.open.errand.subject.perturbed(piece.open.errand.family, piece.thetas)
        ]
        answers = attempted(lambda asked: self._lanes.ask(asked, self._seed), self._rules, observations)
        found, at = [], 0
        for piece in pieces:
            own = answers[at : at + len(piece.thetas)]
            at += len(own)
            found.append(judged(own, piece.open.errand.specification, piece.open.errand.size))
        return found

    def _take(self, pieces: Sequence[_Piece], answers: Sequence[Answered]) -> None:
        self._asked(sum(len(piece.thetas) for piece in pieces))
        for piece, answered in zip(pieces, answers, strict=True):
            piece.open.answers[piece.first] = answered
            if piece.open.complete:
                parts = [part for _, part in sorted(piece.open.answers.items())]
                self._go_on(piece.open.errand, joined(parts))
