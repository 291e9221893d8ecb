"""The mutator: makes one edit to a dump and states which finding the checks must report, and where.

It reads dumps with regular expressions and uses no code of XLA Lens, so it does not share its mistakes.
"""

# Importing a module registers its edits.
from mutations import allocations, cuts, module, peaks, ranges, repeated, reports, shapes, values  # noqa: F401
from mutations.edits import EDITS, Edit, Mutation

__all__ = ["EDITS", "Edit", "Mutation"]
