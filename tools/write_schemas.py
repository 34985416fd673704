"""Writes ``docs/schemas/*.json``: what the files of a run directory hold, made from the models that write them.

Usage: ``python tools/write_schemas.py``; run it after changing a model. A test fails while a schema differs from its
model. A field that is added is optional; anything else is a new schema version.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from vlassess.campaign import CAMPAIGN_SCHEMA, CampaignConfig, CampaignManifest, RegionItem, RegionRecord
from vlassess.campaign import config as campaign_config
from vlassess.campaign import items as campaign_items
from vlassess.robustness import settings
from vlassess.schema import (
    collecting,
    comparison,
    config,
    decision,
    grounded,
    grounding,
    interpreter,
    items,
    manifest,
    study,
    summary,
)
from vlassess.schema.collecting import COLLECT_SCHEMA, CollectSettings
from vlassess.schema.comparison import COMPARISON_SCHEMA, Comparison
from vlassess.schema.config import RunConfig
from vlassess.schema.decision import DECISION_SCHEMA, Decision
from vlassess.schema.grounding import ANSWERS_SCHEMA, Answer
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import MANIFEST_SCHEMA, RunManifest
from vlassess.schema.study import StudyConfig
from vlassess.schema.summary import SUMMARY_SCHEMA, Summary
from vlassess.transfer import STUDY_SCHEMA, Amendment, HandRecord, HandTrial, StudyManifest, by_hand, entering, locked
from vlassess_link import data, spaces, specs
from vlassess_link.data import RECORD_SCHEMA, EpisodeRecord
from vlassess_link.specs import BenchmarkSpec, PolicySpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODULES = (
    collecting,
    comparison,
    config,
    decision,
    grounded,
    grounding,
    interpreter,
    items,
    manifest,
    study,
    summary,
    by_hand,
    entering,
    locked,
    campaign_config,
    campaign_items,
    settings,
    data,
    spaces,
    specs,
)
"""Where the types of the files are."""

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"
ATTRIBUTE = re.compile(r"^    (\w[\w, ]*): (.*(?:\n        .*)*)", re.MULTILINE)

FILES: Mapping[str, tuple[type, str]] = {
    "config": (RunConfig, "A resolved config: `config` of run.json."),
    "run": (RunManifest, f"run.json, schema version {MANIFEST_SCHEMA}."),
    "plan": (WorkItem, "A line of plan.jsonl: one work item."),
    "episodes": (EpisodeRecord, f"A line of episodes.jsonl, schema version {RECORD_SCHEMA}: one attempt."),
    "benchmark": (BenchmarkSpec, "`benchmark_spec` of run.json, and a benchmark's spec.json."),
    "policy": (PolicySpec, "A value of `policy_specs` of run.json."),
    "summary": (Summary, f"Standard output of `vlassess report --json`, schema version {SUMMARY_SCHEMA}."),
    "collect": (CollectSettings, f"collect.json, schema version {COLLECT_SCHEMA}: what becomes of a collection."),
    "decision": (Decision, f"decision.json, schema version {DECISION_SCHEMA}: what a stopping rule came to."),
    "answers": (
        Answer,
        f"A line of answers.jsonl, schema version {ANSWERS_SCHEMA}: what was answered without a robot.",
    ),
    "study-config": (StudyConfig, "A transfer study as it is written: `config` of study.json."),
    "study": (StudyManifest, f"study.json, schema version {STUDY_SCHEMA}: a locked transfer study."),
    "study-amendments": (Amendment, "A line of a study's amendments.jsonl."),
    "study-plan": (HandTrial, "A line of a study's plan.jsonl: one trial by hand."),
    "study-trials": (HandRecord, "A line of a study's trials.jsonl: what came of one trial by hand."),
    "campaign-config": (CampaignConfig, "A validation campaign as it is written: `config` of campaign.json."),
    "campaign": (CampaignManifest, f"campaign.json, schema version {CAMPAIGN_SCHEMA}: a validation campaign."),
    "campaign-plan": (RegionItem, "A line of a campaign's plan.jsonl: one region."),
    "campaign-regions": (RegionRecord, "A line of a campaign's regions.jsonl: what is known of one region."),
    "comparison": (
        Comparison,
        f"Standard output of `vlassess compare --json`, schema version {COMPARISON_SCHEMA}.",
    ),
}
"""Name of the schema -> the type that it is made from, and what it is of."""


def schema_of(name: str) -> dict[str, Any]:
    """Return one schema, its fields described by the docstrings of the types."""
    kind, about = FILES[name]
    schema = TypeAdapter(kind).json_schema(mode="serialization" if issubclass(kind, BaseModel) else "validation")
    classes = {cls.__name__: cls for module in MODULES for _, cls in inspect.getmembers(module, inspect.isclass)}
    for title, part in [(kind.__name__, schema), *schema.get("$defs", {}).items()]:
        if "properties" in part:
            _describe(classes[title], part)
    return {"$schema": DIALECT, "$id": f"{name}.json", **schema, "title": name, "description": about}


def _describe(cls: type, part: dict[str, Any]) -> None:
    """Put the docstrings' words to the fields, in place of titles that only repeat their names."""
    told = {**_attributes(cls), **_literals(cls)}
    for field, schema in part["properties"].items():
        schema.pop("title", None)
        if field in told:
            schema["description"] = told[field]
    if dataclasses.is_dataclass(cls):
        part["description"] = inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0]
        part["additionalProperties"] = False  # their readers refuse what they do not know


def _attributes(cls: type) -> dict[str, str]:
    """Return what the section "Attributes" of a class's docstring says of each field."""
    entries = ATTRIBUTE.finditer(inspect.cleandoc(cls.__doc__ or ""))
    return {field: " ".join(entry[2].split()) for entry in entries for field in entry[1].split(", ")}


def _literals(cls: type) -> dict[str, str]:
    """Return the texts that stand below the fields of a class, those of its bases first."""
    told: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("vlassess"):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            told.update(_below_fields(tree))
    return told


def _below_fields(tree: ast.stmt) -> Iterator[tuple[str, str]]:
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, below in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield field.target.id, " ".join(str(below.value.value).split())


def text_of(name: str) -> str:
    """Return one schema as its file holds it."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def main() -> None:
    """Write all of them and name each."""
    FOLDER.mkdir(exist_ok=True)
    for name in FILES:
        path = FOLDER / f"{name}.json"
        path.write_text(text_of(name), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
