"""Joins the stages: config -> plan -> execution -> records -> report. The only package that knows them all."""

from vlassess.pipeline.refusals import ResumeRefusedError
from vlassess.pipeline.runs import RunResult, report, resume, start, summarise_run
from vlassess.pipeline.sides import benchmark_spec, resolve

__all__ = ["ResumeRefusedError", "RunResult", "benchmark_spec", "report", "resolve", "resume", "start", "summarise_run"]
