"""Writes ``spec.json`` of every bundled benchmark anew; run it after changing what a benchmark declares.

Usage: ``python tools/write_specs.py``. A test fails while a ``spec.json`` differs from its benchmark.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from vlassess_link.jsonable import to_json

BENCHMARKS = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "benchmarks"


def write_spec(folder: Path) -> Path:
    """Write one benchmark's spec; its class is what ``benchmark.toml`` names as FILE.py:CLASS."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    manifest = toml.loads((folder / "benchmark.toml").read_text(encoding="utf-8"))
    file, _, name = manifest["target"].partition(":")
    module = importlib.import_module(f"{folder.name}.{Path(file).stem}")
    path = folder / "spec.json"
    text = json.dumps(to_json(getattr(module, name)().spec), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def main() -> None:
    """Write all of them and name each."""
    sys.path.insert(0, str(BENCHMARKS))
    for manifest in sorted(BENCHMARKS.glob("*/benchmark.toml")):
        print(write_spec(manifest.parent))


if __name__ == "__main__":
    main()
