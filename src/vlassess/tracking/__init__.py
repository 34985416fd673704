"""Tells experiment trackers what a run came to. Optional, and never in the way of a result."""

from vlassess.tracking.entry import Entry, entry_of
from vlassess.tracking.trackers import Tracker, TrackerUnavailableError, require, track

__all__ = ["Entry", "Tracker", "TrackerUnavailableError", "entry_of", "require", "track"]
