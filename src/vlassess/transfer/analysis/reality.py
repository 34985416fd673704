"""Simulation beside reality: whether both rank policies alike, and where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from vlassess.schema.findings import Share
from vlassess.schema.transfer import Agreement, Discrepancy, RealityCheck, Reversal, Trial
from vlassess.stats.agreement import Ranks, rank_agreement
from vlassess.stats.many import holm
from vlassess.stats.unpaired import boschloo, newcombe_interval
from vlassess.transfer.analysis.trials import Judge, grouped, share_of

OVERALL = "mean over cells"
"""Scope of what is averaged over all cells that both sides ran with the same policies."""

Shares = Mapping[tuple[str, str], Share]
"""(policy, cell) -> rate."""


def reality_check(simulated: Sequence[Trial], real: Sequence[Trial], judge: Judge) -> RealityCheck:
    """Return how far both sets of trials agree about the policies in the cells and controls that both ran.

    Measures and intervals are those of `vlassess.stats.agreement.rank_agreement`: for every cell that two or more
    policies ran on both sides, and for the mean of the cells that all of them ran.
    """
    sides = _shares(simulated, judge), _shares(real, judge)
    common = sorted(sides[0].keys() & sides[1].keys())
    by_cell: dict[str, list[str]] = {}
    for policy, cell in common:
        by_cell.setdefault(cell, []).append(policy)
    scopes = [(cell, [cell], policies) for cell, policies in by_cell.items() if len(policies) > 1]
    everyone = sorted({policy for policy, _ in common})
    complete = [cell for cell, policies in by_cell.items() if len(policies) == len(everyone)]
    if len(everyone) > 1 and len(complete) > 1:
        scopes.insert(0, (OVERALL, complete, everyone))
    agreements, reversals = [], []
    for scope, cells, policies in scopes:
        found, swapped = _scope((scope, cells, policies), sides, judge)
        agreements.append(found)
        reversals += swapped
    return RealityCheck(
        tuple(agreements),
        tuple(reversals),
        _discrepancies(common, sides, judge),
        tuple(f"{policy}, {cell}" for policy, cell in sorted(sides[0].keys() - sides[1].keys())),
        tuple(f"{policy}, {cell}" for policy, cell in sorted(sides[1].keys() - sides[0].keys())),
    )


def _shares(trials: Sequence[Trial], judge: Judge) -> dict[tuple[str, str], Share]:
    frozen = [trial for trial in trials if trial.role in ("cell", "control")]
    shares = {key: share_of(own, judge) for key, own in grouped(frozen, lambda t: (t.policy, t.cell)).items()}
    return {key: share for key, share in shares.items() if share.n}


def _scope(
    scope: tuple[str, list[str], list[str]], sides: tuple[Shares, Shares], judge: Judge
) -> tuple[Agreement, list[Reversal]]:
    name, cells, policies = scope
    counts = [
        (
            np.array([[side[policy, cell].successes for cell in cells] for policy in policies]),
            np.array([[side[policy, cell].n for cell in cells] for policy in policies]),
        )
        for side in sides
    ]
    ranks = rank_agreement(counts[0], counts[1], judge.rng, judge.confidence, judge.rules.draws)
    rates = [(won / size).mean(axis=1).tolist() for won, size in counts]
    agreement = Agreement(
        name,
        tuple(policies),
        tuple(rates[0]),
        tuple(rates[1]),
        ranks.tau,
        ranks.tau_interval,
        ranks.pearson,
        ranks.pearson_interval,
        ranks.mmrv,
        ranks.mmrv_interval,
    )
    return agreement, _reversals(agreement, ranks)


def _reversals(agreement: Agreement, ranks: Ranks) -> list[Reversal]:
    found = []
    for i, j in combinations(range(len(agreement.policies)), 2):
        real = agreement.real[i] - agreement.real[j]
        simulated = agreement.simulated[i] - agreement.simulated[j]
        if np.sign(round(real, 12)) == np.sign(round(simulated, 12)):
            continue
        tied = abs(real) < 1e-12 or abs(simulated) < 1e-12
        # Where one side has a tie, the other one's order tells who is who.
        first, second = (i, j) if (real if abs(real) > 1e-12 else -simulated) > 0 else (j, i)
        found.append(
            Reversal(
                agreement.scope,
                agreement.policies[first],
                agreement.policies[second],
                abs(real),
                abs(simulated),
                float(ranks.reversed_chance[i, j]),
                tied,
            )
        )
    return sorted(found, key=lambda one: (-one.real_difference, -one.simulated_difference))


def _discrepancies(
    common: Sequence[tuple[str, str]], sides: tuple[Shares, Shares], judge: Judge
) -> tuple[Discrepancy, ...]:
    rows = [(policy, cell, sides[0][policy, cell], sides[1][policy, cell]) for policy, cell in common]
    counts = [(a.successes, a.n, b.successes, b.n) for _, _, a, b in rows]
    p_values = [boschloo(*four) for four in counts]
    intervals = [newcombe_interval(*four, judge.confidence) for four in counts]
    found = [
        Discrepancy(*row, (row[2].rate or 0.0) - (row[3].rate or 0.0), interval, p_value, adjusted)
        for row, interval, p_value, adjusted in zip(rows, intervals, p_values, holm(p_values).tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (one.corrected, -abs(one.difference))))
