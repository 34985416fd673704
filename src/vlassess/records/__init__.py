"""The run directory: append-only, versioned, and enough to recompute every number."""

from vlassess.records.joining import ConflictError, Joined, Kept, join_records
from vlassess.records.lock import RunLockedError
from vlassess.records.runs import RunDirectory
from vlassess.records.store import Directory, RecordLog, RunDirectoryError, StorageFullError

__all__ = [
    "ConflictError",
    "Directory",
    "Joined",
    "Kept",
    "RecordLog",
    "RunDirectory",
    "RunDirectoryError",
    "RunLockedError",
    "StorageFullError",
    "join_records",
]
