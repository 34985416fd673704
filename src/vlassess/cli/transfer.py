"""``vlassess transfer plan | lock | run | status | amend``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from vlassess.catalog import Catalog
from vlassess.cli.output import console, print_json, say
from vlassess.cli.running import listener_for
from vlassess.cli.showing import table
from vlassess.cli.transfer_options import AmendOptions, LockOptions, PlanStudyOptions, RunStudyOptions, StudyOptions
from vlassess.config import load_model, override_model
from vlassess.exit_codes import COMPLETE, GATE_FAILED
from vlassess.pipeline.transfer import (
    Done,
    PartState,
    Study,
    StudyPlan,
    amend_study,
    lock_study,
    open_study,
    plan_study,
    progress_of,
    run_study,
    states_of,
)
from vlassess.schema.study import StudyConfig
from vlassess.transfer import BUNDLED_STUDIES, PATHS


def plan(options: PlanStudyOptions) -> int:
    """Print what a study comes to, and return 4 where it breaks a rule."""
    found = plan_study(_config(options.study, options.set), Catalog.discover(), say)
    if options.json:
        print_json(plan_json(found))
    else:
        show_plan(found, console())
    return GATE_FAILED if found.refused else COMPLETE


def lock(options: LockOptions) -> int:
    """Lock a study and print where it is."""
    output = [] if options.output is None else [f"output={json.dumps(str(options.output))}"]
    found = plan_study(_config(options.study, [*options.set, *output]), Catalog.discover(), say)
    study = lock_study(found)
    if options.json:
        print_json({"folder": str(study.path), "lock": study.lock, **plan_json(found)})
        return COMPLETE
    out = console()
    show_plan(found, out)
    out.print(Text(f"locked as {study.lock[:12]}: {study.path}"), soft_wrap=True)
    _next(study, states_of(study))
    return COMPLETE


def run(options: RunStudyOptions) -> int:
    """Run what is left and print how far the study is."""
    study = open_study(options.study)
    out = console()
    with listener_for(options.json, out) as listener:
        ran = run_study(study, Catalog.discover(), listener, only=tuple(options.part), workers=options.workers)
    states = states_of(study)
    if options.json:
        print_json(
            {"exit_code": ran.exit_code, "problems": list(ran.problems), "parts": [_state_json(one) for one in states]}
        )
        return ran.exit_code
    out.print(_states_table(states))
    for problem in ran.problems:
        sys.stderr.write(f"warning: {problem}\n")
    _next(study, states)
    return ran.exit_code


def status(options: StudyOptions) -> int:
    """Print how far a study is, its amendments and what happened to it."""
    study = open_study(options.study)
    states = states_of(study)
    by_hand = progress_of(study, states).by_hand
    if options.json:
        print_json(_status_json(study, states, by_hand))
        return COMPLETE
    out = console()
    out.print(Text(f"{study.directory.manifest.study_id}, locked {study.directory.manifest.created}"), soft_wrap=True)
    out.print(_states_table(states))
    if by_hand.planned:
        blind = "blind" if study.opened is None else f"opened {study.opened}"
        out.print(Text(f"by hand: {by_hand.done} of {by_hand.planned} trials; codes: {blind}"), soft_wrap=True)
    for amendment in study.amendments:
        changed = ", ".join(amendment.changes)
        text = f"amendment {amendment.number}, {amendment.time}, after {amendment.finished} trials: {changed}"
        out.print(Text(f"{text}: {amendment.reason}"), soft_wrap=True)
    for event in study.events:
        out.print(Text(f"{event.kind}, {event.time}: {event.text}"), soft_wrap=True)
    _next(study, states)
    return COMPLETE


def amend(options: AmendOptions) -> int:
    """Amend a locked study and print what it comes to now."""
    done = amend_study(options.study, options.set, options.reason, Catalog.discover(), say)
    amended, found = done.study, done.plan
    if options.json:
        print_json({"lock": amended.lock, "amendment": len(amended.amendments), **plan_json(found)})
        return COMPLETE
    out = console()
    show_plan(found, out)
    out.print(Text(f"amendment {len(amended.amendments)}, locked as {amended.lock[:12]}"), soft_wrap=True)
    _next(amended, states_of(amended))
    return COMPLETE


def show_plan(found: StudyPlan, out: Console) -> None:
    """Print runs, checks, price and claims."""
    rows = [(part.name, part.role, str(len(found.items[part.name]))) for part in found.design.parts]
    if rows:
        out.print(table(("run", "for", "trials"), rows))
    out.print(table(("rule", "verdict", ""), [(one.rule, one.verdict, one.sentence) for one in found.checks]))
    for sentence in price_of(found):
        out.print(Text(sentence), soft_wrap=True)


def price_of(found: StudyPlan) -> list[str]:
    """Return trials, hours and claims, a sentence each."""
    budget = found.budget
    told = []
    if budget.simulated:
        hours = "" if budget.hours_simulated is None else f", {budget.hours_simulated:.1f} hours one after the other"
        told.append(f"{budget.simulated} simulated trials{hours}.")
    if budget.by_hand:
        told.append(f"{budget.by_hand} trials by hand, {budget.hours_by_hand or 0.0:.1f} hours.")
    return [*told, *budget.sentences]


def plan_json(found: StudyPlan) -> dict[str, object]:
    """Return a plan as JSON types."""
    budget = found.budget
    return {
        "cells": [cell.name for cell in found.design.cells],
        "starts": found.design.starts,
        "parts": [part.model_dump(mode="json") for part in found.parts],
        "checks": [{"rule": one.rule, "verdict": one.verdict, "sentence": one.sentence} for one in found.checks],
        "budget": {name: getattr(budget, name) for name in budget.__dataclass_fields__},
        "claims": list(budget.sentences),
    }


def _config(source: str, overrides: Sequence[str]) -> StudyConfig:
    if Path(source, "study.json").is_file():
        config = open_study(Path(source)).config
        return override_model(StudyConfig, config, overrides, PATHS) if overrides else config
    return load_model(StudyConfig, source, overrides, BUNDLED_STUDIES, PATHS)


def _states_table(states: Sequence[PartState]) -> object:
    rows = [
        (
            state.part.name,
            f"{state.finished}/{len(state.items)}",
            str(state.errors) if state.errors else "",
            "no checkpoint" if state.absent else "" if state.run is None else state.run.path.name,
        )
        for state in states
    ]
    return table(("run", "done", "errors", "folder in runs/"), rows)


def _state_json(state: PartState) -> dict[str, object]:
    return {
        "name": state.part.name,
        "role": state.part.role,
        "planned": len(state.items),
        "finished": state.finished,
        "errors": state.errors,
        "run": None if state.run is None else str(state.run.path),
        "absent": [str(path) for path in state.absent],
    }


def _status_json(study: Study, states: Sequence[PartState], by_hand: Done) -> dict[str, object]:
    return {
        "study": study.directory.manifest.study_id,
        "lock": study.lock,
        "parts": [_state_json(state) for state in states],
        "by_hand": {"done": by_hand.done, "planned": by_hand.planned},
        "opened": study.opened,
        "amendments": [
            one.model_dump(mode="json", include={"number", "time", "reason", "changes", "finished", "lock"})
            for one in study.amendments
        ],
        "events": [event.model_dump(mode="json") for event in study.events],
    }


def _next(study: Study, states: Sequence[PartState]) -> None:
    """Say which command is next, on stderr."""
    left = [state for state in states if not state.complete]
    by_hand = progress_of(study, states).by_hand
    if any(state.absent for state in left):
        say("checkpoints are missing; how the bundled ones are trained is in the guide to transfer studies")
    if left:
        say(f"next: vlassess transfer run {study.path}")
    elif by_hand.planned and not by_hand.done:
        say(f"next: vlassess transfer sheet {study.path}")
    else:
        say(f"next: vlassess transfer analyse {study.path}")
