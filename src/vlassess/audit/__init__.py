"""Whether each cell's factor, and nothing else, reached the policy: pure comparison of records.

A declared perturbation is a claim. Benchmarks have been published whose prompts held the name of the variant, and whose
changed instructions never left the simulator; success rates show neither. So what counts is what was delivered.
"""

from vlassess.audit.judging import FEW_STARTS, Circumstances, audit_cell
from vlassess.audit.members import Member, Pair, by_cell, members_of, pairs_of
from vlassess.audit.sizes import Arrays, named_arrays, with_sizes

__all__ = [
    "FEW_STARTS",
    "Arrays",
    "Circumstances",
    "Member",
    "Pair",
    "audit_cell",
    "by_cell",
    "members_of",
    "named_arrays",
    "pairs_of",
    "with_sizes",
]
