"""vlassess_link: `RemotePolicy` and `PolicyServer`."""

from __future__ import annotations

import sys

import numpy as np
from observations import images, serve_measurements, state

from vlassess_link import EpisodeStart, Observation, PolicyIdentity, PolicySpec, PredictModelServer
from vlassess_link._version import __version__
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.client import Options
from vlassess_link.wire.server import PolicyServer


class Trivial(PredictModelServer):
    """Answers the same action at once."""

    spec = PolicySpec(PolicyIdentity("trivial"))
    actions = np.zeros((1, 7), np.float32)

    def predict(self, obs, ctx):
        """Answer."""
        return {"actions": self.actions}


def serve() -> None:
    """Serve until killed."""
    with PolicyServer(Trivial()) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def ask(url: str, way: str) -> None:
    """Measure on request."""
    policy = RemotePolicy(url, options=Options(shared_memory=way == "shared"))
    policy.reset(EpisodeStart("e", "suite", "task", "go"), 1)
    obs = Observation(images(), "go", state())
    serve_measurements(f"vlassess-link {__version__}, numpy {np.__version__}", lambda: policy.predict(obs))


if __name__ == "__main__":
    serve() if sys.argv[1] == "server" else ask(*sys.argv[2:])
