"""Writes ``spec.json`` of every bundled benchmark anew; run it after changing what a benchmark declares.

Usage: ``python tools/write_specs.py``. A test fails while a ``spec.json`` differs from its benchmark.
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


def write_spec(folder: Path) -> Path:
    """Write one benchmark's spec; its class is what ``benchmark.toml`` names as FILE.py:CLASS."""
    # tomllib came with Python 3.11; tomli is the same code for 3.10.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    manifest = toml.loads((folder / "benchmark.toml").read_text(encoding="utf-8"))
    benchmark = load_target(str(folder / manifest["target"]), Benchmark, {})
    text = json.dumps(to_json(benchmark.spec), indent=2, ensure_ascii=False, allow_nan=False)
    path = folder / "spec.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def main() -> None:
    """Write all of them and name each."""
    for manifest in sorted(BENCHMARKS.glob("*/benchmark.toml")):
        print(write_spec(manifest.parent))


if __name__ == "__main__":
    main()
