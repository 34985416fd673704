"""The schemas in the documentation are those of the models, and the files that are written fit them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tools.write_schemas import FILES, FOLDER, schema_of
from vlassess.records import RunDirectory
from vlassess.report import summarise

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "tests" / "assets" / "records").iterdir())
Check = Callable[[Any], None]


def checker(name: str) -> Check:
    """Return what raises where a value does not fit a published schema."""
    schema = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    check: Check = jsonschema.Draft202012Validator(schema).validate
    return check


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_published_schema_is_that_of_the_model(name: str) -> None:
    published = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert published == schema_of(name), "a model changed: run python tools/write_schemas.py"


def test_nothing_else_is_published() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FILES)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_samples_of_every_version_fit(sample: Path) -> None:
    manifest = json.loads((sample / "run.json").read_text(encoding="utf-8"))
    checker("run")(manifest)
    checker("config")(manifest["config"])
    checker("benchmark")(manifest["benchmark_spec"])
    for spec in manifest["policy_specs"].values():
        checker("policy")(spec)
    for name in ("plan", "episodes"):
        check = checker(name)
        for line in lines(sample / f"{name}.jsonl"):
            check(line)
    run = RunDirectory.open(sample)
    summary = summarise(run.items(), run.records().records, run.manifest)
    checker("summary")(summary.model_dump(mode="json"))


@pytest.mark.parametrize("spec", sorted(ROOT.glob("src/vlassess/benchmarks/*/spec.json")), ids=lambda p: p.parent.name)
def test_bundled_benchmarks_fit(spec: Path) -> None:
    checker("benchmark")(json.loads(spec.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attempt": "1"}, "'1' is not of type 'integer'"),
        ({"novelty": 1}, "'novelty' was unexpected"),
        ({"outcome": {"success": True}}, "is not valid under any of the given schemas"),
        ({"action_low": 3}, "3 is not of type 'array'"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], words: str) -> None:
    record = {**lines(SAMPLES[0] / "episodes.jsonl")[0], **change}
    with pytest.raises(jsonschema.ValidationError, match=words):
        checker("episodes")(record)


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_field_is_explained(name: str) -> None:
    schema = schema_of(name)
    explained = [
        "description" in field
        for part in (schema, *schema.get("$defs", {}).values())
        for field in part.get("properties", {}).values()
    ]
    assert sum(explained) >= 0.9 * len(explained) > 0
