"""The conformance kit for benchmarks: the rules of the contract that a run relies on, each tried out.

It runs in the simulator's own interpreter (Python 3.8 or newer) and needs nothing but the class.
"""

from __future__ import annotations

from typing import Optional, Sequence, Tuple

from vlassess_link.testing import benchmark_checks as checks
from vlassess_link.testing.benchmark_subject import BenchmarkSubject
from vlassess_link.testing.kit import Check, Hearer, KitReport, chosen, run_checks

CHECKS: Tuple[Check[BenchmarkSubject], ...] = (
    Check(
        "reset_is_deterministic",
        "The same episode starts and goes on the same, bit for bit, whatever ran before.",
        checks.reset_is_deterministic,
    ),
    Check("seeds_differ", "Two starts of a task differ.", checks.seeds_differ),
    Check(
        "reported_state_is_there",
        "The initial state that reset reports is really set: where it differs, what is seen differs.",
        checks.reported_state_is_there,
    ),
    Check(
        "stored_states_are_set",
        "A stored initial state is the same under every seed.",
        checks.stored_states_are_set,
    ),
    Check("start_is_stable", "Nothing moves after reset while the hold action is sent.", checks.start_is_stable),
    Check(
        "observation_matches_spec",
        "Cameras, sizes, dtypes, state and extras are those of the spec and of the view.",
        checks.observation_matches_spec,
    ),
    Check(
        "looking_changes_nothing",
        "Rendering does not change the course of the episode.",
        checks.looking_changes_nothing,
    ),
    Check(
        "instruction_is_the_episodes",
        "An instruction that the episode gives is the one delivered.",
        checks.instruction_is_the_episodes,
    ),
    Check("no_success_at_reset", "No start is a success by itself.", checks.no_success_at_reset),
    Check(
        "step_limit_is_exact", "An episode can last until its step limit, and never longer.", checks.step_limit_is_exact
    ),
    Check(
        "processes_agree", "Two episodes in one process equal the same two in two processes.", checks.processes_agree
    ),
    Check(
        "termination_is_as_declared",
        "An episode with success ends when and as the spec's termination and success say.",
        checks.termination_is_as_declared,
    ),
    Check("primary_metric_is_told", "Each outcome has the primary metric.", checks.primary_metric_is_told),
    Check(
        "axes_touch_what_they_say",
        "A level of an axis changes something that its axis names, and nothing else.",
        checks.axes_touch_what_they_say,
    ),
)
"""In the order in which they run."""


def run_benchmark_kit(
    subject: BenchmarkSubject, only: Optional[Sequence[str]] = None, hearer: Optional[Hearer] = None
) -> KitReport:
    """Return what the checks say of a benchmark; nothing that it does wrong is raised.

    Raises:
        ContractError: ``only`` names a check that there is not.
    """
    return run_checks("benchmark", subject.spec.name, chosen(CHECKS, only), subject, hearer)
