"""Whatever trials there are, the analysis answers, and its numbers are possible ones."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from vlassess.schema.findings import Findings, Share
from vlassess.schema.transfer import Rules, Trial
from vlassess.transfer.analysis import analyse_study

CELLS = ("a=1", "a=2", "b=1")
TRIALS = st.builds(
    Trial,
    policy=st.sampled_from(("p", "q")),
    role=st.sampled_from(("cell", "control", "seen-before", "seen-after", "few-shot")),
    start_key=st.sampled_from(("s0", "s1", "s2", "s3", "s4")),
    success=st.sampled_from((True, False, None)),
    cell=st.sampled_from((*CELLS, "control")),
    axis=st.sampled_from(("a", "b", "")),
    level=st.sampled_from(("1", "2", "")),
    control=st.sampled_from(("control", "a=1", "")),
    task=st.sampled_from(("t0", "t1")),
    progress=st.none() | st.sampled_from((0.0, 0.25, 1.0)),
    k=st.sampled_from((0, 1, 5, 20)),
    method=st.sampled_from((None, "full", "head")),
    suite=st.sampled_from(("seen", "")),
    repeat=st.integers(0, 1),
    flagged=st.booleans(),
    interventions=st.none() | st.integers(0, 3),
    session=st.sampled_from(("", "x", "y")),
    matched=st.booleans(),
    refuted_key=st.sampled_from(("", "", "s0", "s5")),
)
RULES = st.builds(
    Rules,
    test=st.sampled_from(("exact", "stratified", "progress")),
    correction=st.sampled_from(("holm", "benjamini-hochberg", "none")),
    draws=st.just(20),
    ranking_pairs=st.none() | st.integers(1, 9),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(TRIALS, max_size=60), st.lists(TRIALS, max_size=20), RULES)
def test_every_set_of_trials_is_analysed(trials: list[Trial], real: list[Trial], rules: Rules) -> None:
    found = analyse_study(trials, rules, real)
    assert found.every.trials == len(trials)
    assert found.every.unfinished == sum(trial.success is None for trial in trials)
    assert (found.unflagged is None) == (not any(trial.flagged for trial in trials))
    for one in filter(None, (found.every, found.unflagged, found.real.every if found.real else None)):
        for share in shares(one):
            possible(share)
        for cell in one.cells:
            assert cell.gap.difference is None or -1 <= cell.gap.difference <= 1
            assert cell.gap.p_value is None or 0 <= cell.gap.p_value <= (cell.gap.corrected or 0) <= 1
            assert (cell.verdict == "nothing to compare") == (cell.gap.p_value is None)
        for curve in one.curves:
            assert (curve.tau is None) == (curve.unidentified is not None)
        assert not any(ranking.supported for ranking in one.rankings)


def shares(found: Findings) -> Iterable[Share]:
    yield from (cell.share for cell in found.cells)
    yield from (control.share for control in found.controls)
    yield from (point.share for curve in found.curves for point in curve.points)
    yield from (one.after for one in found.retention)
    yield from (share for one in found.interventions for share in (one.intervened, one.unaided))


def possible(share: Share) -> None:
    assert 0 <= share.successes <= share.n
    if share.rate is None:
        assert share.n == 0
    else:
        assert share.interval is not None
        assert 0 <= share.interval.low <= share.rate <= share.interval.high <= 1
