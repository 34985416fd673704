"""Pure functions of numbers: intervals, tests, budgets and descriptions.

Undefined is None, no state is kept, and whatever draws random numbers takes its generator as an argument. What
every report needs is named here; the rest is imported from its module: `paired`, `unpaired`, `stratified`,
`clusters`, `permutation`, `many`, `equivalence`, `sequential`, `budget`, `semantics`, `comparison`. Some of these
import statsmodels, which a run that compares nothing should not wait for.
"""

from vlassess.schema.interval import Interval
from vlassess.stats.describe import covered_length, mean, median
from vlassess.stats.rates import clopper_pearson, error_bounds, jeffreys, rate, wilson

__all__ = [
    "Interval",
    "clopper_pearson",
    "covered_length",
    "error_bounds",
    "jeffreys",
    "mean",
    "median",
    "rate",
    "wilson",
]
