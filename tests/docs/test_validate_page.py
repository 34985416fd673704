"""The page on validation runs as written: its files are written out, its commands run, what it promises holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT, blocks
from tests.docs.test_how_to import run_page

PAGE = ROOT / "docs" / "how-to" / "validate.md"
VERDICTS = ("robust", "adversarial", "unknown")


def parts(folder: Path, slow: bool) -> str:
    """Write a page of the blocks that are run, and return what they print."""
    for block in blocks(PAGE):
        if block["title"]:
            (folder / block["title"]).write_text(block["body"], encoding="utf-8")
    kept = [block[0] for block in blocks(PAGE) if not block["title"] and ("quickstart" in block["body"]) == slow]
    page = folder / "page.md"
    page.write_text("\n\n".join(kept), encoding="utf-8")
    return run_page(page, folder)


def test_a_policy_of_ones_own_is_validated_as_written(tmp_path: Path) -> None:
    said = parts(tmp_path, slow=False)
    summary = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))["summary"]
    rows = [row for family in summary["policies"][0]["families"] for row in family["rows"]]
    assert sum(row["robust"] for row in rows) > 0
    assert sum(row["adversarial"] for row in rows) > 0
    assert "asked again agree" in said


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_the_quickstart_shows_all_three_verdicts(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    parts(tmp_path, slow=True)
    (folder,) = (tmp_path / "validations").iterdir()
    records = [json.loads(line) for line in (folder / "regions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {record["verdict"] for record in records} == set(VERDICTS)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "conditional on the estimated Hölder constants" in page
