"""The conformance kit for policies: the rules of the contract that a run relies on, each tried out.

A model that can be loaded here is examined whole: alone, over a socket, in batches, in openpi's dialect. Of a policy
behind a url the kit sees what its clients see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlassess_link.benchmarks.base import Benchmark
from vlassess_link.loading import load_target
from vlassess_link.testing import policy_checks as checks
from vlassess_link.testing.kit import Check, Hearer, KitReport, chosen, run_checks
from vlassess_link.testing.policy_subject import DEADLINE, PolicySubject, policy_subject

CHECKS: tuple[Check[PolicySubject], ...] = (
    Check("chunk_is_as_declared", "Each answer has as many actions as the spec says.", checks.chunk_is_as_declared),
    Check(
        "action_is_as_declared",
        "Actions have the declared size and bounds, and one dtype.",
        checks.action_is_as_declared,
    ),
    Check(
        "same_in_same_out",
        "Unless it says that it is stochastic, the same observations give the same actions.",
        checks.same_in_same_out,
    ),
    Check(
        "noise_seed_is_honoured",
        "The noise is a function of the noise seed.",
        checks.noise_seed_is_honoured,
    ),
    Check("reset_forgets", "Nothing of an episode leaks into the next one.", checks.reset_forgets),
    Check("sessions_are_apart", "Nothing of a session leaks into another one.", checks.sessions_are_apart),
    Check("observation_is_left_alone", "Observations are not changed.", checks.observation_is_left_alone),
    Check("query_is_stateless", "A query depends on itself alone and changes nothing.", checks.query_is_stateless),
    Check(
        "query_is_a_fresh_episode",
        "A query is answered as the first observation of an episode.",
        checks.query_is_a_fresh_episode,
    ),
    Check("socket_agrees", "In-process and over a socket, the answers are the same.", checks.socket_agrees),
    Check("batch_agrees", "Alone and in a batch, the answers are the same.", checks.batch_agrees),
    Check("openpi_agrees", "In openpi's dialect, the answers are the same.", checks.openpi_agrees),
)
"""In the order in which they run."""


def run_policy_kit(
    subject: PolicySubject, only: Sequence[str] | None = None, hearer: Hearer | None = None
) -> KitReport:
    """Return what the checks say of a policy; nothing that it does wrong is raised.

    Raises:
        ContractError: ``only`` names a check that there is not.
    """
    return run_checks("policy", subject.spec.identity.name, chosen(CHECKS, only), subject, hearer)


def examine_policy(
    policy: str,
    params: Mapping[str, Any] | None = None,
    benchmark: Mapping[str, Any] | None = None,
    only: Sequence[str] | None = None,
    hearer: Hearer | None = None,
    seconds: float = DEADLINE,
) -> KitReport:
    """Load, or connect to, a policy and run the kit on it.

    Args:
        policy: ``ws://host:port``, ``file.py:Class`` or ``module:Class``.
        params: Of its constructor.
        benchmark: ``target`` and ``params`` of the benchmark whose observations it is shown; None: such as its spec
            allows.
        only: Names of checks; None: all.
        hearer: Told of each check.
        seconds: Of a policy with a url: most that an answer may take.

    Raises:
        VlassessError: the policy or the benchmark cannot be loaded or reached.
    """
    made: Benchmark | None = None
    if benchmark is not None:
        made = load_target(benchmark["target"], Benchmark, dict(benchmark.get("params", {})))
    try:
        with policy_subject(policy, params, made, seconds=seconds) as subject:
            return run_policy_kit(subject, only, hearer)
    finally:
        if made is not None:
            made.close()
