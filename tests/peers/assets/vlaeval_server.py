# /// script
# requires-python = ">=3.10"
# dependencies = ["vla-eval==0.8.0"]
# ///
"""A model server of vla-eval, started by its own `vla-eval serve`: one step forward, two at a time."""

import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import run_server


class Walker(PredictModelServer):
    def __init__(self, stride: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self.stride = stride

    def predict(self, obs, ctx):
        assert obs["task_description"].startswith("go to"), obs["task_description"]
        assert obs["images"]["front"].shape == (4, 4, 3)
        return {"actions": np.full((2, 1), self.stride, np.float32)}

    def get_action_spec(self):
        return {}

    def get_observation_spec(self):
        return {}


if __name__ == "__main__":
    run_server(Walker)
