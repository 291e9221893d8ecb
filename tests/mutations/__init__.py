"""The mutator: makes one edit to a real dump and says which finding it must give, and where.

It knows dumps by regular expressions alone and uses nothing of XLA Lens, so that what one of both gets wrong shows.
"""

from mutations import allocations, peaks, ranges, repeated, reports, shapes, values
from mutations.edits import EDITS, Edit, Mutation

__all__ = ["EDITS", "Edit", "Mutation", "allocations", "peaks", "ranges", "repeated", "reports", "shapes", "values"]
