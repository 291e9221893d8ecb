"""Checks of a dump set against its HLO module. They run if the dump set itself has no errors."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context
from xla_lens.model.checks.findings import Finding, of_another_compilation
from xla_lens.model.checks.module.data_flow import (
    instructions_have_their_positions,
    live_ranges_match_module,
    positions_follow_data_flow,
    uses_match_module,
    values_list_their_uses,
)
from xla_lens.model.checks.module.instructions import (
    aliases_share_bytes,
    computations_have_a_root,
    entry_layout_matches,
    instructions_are_in_module,
    quotes_match_module,
    shapes_match_module,
)
from xla_lens.model.checks.problems import Cut, Problem
from xla_lens.model.checks.structure import truncated
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.places.places import Place
from xla_lens.syntax.tree import Cancelled

_ModuleCheck: TypeAlias = Callable[[ModuleGraph, Context], Iterator[Finding]]

_CHECKS: Final[tuple[tuple[_ModuleCheck, ...], ...]] = (
    (computations_have_a_root,),
    (instructions_are_in_module,),
    (quotes_match_module,),
    (entry_layout_matches,),
    (shapes_match_module,),
    (positions_follow_data_flow, instructions_have_their_positions),
    (uses_match_module, values_list_their_uses),
    (aliases_share_bytes,),
    (live_ranges_match_module,),
)
"""Groups of checks. What a group finds explains what later ones would find."""

_MAXIMUM_DIFFERENCES: Final = 3
"""The most differences that an edit of the dump or of the module can cause. If there are more, they are of different
compilations.
"""


def module_is_cut_off(module: HloModule) -> Iterator[Finding]:
    """A module is complete."""
    if module.is_cut_off or not len(module.columns.instructions):
        yield truncated(module.file, Cut.MODULE)


def differences_from_module(
    context: Context, module: HloModule, memory: Memory, is_cancelled: Callable[[], bool]
) -> list[Finding]:
    """Find where a dump set without errors contradicts its module, which is complete. Raises `Cancelled`."""
    if context.dump.used is None:
        return []
    graph = ModuleGraph(context.dump, module)
    for group in _CHECKS:
        found = [finding for one in group for finding in one(graph, context)]
        if memory.collisions:
            # A value at the wrong place seems to take over the bytes of another one, or leaves those of one that ends.
            found = [finding for finding in found if finding.problem.kind is not Problem.EARLY_END]
        if is_cancelled():
            raise Cancelled
        if len(found) > _MAXIMUM_DIFFERENCES:
            return [of_another_compilation(found, Problem.FOREIGN_MODULE)]
        if found:
            return found
    release_memory()
    return list(_unknown_lines(module))


def _unknown_lines(module: HloModule) -> Iterator[Finding]:
    """A note for each run of lines that belong to no part of a module which agrees with its dump."""
    rows, document = module.unknown_rows, module.file.document
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
        place = Place(module.file, document.line_span(int(run[0]))[0], document.line_span(int(run[-1]))[1])
        yield Finding(Severity.INFORMATION, place, Problem.UNKNOWN_LINES(len(run), ()))
