"""Dialects: how messages become bytes, and the two ends of a connection."""
