"""What a transfer study's trials say: pure functions of trials."""

from vlassess.transfer.analysis.study import analyse_study, findings

__all__ = ["analyse_study", "findings"]
