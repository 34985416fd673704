"""Writes ``spec.json`` of every bundled benchmark anew; run it after changing what a benchmark declares.

Usage: ``python tools/write_specs.py``. A test fails while a ``spec.json`` differs from its benchmark. One that
declares nothing by itself (the gymnasium bridge without parameters) has none.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from vlassess_link import Benchmark
from vlassess_link.jsonable import to_json
from vlassess_link.loading import load_target

BENCHMARKS = Path(__file__).resolve().parent.parent / "src" / "vlassess" / "benchmarks"
WITHOUT = ("gym_bridge",)


def spec_text(folder: Path) -> str:
    """Return the content of one benchmark's ``spec.json``; its ``benchmark.toml`` names FILE.py:CLASS."""
    # tomllib came with Python 3.11; tomli is the same code for 3.10.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    manifest = toml.loads((folder / "benchmark.toml").read_text(encoding="utf-8"))
    benchmark = load_target(str(folder / manifest["target"]), Benchmark, manifest.get("params", {}))
    return json.dumps(to_json(benchmark.spec), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def folders() -> list[Path]:
    """Return the folders of the bundled benchmarks that declare something."""
    found = sorted(manifest.parent for manifest in BENCHMARKS.glob("*/benchmark.toml"))
    return [folder for folder in found if folder.name not in WITHOUT]


def main() -> None:
    """Write all of them and name each."""
    for folder in folders():
        path = folder / "spec.json"
        path.write_text(spec_text(folder), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
