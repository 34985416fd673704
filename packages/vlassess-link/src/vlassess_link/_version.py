"""The one place where the version of both distributions stands."""

__version__ = "0.1.0"
