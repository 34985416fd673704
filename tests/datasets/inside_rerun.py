"""Runs where rerun-sdk is: reads recordings back with it, and says what is in them.

Usage: ``inside_rerun.py FOLDER``; prints JSON.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
from PIL import Image


def read(path: Path) -> dict[str, Any]:
    """Return the content of one recording."""
    recording = rr.dataframe.load_recording(str(path))
    table = recording.view(index="step", contents="/**").select().read_all()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    numbers = {
        name.split(":")[0]: [value[0] for value in values if value]
        for name, values in columns.items()
        if "Scal" in name
    }
    pictures = {}
    for name, values in columns.items():
        if name.endswith("EncodedImage:blob"):
            images = [Image.open(io.BytesIO(bytes(value[0]))) for value in values if value]
            pictures[name.split(":")[0]] = [np.asarray(image).astype(int).sum(axis=(0, 1)).tolist() for image in images]
    return {
        "id": recording.recording_id(),
        "application": recording.application_id(),
        "steps": columns["step"],
        "numbers": numbers,
        "pictures": pictures,
        "texts": [
            value for name, values in columns.items() if "TextDocument:text" in name for value in values if value
        ],
    }


if __name__ == "__main__":
    print(json.dumps([read(path) for path in sorted(Path(sys.argv[1]).glob("*.rrd"))]))
