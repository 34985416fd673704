"""Who is charged with what went wrong: the policy, the benchmark, or neither."""

from __future__ import annotations

import traceback
from typing import Tuple

from vlassess_link.benchmarks.recording import PHASE
from vlassess_link.data import ErrorInfo
from vlassess_link.errors import DecodeError, EpisodeFault, VlassessError, WireError

BENCHMARK_PHASES = ("load", "reset", "step", "render")
POLICY_PHASES = ("inference",)
PHASES = (*BENCHMARK_PHASES, *POLICY_PHASES, PHASE)
"""What an attempt's seconds are told by; the rest of its total is the harness's own."""


def error_info(error: BaseException, phase: str) -> ErrorInfo:
    """Say who is charged with an exception that was raised in ``phase``."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    message = str(error) or type(error).__name__
    if not isinstance(error, VlassessError):
        message = f"{type(error).__name__}: {message}" if str(error) else message
    return ErrorInfo(_origin(error, phase), phase, type(error).__name__, message, text[-4000:])


def timeout_charge(phase: str) -> Tuple[str, str]:
    """Return origin and kind of the error when ``phase`` ran past its deadline."""
    if phase in POLICY_PHASES:
        return "policy", "InferenceTimeout"
    return "infrastructure" if phase in (PHASE, "connect") else "benchmark", "PhaseTimeout"


def _origin(error: BaseException, phase: str) -> str:
    if isinstance(error, EpisodeFault):
        return error.origin
    if isinstance(error, WireError) and phase in POLICY_PHASES:
        return "policy" if isinstance(error, DecodeError) else "benchmark"
    if phase in POLICY_PHASES:
        return "policy"
    return "benchmark" if phase in (*BENCHMARK_PHASES, "other") else "infrastructure"
