"""Transfer studies from plan to report: planned, locked, run, amended, entered by hand, analysed; this is its API."""

from vlassess.pipeline.transfer.amending import Amended, amend_study
from vlassess.pipeline.transfer.analysis import ANALYSIS, Analysed, analyse, write_study_report
from vlassess.pipeline.transfer.by_hand import Imported, import_trials, unblind, write_hand_sheet
from vlassess.pipeline.transfer.planning import StudyError, StudyPlan, plan_study
from vlassess.pipeline.transfer.running import Ran, run_study
from vlassess.pipeline.transfer.states import PartState, Progress, progress_of, states_of
from vlassess.pipeline.transfer.store import Done, Study, lock_study, open_study

__all__ = [
    "ANALYSIS",
    "Amended",
    "Analysed",
    "Done",
    "Imported",
    "PartState",
    "Progress",
    "Ran",
    "Study",
    "StudyError",
    "StudyPlan",
    "amend_study",
    "analyse",
    "import_trials",
    "lock_study",
    "open_study",
    "plan_study",
    "progress_of",
    "run_study",
    "states_of",
    "unblind",
    "write_hand_sheet",
    "write_study_report",
]
