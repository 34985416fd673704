"""The conformance kits as tests: ``pytest --vlassess-policy ws://localhost:8000``, ``--vlassess-benchmark NAME``.

A package of its own beside `vlassess_link`, since pytest imports its plugins in every project: this one imports
nothing until one of its options is given.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from typing import Any, Callable, Iterator, List, Optional, Tuple

import pytest

KITS = {"policy": "vlassess_link.testing.policy_kit", "benchmark": "vlassess_link.testing.benchmark_kit"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("vlassess", "conformance kits of vlassess")
    target = "FILE.py:CLASS or MODULE:CLASS"
    group.addoption("--vlassess-policy", metavar="POLICY", help=f"examine a policy: ws://HOST:PORT, {target}")
    group.addoption(
        "--vlassess-benchmark",
        metavar="BENCHMARK",
        help=f"examine a benchmark, {target}, or a name where vlassess is installed; beside --vlassess-policy, the "
        "benchmark whose observations the policy is shown",
    )
    group.addoption(
        "--vlassess-params", metavar="JSON", default="{}", help="keyword arguments of the class that is examined"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: List[pytest.Item]) -> None:
    """Add a test for each check of the kit that was asked for."""
    policy, benchmark = config.getoption("--vlassess-policy"), config.getoption("--vlassess-benchmark")
    if policy is None and benchmark is None:
        return
    kind, subject = ("policy", policy) if policy is not None else ("benchmark", benchmark)
    try:
        params = json.loads(config.getoption("--vlassess-params"))
    except ValueError as error:
        raise pytest.UsageError(f"--vlassess-params is no JSON: {error}") from None
    if not isinstance(params, dict):
        raise pytest.UsageError("--vlassess-params is no JSON object, as '{\"speed\": 0.5}'")
    kit = Kit.from_parent(session, name=f"{kind} {subject}")
    kit.examine = _examiner(kind, subject, params, benchmark)
    items.extend(kit.collect())


class Kit(pytest.Collector):
    """A subject under examination; the kit runs once, when the first of its tests does."""

    examine: Callable[[], Any]
    _found: Optional[Tuple[Any, ...]] = None

    def collect(self) -> Iterator[pytest.Item]:
        """Give a test for each check."""
        for check in importlib.import_module(KITS[self.name.split()[0]]).CHECKS:
            item = CheckItem.from_parent(self, name=check.name)
            item.sentence = check.sentence
            yield item

    def result_of(self, name: str) -> Any:
        """Return what came of a check."""
        if self._found is None:
            errors: Any = importlib.import_module("vlassess_link.errors")
            try:
                self._found = self.examine().results
            except errors.VlassessError as error:
                raise NotKept(str(error)) from error
        return next(result for result in self._found if result.name == name)


class NotKept(Exception):
    """The subject breaks its contract, or cannot be examined."""


class CheckItem(pytest.Item):
    """One check of a kit."""

    sentence = ""

    def runtest(self) -> None:
        """Pass, fail or skip as the check did."""
        assert isinstance(self.parent, Kit)
        result = self.parent.result_of(self.name)
        if result.status == "skipped" and not result.untried:
            pytest.skip(result.reason)
        if result.status != "passed":
            raise NotKept(f"{self.sentence} But: {result.reason}\n{result.traceback}".rstrip())

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the reason alone: where the plugin raised it helps nobody."""
        if isinstance(excinfo.value, NotKept):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Tuple[Any, Optional[int], str]:
        """Say where the test is."""
        return self.path, None, f"{self.parent.name if self.parent else ''}: {self.name}"


def _examiner(kind: str, subject: str, params: Any, benchmark: Optional[str]) -> Callable[[], Any]:
    """Return what runs the kit: vlassess, which knows names and interpreters, where it is installed, else here."""
    if importlib.util.find_spec("vlassess") is not None:
        kits = importlib.import_module("vlassess.pipeline.kits")
        catalog = importlib.import_module("vlassess.catalog").Catalog.discover()
        if kind == "benchmark":
            return lambda: kits.run_benchmark_kit(subject, catalog, print, params)
        options = ["--params-json", json.dumps(params)]
        return lambda: kits.run_policy_kit(subject, catalog, print, benchmark, options)
    module: Any = importlib.import_module(KITS[kind])
    if kind == "policy":
        shown = None if benchmark is None else {"target": benchmark, "params": {}}
        return lambda: module.examine_policy(subject, params, shown)
    made: Any = importlib.import_module("vlassess_link.testing").benchmark_subject(subject, params)
    return lambda: module.run_benchmark_kit(made)
