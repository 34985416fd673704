"""A run on several servers of one policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.runs import POLICY, config_of
from vlassess import pipeline
from vlassess.catalog import Catalog
from vlassess.records import RunDirectory
from vlassess.schema.config import RunConfig
from vlassess.schema.events import SilentListener
from vlassess_link.errors import ContractError
from vlassess_link.testing import FakePolicy
from vlassess_link.wire.server import PolicyServer, ServerOptions

CATALOG = Catalog({}, {})


@pytest.fixture
def urls() -> Iterator[dict[str, str]]:
    """Two servers of one policy, and one of another."""
    options = ServerOptions(token="secret")
    with (
        PolicyServer(FakePolicy(2, name="same"), options=options) as one,
        PolicyServer(FakePolicy(2, name="same"), options=options) as two,
        PolicyServer(FakePolicy(2, name="other"), options=options) as other,
    ):
        yield {"one": one.url, "two": two.url, "other": other.url}


def run(config: RunConfig) -> RunDirectory:
    result = pipeline.start(config, CATALOG, SilentListener())
    assert result.complete, result.reasons
    return RunDirectory.open(result.run_dir)


def test_a_list_of_urls_shares_the_episodes(tmp_path: Path, urls: dict[str, str]) -> None:
    (tmp_path / "token").write_text("secret\n")
    source = {"url": [urls["one"], urls["two"]], "token_file": str(tmp_path / "token")}
    found = run(config_of(tmp_path, policies={"main": source}, execution={"workers": 2}))
    assert list(found.manifest.policy_specs) == ["main"]
    assert {record.policy for record in found.records().records} == {"main"}
    assert "secret" not in (found.path / "run.json").read_text()


def test_two_policies_under_one_label_are_refused(
    tmp_path: Path, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLASSESS_TOKEN", "secret")
    config = config_of(tmp_path, policies={"main": {"url": [urls["one"], urls["other"]]}})
    with pytest.raises(ContractError, match="the replicas of policy 'main' are not the same policy"):
        pipeline.start(config, CATALOG, SilentListener())


def test_replicas_and_ensembles_of_a_served_policy(tmp_path: Path) -> None:
    source = {"serve": POLICY, "params": {"chunk": 3}, "replicas": 2, "ensemble": "average"}
    found = run(config_of(tmp_path, policies={"main": source}, execution={"workers": 2}))
    spec = found.manifest.policy_specs["main"]
    assert (spec["observe"], spec["chunk"]) == ("every_step", 1)
    assert {(record.horizon, record.observations == record.steps) for record in found.records().records} == {(1, True)}
    assert {path.name for path in (found.path / "logs").glob("policy-*")} == {"policy-main#1.log", "policy-main#2.log"}
    plain = run(config_of(tmp_path, policies={"main": {"serve": POLICY, "params": {"chunk": 3}}}))
    assert plain.manifest.policy_identities != found.manifest.policy_identities
