"""The section ``realtime`` of a config, and what ``--mode`` makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlassess.cli.configs import run_config
from vlassess.cli.options import Mode, RunOptions
from vlassess.config import ConfigError, load_config
from vlassess.pipeline.realtime import check_realtime, rules_of
from vlassess.pipeline.sameness import conduct
from vlassess.schema.config import RunConfig
from vlassess_link.benchmarks.pacing import Latency, RealTime
from vlassess_link.errors import ContractError
from vlassess_link.jsonable import from_json, to_json
from vlassess_link.testing import FakeBenchmark


def loaded(folder: Path, realtime: str) -> RunConfig:
    (folder / "it.yaml").write_text(f"benchmark: tabletop-v1\npolicy: random\n{realtime}\n", encoding="utf-8")
    return load_config(str(folder / "it.yaml"))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("realtime: {}", RealTime()),
        ("realtime: {pace: modelled, latency: 0.2}", RealTime("modelled", Latency(seconds=0.2))),
        ("realtime: {latency: 0, await_first: true}", RealTime("wall", Latency(), await_first=True)),
        (
            "realtime: {pace: modelled, latency: {lognormal: {median: 0.1, sigma: 0.3}}, skip_past: true}",
            RealTime("modelled", Latency("lognormal", 0.1, 0.3), skip_past=True),
        ),
        (
            "realtime: {pace: modelled, latency: {empirical: [0.1, 0.2]}, asynchronous: true}",
            RealTime("modelled", Latency("empirical", samples=(0.1, 0.2)), asynchronous=True),
        ),
    ],
)
def test_what_a_config_says_is_what_workers_are_told(tmp_path: Path, text: str, rules: RealTime) -> None:
    told = rules_of(loaded(tmp_path, text))
    assert told == rules
    assert from_json(RealTime, to_json(told)) == rules


def test_without_the_section_the_simulator_waits(tmp_path: Path) -> None:
    assert rules_of(loaded(tmp_path, "")) is None


def test_measured_latencies_come_from_a_file_beside_the_config(tmp_path: Path) -> None:
    (tmp_path / "latencies.txt").write_text("0.1\n0.25\n\n0.3\n", encoding="utf-8")
    config = loaded(tmp_path, "realtime: {pace: modelled, latency: {file: latencies.txt}}")
    assert config.realtime is not None
    assert config.realtime.latency is not None
    assert config.realtime.latency.empirical == (0.1, 0.25, 0.3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("realtime: {pace: modelled}", "pace: modelled needs latency"),
        ("realtime: {latency: -1}", "latency"),
        ("realtime: {latency: {constant: 1, empirical: [1]}}", "exactly one"),
        ("realtime: {latency: {empirical: []}}", "empirical"),
        ("realtime: {latency: {file: nowhere.txt}}", "realtime.latency.file cannot be read"),
        ("realtime: {pace: fast}", "pace"),
        ("realtime: {skip: true}", "skip_past"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert len(caught.value.problems) == 1
    assert words in caught.value.problems[0]


def test_the_mode_keeps_what_the_config_says_of_real_time(tmp_path: Path) -> None:
    timed = loaded(tmp_path, "realtime: {pace: modelled, latency: 0.2}")
    path = str(tmp_path / "it.yaml")
    assert run_config(RunOptions(config=path, mode=Mode.realtime)) == timed
    assert run_config(RunOptions(config=path)) == timed
    sync = run_config(RunOptions(config=path, mode=Mode.sync))
    assert sync is not None
    assert sync.realtime is None
    loaded(tmp_path, "")
    plain = run_config(RunOptions(config=path, mode=Mode.realtime))
    assert plain is not None
    assert rules_of(plain) == RealTime()


def test_a_run_in_real_time_is_not_resumed_as_another(tmp_path: Path) -> None:
    timed, plain = loaded(tmp_path, "realtime: {latency: 0.2}"), loaded(tmp_path, "")
    assert conduct(timed) != conduct(plain)
    assert conduct(timed) == conduct(loaded(tmp_path, "realtime: {latency: {constant: 0.2}}"))


def test_a_benchmark_that_cannot_hold_is_refused(tmp_path: Path) -> None:
    spec = FakeBenchmark().spec
    check_realtime(spec, loaded(tmp_path, "realtime: {}"))
    none = from_json(type(spec), {**to_json(spec), "hold_action": None})
    check_realtime(none, loaded(tmp_path, ""))
    with pytest.raises(ContractError, match="declares no hold action"):
        check_realtime(none, loaded(tmp_path, "realtime: {}"))
