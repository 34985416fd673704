"""Reads the goal out of the picture and goes there, three steps at a time."""

import numpy as np

from vlassess_link import PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link.spaces import Component, Layout, end_effector_delta


class Seeker(PredictModelServer):
    spec = PolicySpec(
        PolicyIdentity("seeker"),
        cameras=("agentview",),
        state=Layout((Component("point", "position", 2),)),
        action=end_effector_delta(),
        chunk=3,
        horizon=3,
    )

    def predict(self, obs, ctx):
        row, column = np.argwhere(obs.images["agentview"][:, :, 0] == 255)[0]
        point, actions = np.array(obs.state, float), np.zeros((3, 7))
        for action in actions:
            action[:2] = np.clip(np.array([column, row]) - point, -1, 1)
            point += action[:2]
        return {"actions": actions}
