"""What a policy came to on a grounding suite: scores, funnel, errors, biases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from vlassess.grounding.biases import biases, strongest
from vlassess.grounding.scores import Share, Tried, scores
from vlassess.grounding.trials import STAGES, Trial, names_of
from vlassess.schema.grounded import ConfusionRow, ErrorCount, ErrorKind, GroundedSuite, SceneItem, ShareOf, StageCount
from vlassess.stats import clopper_pearson, rate

CONFIDENCE = 0.95
NONE = "none"
"""Stands for no grasp in a confusion table."""

_ORDER: tuple[ErrorKind, ...] = (
    "no grasp",
    "wrong target after grasp",
    "incorrect reasoning, wrong target",
    "correct reasoning, wrong target",
    "right target, not placed",
)


def error_of(trial: Trial) -> ErrorKind | None:
    """Return why an episode failed: Table 5 of the paper and "no grasp"; None where it succeeded."""
    if trial.placed:
        return None
    if trial.right is None:
        return "no grasp"
    if trial.right:
        return "right target, not placed"
    if trial.said is None:
        return "wrong target after grasp"
    right = trial.said == trial.asked.target
    return "correct reasoning, wrong target" if right else "incorrect reasoning, wrong target"


def results(trials: Iterable[Trial], filmed: Collection[str] = ()) -> tuple[GroundedSuite, ...]:
    """Return one result for each suite, in the order in which they come.

    Args:
        trials: Of one policy.
        filmed: Item ids of episodes with a video; examples are taken from them where there are any.
    """
    groups: dict[str, list[Trial]] = defaultdict(list)
    for each in trials:
        groups[each.suite.name].append(each)
    return tuple(_suite(group, filmed) for group in groups.values())


def _suite(trials: Sequence[Trial], filmed: Collection[str]) -> GroundedSuite:
    suite, control = trials[0].suite, trials[0].asked.control
    found = scores(
        [Tried(each.right, each.placed) for each in trials], suite.choices, np.random.default_rng(0), CONFIDENCE
    )
    grasped = [each for each in trials if each.chosen is not None]
    seen = biases(trials)
    shown = next((each for each in trials if each.candidates), trials[0])
    followed, sentence = _followed(grasped, control)
    language = _share([each.answered == each.asked.target for each in trials if each.answered is not None])
    return GroundedSuite(
        suite=suite.name,
        control=control,
        choices=suite.choices,
        episodes=len(trials),
        gsr=_of(found.gsr),
        tsr_grasp=_of(found.tsr_grasp),
        tsr_place=_of(found.tsr_place),
        choice=_of(found.choice),
        nsg=found.nsg,
        nsg_interval=found.nsg_interval,
        nsg_bootstrap=found.nsg_bootstrap,
        verdict=found.chance.verdict,
        p_value=found.chance.p_value,
        needed=found.chance.needed,
        sentence=found.sentence,
        regrasps=sum(each.regrasps for each in grasped) / len(grasped) if grasped else None,
        funnel=_funnel(trials),
        errors=_errors(trials, filmed),
        biases=seen,
        bias=strongest(seen),
        confusion=_confusion(trials),
        followed=followed,
        followed_sentence=sentence,
        said=_share([each.said == each.asked.target for each in trials if each.said is not None]),
        said_and_done=_share([each.said == each.chosen for each in grasped if each.said is not None]),
        language=language,
        language_gap=_gap(found.choice.rate, language),
        scene=_scene(shown),
        instruction=shown.instruction,
        layouts_excluded=sum(each.excluded for each in trials),
    )


def _funnel(trials: Sequence[Trial]) -> tuple[StageCount, ...]:
    furthest = [max(each.reached.values(), default=0) for each in trials]
    mine = [each.reached.get(each.asked.target, 0) for each in trials]
    return tuple(
        StageCount(stage=stage, any=sum(one >= place for one in furthest), right=sum(one >= place for one in mine))
        for place, stage in enumerate(STAGES, 1)
    )


def _errors(trials: Sequence[Trial], filmed: Collection[str]) -> tuple[ErrorCount, ...]:
    groups: dict[ErrorKind, list[Trial]] = defaultdict(list)
    for each in trials:
        kind = error_of(each)
        if kind is not None:
            groups[kind].append(each)
    found = []
    for kind in _ORDER:
        if kind in groups:
            example = next((each for each in groups[kind] if each.item_id in filmed), groups[kind][0])
            name = f"{example.suite.name} {example.index}"
            found.append(ErrorCount(kind=kind, n=len(groups[kind]), example=example.item_id, example_name=name))
    return tuple(found)


def _confusion(trials: Sequence[Trial]) -> tuple[ConfusionRow, ...]:
    rows: dict[str, Counter[str]] = {name: Counter() for name in names_of(trials)}
    for each in trials:
        rows[each.asked.target][each.chosen or NONE] += 1
    return tuple(ConfusionRow(right=name, chosen=dict(found)) for name, found in rows.items())


def _scene(trial: Trial) -> tuple[SceneItem, ...]:
    found = [
        SceneItem(
            name=one.name,
            x=one.x,
            y=one.y,
            colour=one.colour,
            right=one.name == trial.asked.target,
            chosen=one.name == trial.chosen,
        )
        for one in trial.candidates
    ]
    if trial.zone is not None:
        x, y = trial.zone
        found.append(SceneItem(name="zone", x=x, y=y, colour="", right=False, chosen=False))
    return tuple(found)


def _followed(grasped: Sequence[Trial], control: str) -> tuple[ShareOf | None, str | None]:
    if control == "contradictory":
        named = _share([each.chosen == each.asked.named for each in grasped])
        return named, None if named is None else f"the named candidate was taken in {_text(named)} grasps"
    if control == "swapped":
        own = _share([each.chosen == each.asked.original for each in grasped])
        return (
            own,
            None if own is None else f"the candidate of the start's own question was taken in {_text(own)} grasps",
        )
    return None, None


def _gap(choice: float | None, language: ShareOf | None) -> float | None:
    return None if choice is None or language is None or language.rate is None else choice - language.rate


def _text(share: ShareOf) -> str:
    return f"{share.times} of {share.n}"


def _share(held: Sequence[bool]) -> ShareOf | None:
    if not held:
        return None
    times, n = sum(held), len(held)
    return ShareOf(times=times, n=n, rate=rate(times, n), interval=clopper_pearson(times, n, CONFIDENCE))


def _of(share: Share) -> ShareOf:
    return ShareOf(times=share.times, n=share.n, rate=share.rate, interval=share.interval)
