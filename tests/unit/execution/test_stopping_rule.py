"""A stopping rule ends the hand-out, never an episode that runs."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.unit.execution.support import DEADLINES, Bench
from tests.unit.runs import config_of, items_of
from vlassess.execution import BlockedHandOut, Coordinator, Ending, Fleet, FleetSettings, PolicySide, Work
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord

ITEMS = items_of(config_of(episodes=12))
BLOCKS = {item.item_id: 11 - item.episode.index for item in ITEMS}


class After:
    """Decides after a number of records."""

    def __init__(self, records: int) -> None:
        self.left = records
        self.seen: list[EpisodeRecord] = []

    @property
    def decision(self) -> str | None:
        return "enough" if len(self.seen) >= self.left else None

    def learn(self, record: EpisodeRecord) -> None:
        self.seen.append(record)


def run(bench: Bench, rule: After, items: tuple[WorkItem, ...] = ITEMS) -> Ending:
    settings = FleetSettings(2, deadlines=DEADLINES)
    bench.fleet = Fleet(bench.launch, settings, bench.folder)
    work = Work(items, settings, queue=functools.partial(BlockedHandOut, blocks=BLOCKS), rule=rule)
    side = PolicySide(bench.sources, {}, bench.servers)
    return Coordinator(work, bench.fleet, side, bench.sink, bench.watcher, bench.stop).run()


def test_what_runs_is_finished_and_nothing_more_is_handed_out(tmp_path: Path) -> None:
    bench, rule = Bench(tmp_path), After(5)
    assert run(bench, rule) == Ending(interrupted=False, reason=None, decided="enough")
    assert 5 <= len(bench.sink.records) <= 6
    assert rule.seen == bench.sink.records
    blocks = [BLOCKS[record.item_id] for record in bench.sink.records]
    assert max(blocks) <= 2


def test_a_rule_that_never_decides_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert run(bench, After(1000), ITEMS[:4]) == Ending(interrupted=False)
    assert len(bench.sink.records) == 4


def test_a_decided_run_is_not_called_interrupted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.stop.press()
    assert run(bench, After(0)) == Ending(interrupted=False, decided="enough")
