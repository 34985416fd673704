"""From what workers spooled to videos, steps and inputs that people open; never in the way of an episode."""

from vlassess.artifacts.needs import ArtifactsUnavailableError, require
from vlassess.artifacts.studio import Studio, left_unwritten

__all__ = ["ArtifactsUnavailableError", "Studio", "left_unwritten", "require"]
