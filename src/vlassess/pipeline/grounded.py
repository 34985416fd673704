"""What the policies of a run came to on suites that ask questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vlassess.grounding.results import results
from vlassess.grounding.suites import suite_of
from vlassess.grounding.trials import trial
from vlassess.pipeline.probing import said
from vlassess.report.text import one_line
from vlassess.schema.attempts import Entry
from vlassess.schema.summary import Summary


def with_grounding(
    summary: Summary, every: Sequence[Entry], folder: Path | None, answers: Mapping[str, str] | None = None
) -> Summary:
    """Return a summary with the scores of its grounding suites; one without such suites as it is.

    Args:
        summary: Of the run.
        every: Its planned items with their records.
        folder: The run directory, where videos are looked for; None: there is none.
        answers: Item id -> what a policy said without a robot; None: what the run directory has.
    """
    asking = [entry for entry in every if suite_of(entry.item.episode.suite) and entry.record is not None]
    if not asking:
        return summary
    if answers is None:
        answers = {} if folder is None else said(folder)
    policies = []
    for policy in summary.policies:
        own = [entry for entry in asking if one_line(entry.item.policy) == policy.label]
        found = [trial(entry.item.item_id, entry.item.episode, entry.record) for entry in own]
        found = [each and replace(each, answered=answers.get(each.item_id)) for each in found]
        filmed = {entry.item.item_id for entry in own if _filmed(folder, entry.item.item_id)}
        grounding = results([each for each in found if each is not None], filmed)
        policies.append(policy.model_copy(update={"grounding": grounding}))
    return summary.model_copy(update={"policies": tuple(policies)})


def _filmed(folder: Path | None, item_id: str) -> bool:
    return folder is not None and item_id.isalnum() and (folder / "artifacts" / item_id / "video.mp4").is_file()
