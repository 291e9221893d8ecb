"""What the checks against the HLO module share."""

from typing import Final

from xla_lens.model.checks.findings import Related, Relation
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import Place
from xla_lens.syntax.columns import NONE

MAXIMUM_DIFFERENCES: Final = 3
"""The most differences that an edit of the dump or of the module can cause. If there are more, they are of different
compilations.
"""


def related_in_module(graph: ModuleGraph, row: int) -> list[Related]:
    """The instruction in the module, if there is one."""
    if row == NONE:
        return []
    table = graph.module.columns.instructions
    return [Related(Place(graph.module.file, int(table.start[row]), int(table.end[row])), Relation.MODULE_INSTRUCTION)]
