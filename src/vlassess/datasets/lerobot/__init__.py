"""LeRobotDataset v3: tables of frames in Parquet, videos in MP4, and what describes them."""

from vlassess.datasets.lerobot.reading import EpisodeOfDataset, LeRobotReader
from vlassess.datasets.lerobot.writing import Images, LeRobotWriter, new_dataset

__all__ = ["EpisodeOfDataset", "Images", "LeRobotReader", "LeRobotWriter", "new_dataset"]
