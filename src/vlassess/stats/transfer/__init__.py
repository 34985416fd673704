"""What a transfer study's trials say: pure functions of trials."""

from vlassess.stats.transfer.analysis import analyse_study, findings

__all__ = ["analyse_study", "findings"]
