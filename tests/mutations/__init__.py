"""The mutator: makes one edit to a real dump and says which finding it must give, and where.

It knows dumps by regular expressions alone and uses nothing of XLA Lens, so that what one of both gets wrong shows.
"""

# Importing a module puts its edits on the list.
from mutations import allocations, cuts, peaks, ranges, repeated, reports, shapes, values  # noqa: F401
from mutations.edits import EDITS, Edit, Mutation

__all__ = ["EDITS", "Edit", "Mutation"]
