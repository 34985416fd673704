"""Region-level robustness: decide whether an objective is positive in a whole region, or show where it is not."""

from vlassess.robustness.certificates import Certificate, read_certificate
from vlassess.robustness.runs import Run, resume
from vlassess.robustness.settings import (
    Direct,
    Grid,
    Hoelder,
    HoelderCoverage,
    HoelderMargin,
    Lipschitz,
    Settings,
    Sobol,
    Uniform,
)
from vlassess.robustness.verdicts import Adversarial, Robust, Unknown, Verdict

__all__ = [
    "Adversarial",
    "Certificate",
    "Direct",
    "Grid",
    "Hoelder",
    "HoelderCoverage",
    "HoelderMargin",
    "Lipschitz",
    "Robust",
    "Run",
    "Settings",
    "Sobol",
    "Uniform",
    "Unknown",
    "Verdict",
    "read_certificate",
    "resume",
]
