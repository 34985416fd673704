"""Objectives whose minimum is known, for tests, benchmarks and trying a solver out."""

from vlassess.robustness.objectives.known import Known, noisy, quantised
from vlassess.robustness.objectives.networks import ReluNetwork, relu_network
from vlassess.robustness.objectives.piecewise import cones, lattice
from vlassess.robustness.objectives.smooth import actions, fourier, well

__all__ = [
    "Known",
    "ReluNetwork",
    "actions",
    "cones",
    "fourier",
    "lattice",
    "noisy",
    "quantised",
    "relu_network",
    "well",
]
