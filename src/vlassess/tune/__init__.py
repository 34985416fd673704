"""How many workers and which batch size suit a benchmark and a policy on this machine: measured, not guessed."""

from vlassess.tune.findings import Findings, TuneSettings
from vlassess.tune.point import OperatingPoint, operating_point
from vlassess.tune.tuning import tune
from vlassess.tune.writing import write_findings

__all__ = ["Findings", "OperatingPoint", "TuneSettings", "operating_point", "tune", "write_findings"]
