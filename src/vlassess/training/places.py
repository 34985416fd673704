"""Where what is trained on, what runs it, and what it comes with lie: files that are data for the harness."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADAPTER = ROOT / "benchmarks" / "tabletop" / "adapter.py"
ANSWERS = ROOT / "benchmarks" / "tabletop" / "answers.py"
SCRIPT = ROOT / "policies" / "mini_vla.py"
WEIGHTS = ROOT / "policies" / "weights" / "mini_vla.onnx"
