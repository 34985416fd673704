"""Environments of the peers that the wire is tested and measured against, each built once.

An environment is a folder of ``.cache/peers/``; a variable names an interpreter that has the packages already::

    python tools/peers.py vla-eval      # prints the path of its interpreter, building it where it is missing
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".cache" / "peers"
PACKAGES = {
    "vla-eval": ("vla-eval==0.8.0",),
    # It imports typing_extensions without saying so.
    "openpi": ("openpi-client==0.1.2", "typing_extensions"),
}
VARIABLES = {"vla-eval": "VLASSESS_VLAEVAL_PYTHON", "openpi": "VLASSESS_OPENPI_PYTHON"}


def interpreter(name: str) -> str | None:
    """Return the interpreter of a peer that is there already, else None."""
    given = os.environ.get(VARIABLES[name])
    if given:
        return given
    built = PLACE / name / "bin" / "python"
    return str(built) if built.exists() else None


def built(name: str) -> str:
    """Return the interpreter of a peer, building its environment where it is missing.

    Raises:
        RuntimeError: it cannot be built; says why.
    """
    found = interpreter(name)
    if found is not None:
        return found
    PLACE.mkdir(parents=True, exist_ok=True)
    # Made aside and renamed, so that nobody ever sees half of it; its scripts are not used, only its python.
    aside = tempfile.mkdtemp(prefix=f"{name}-", dir=PLACE)
    try:
        _run([sys.executable, "-m", "venv", aside])
        _run([f"{aside}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[name]])
        if not (PLACE / name).exists():
            os.rename(aside, PLACE / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return str(PLACE / name / "bin" / "python")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-400:]}")


if __name__ == "__main__":
    print(built(sys.argv[1]))
