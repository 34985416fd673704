"""Writes the observations that ``vlassess validate`` comes with, from the recorded inputs of a run.

Usage: ``vlassess run tabletop --policy mini-vla --set episodes=1 --set artifacts.inputs=12``, then
``python tools/write_validation_observations.py RUN``. Of each episode three inputs are kept, the first and two from on
the way; the first forty are written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

MOMENTS = (0, 3, 6)
COUNT = 40
TARGET = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "campaign" / "observations" / "tabletop.npz"


def main(run: Path) -> None:
    """Write the file and say how large it is."""
    rows: list[dict[str, np.ndarray]] = []
    for moment in MOMENTS:
        for file in sorted(run.glob("artifacts/**/inputs.npz")):
            with file.open("rb") as opened, np.load(opened) as found:
                mine = {name.partition("_")[2]: found[name] for name in found.files if name.startswith(f"{moment}_")}
            if mine:
                rows.append(mine)
    rows = rows[:COUNT]
    cameras = [name for name in rows[0] if name.startswith("image_")]
    columns = {name.replace("image_", "images_"): np.stack([row[name] for row in rows]) for name in cameras}
    columns["state"] = np.stack([row["state"] for row in rows])
    columns["instruction"] = np.array([str(row["instruction"]) for row in rows])
    np.savez_compressed(TARGET, **columns)  # type: ignore[arg-type]
    print(f"{TARGET}: {len(rows)} observations, {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
