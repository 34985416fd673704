"""Demonstrations as data sets that others read and write: LeRobotDataset v3, and recordings for Rerun's viewer."""

from vlassess.datasets.errors import DatasetError

__all__ = ["DatasetError"]
