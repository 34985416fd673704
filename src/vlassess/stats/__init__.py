"""Pure functions of numbers: intervals and descriptions. Undefined is None, and no state is kept."""

from vlassess.schema.interval import Interval
from vlassess.stats.describe import covered_length, mean, median
from vlassess.stats.rates import clopper_pearson, error_bounds, rate, wilson

__all__ = ["Interval", "clopper_pearson", "covered_length", "error_bounds", "mean", "median", "rate", "wilson"]
