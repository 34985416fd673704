"""Joins the stages: config -> plan -> execution -> records -> report. The only package that knows them all."""

from vlassess.pipeline.factors import summary_of
from vlassess.pipeline.memory import Held, hold
from vlassess.pipeline.merging import Merged, MergeRefusedError, Remaining, merge
from vlassess.pipeline.parts import Asked, part_of, taken
from vlassess.pipeline.planning import planned
from vlassess.pipeline.refusals import ResumeRefusedError
from vlassess.pipeline.reruns import Rerun, rerun, rerun_config
from vlassess.pipeline.runs import RunResult, report, resume, start, summarise_run
from vlassess.pipeline.sides import benchmark_spec, resolve

__all__ = [
    "Asked",
    "Held",
    "MergeRefusedError",
    "Merged",
    "Remaining",
    "Rerun",
    "ResumeRefusedError",
    "RunResult",
    "benchmark_spec",
    "hold",
    "merge",
    "part_of",
    "planned",
    "report",
    "rerun",
    "rerun_config",
    "resolve",
    "resume",
    "start",
    "summarise_run",
    "summary_of",
    "taken",
]
