"""Transfer studies as data: cells, runs, checks, budget, lock, trials by hand; `analysis` says what they came to."""

from pathlib import Path

from vlassess.transfer.budget import Budget, budget_of
from vlassess.transfer.by_hand import HandTrial, Key, make_key, plan_by_hand, sheet_csv
from vlassess.transfer.checks import Check, Demonstrated, checks_of
from vlassess.transfer.design import Design, Part, control_of, design_of, label_of, shared_suites
from vlassess.transfer.entering import Deviation, HandRecord, as_planned, deviations, first_of_each, read_trials
from vlassess.transfer.locked import (
    STUDY_SCHEMA,
    Amendment,
    CheckFacts,
    Event,
    PartFacts,
    StudyManifest,
    broken_link,
    plan_digest,
    sealed,
)

BUNDLED_STUDIES = {path.stem: path for path in sorted((Path(__file__).resolve().parent / "configs").glob("*.yaml"))}
"""Studies that come with vlassess: name -> file."""
PATHS = (("output",), ("few_shot", "folder"), ("few_shot", "demonstrations", "records"), ("real", "pictures"))
"""Places of a study that hold paths."""

__all__ = [
    "BUNDLED_STUDIES",
    "PATHS",
    "STUDY_SCHEMA",
    "Amendment",
    "Budget",
    "Check",
    "CheckFacts",
    "Demonstrated",
    "Design",
    "Deviation",
    "Event",
    "HandRecord",
    "HandTrial",
    "Key",
    "Part",
    "PartFacts",
    "StudyManifest",
    "as_planned",
    "broken_link",
    "budget_of",
    "checks_of",
    "control_of",
    "design_of",
    "deviations",
    "first_of_each",
    "label_of",
    "make_key",
    "plan_by_hand",
    "plan_digest",
    "read_trials",
    "sealed",
    "shared_suites",
    "sheet_csv",
]
