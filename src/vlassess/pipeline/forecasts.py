"""What a run will take, in one line: from the last run like it, else from its own first episodes."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vlassess.execution import DurationModel, Work, group_of
from vlassess.records import RunDirectory
from vlassess.report.text import duration
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess_link.data import EpisodeRecord
from vlassess_link.errors import VlassessError

PAST_RUNS = 20
"""How many of the newest runs are looked at for one that is like this."""

FIRST = 5
"""Episodes after which a run without a predecessor is forecast; with more workers, one for each."""


@dataclass(frozen=True)
class Prospect:
    """What is about to be run.

    Attributes:
        run: Where.
        config: How.
        work: What.
        identities: Policy label -> digest of its identity.
    """

    run: RunDirectory
    config: RunConfig
    work: Work
    identities: Mapping[str, str]


def forecasting(prospect: Prospect, listener: Listener) -> Listener:
    """Tell the forecast if a run like this was run before; return a listener that otherwise tells it in time."""
    for past in past_runs(prospect):
        records = relabelled(past.records().records, prospect.identities)
        if {record.policy for record in records} >= {item.policy for item in prospect.work.items}:
            listener.note(sentence(prospect, records, past, f"as in {past.path.name}"))
            return listener
    return FirstEpisodes(prospect, listener)


def past_runs(prospect: Prospect) -> Iterator[RunDirectory]:
    """Yield this run, then the newest ones of the same benchmark that keep the same recordings."""
    yield prospect.run
    home = prospect.run.path.parent
    stamps = {file: file.stat().st_mtime for file in home.glob("*/run.json") if file.parent != prospect.run.path}
    for file in sorted(stamps, key=lambda file: stamps[file], reverse=True)[:PAST_RUNS]:
        try:
            past = RunDirectory.open(file.parent)
            if _alike(past, prospect) and past.records().records:
                yield past
        except VlassessError:  # a run that cannot be read is no predecessor, and not this run's matter
            continue


def relabelled(records: Iterable[EpisodeRecord], identities: Mapping[str, str]) -> list[EpisodeRecord]:
    """Return the final records of the policies in ``identities``, under the labels that these have here."""
    labels = {identity: label for label, identity in identities.items()}
    return [
        dataclasses.replace(record, policy=labels[record.identity])
        for record in records
        if record.final and record.identity in labels
    ]


def sentence(prospect: Prospect, records: Iterable[EpisodeRecord], like: RunDirectory, basis: str) -> str:
    """Return the forecast: ``270 episodes, about 24 s on 2 workers, 0.4 MB (as in ...)``.

    Args:
        prospect: What is run.
        records: Finished episodes of its policies, which say how long episodes take.
        like: The run whose files say how much disk an episode takes.
        basis: What it is judged by, for people.
    """
    model = DurationModel(prospect.work.expected_steps)
    for record in records:
        model.learn(record)
    each = [model.expected(group_of(i.policy, i.episode.suite, i.episode.task)) for i in prospect.work.items]
    workers = min(prospect.work.settings.workers, len(each))
    seconds = max(sum(each) / workers, max(each))
    size = _size_with(like, prospect, len(each))
    free = shutil.disk_usage(prospect.run.path).free
    short = f", but only {_size(free)} of the disk are free" if size > free else ""
    on = f"{workers} worker{'s' * (workers != 1)}"
    time = "under 1 s" if seconds < 1 else f"about {duration(seconds)}"
    return f"{len(each)} episodes, {time} on {on}, {_size(size)} ({basis}){short}"


class FirstEpisodes:
    """Passes every event on; after the first episodes it tells what the others will take.

    Args:
        prospect: What is run.
        listener: Who is told.
    """

    def __init__(self, prospect: Prospect, listener: Listener) -> None:
        self._prospect = prospect
        self._listener = listener
        self._records: list[EpisodeRecord] = []
        self._due = max(FIRST, prospect.work.settings.workers)
        self._told = len(prospect.work.items) < 2 * self._due

    def planned(self, run_dir: Path, total: int, finished_before: int) -> None:
        """Pass it on."""
        self._listener.planned(run_dir, total, finished_before)

    def note(self, text: str) -> None:
        """Pass it on."""
        self._listener.note(text)

    def workers(self, alive: int) -> None:
        """Pass it on."""
        self._listener.workers(alive)

    def record(self, record: EpisodeRecord) -> None:
        """Pass it on, and tell the forecast when it is due."""
        self._listener.record(record)
        if self._told or not record.final:
            return
        self._records.append(record)
        if len(self._records) >= self._due:
            self._told = True
            basis = f"judged by the first {len(self._records)}"
            self._listener.note(sentence(self._prospect, self._records, self._prospect.run, basis))


def _alike(past: RunDirectory, prospect: Prospect) -> bool:
    spec, now = past.manifest.benchmark_spec, prospect.run.manifest.benchmark_spec
    same = all(spec.get(key) == now.get(key) for key in ("id", "version"))
    return same and past.manifest.config.artifacts == prospect.config.artifacts


def _size_with(like: RunDirectory, prospect: Prospect, episodes: int) -> float:
    """Return how many bytes the run will take if its episodes take what those of ``like`` do."""
    files = {file.relative_to(like.path): file.stat().st_size for file in like.path.rglob("*") if file.is_file()}
    growing = sum(size for file, size in files.items() if file.parts[0] in ("episodes.jsonl", "artifacts"))
    rest = sum(size for file, size in files.items() if file.parts[0] in ("run.json", "report.html", "logs"))
    plan = (prospect.run.path / "plan.jsonl").stat().st_size
    return growing / max(1, len(like.records().records)) * episodes + plan + rest


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
