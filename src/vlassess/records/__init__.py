"""The run directory: append-only, versioned, and enough to recompute every number."""

from vlassess.records.lock import RunLockedError
from vlassess.records.store import RecordLog, RunDirectory, RunDirectoryError, StorageFullError

__all__ = ["RecordLog", "RunDirectory", "RunDirectoryError", "RunLockedError", "StorageFullError"]
