"""Checks of a dump set against its HLO module.

Those of the module alone and of quotes run before the checks of the dump, the others after them. All skip what an
earlier check has found.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.findings import Finding, of_another_compilation
from xla_lens.model.checks.module.data_flow import positions_follow_data_flow, uses_match_module
from xla_lens.model.checks.module.entry import (
    entry_layout_matches,
    entry_parameters_are_numbered,
    parameters_are_those_of_module,
    results_live_out,
)
from xla_lens.model.checks.module.evidence import MAXIMUM_DIFFERENCES
from xla_lens.model.checks.module.instructions import (
    elements_have_shapes_of_tuples,
    instructions_are_in_module,
    module_is_well_formed,
    quotes_match_module,
    shapes_match_module,
)
from xla_lens.model.checks.module.schedule import live_ranges_match_module, schedule_is_order_of_module
from xla_lens.model.checks.problems import Cut, Problem
from xla_lens.model.checks.structure import truncated
from xla_lens.model.checks.tainted import Tainted, nothing_tainted
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.tree import Cancelled

_ModuleCheck: TypeAlias = Callable[[ModuleGraph, Tainted], Iterator[Finding]]


def is_sound_against(dump: DumpSet, module: HloModule, is_cancelled: Callable[[], bool]) -> bool:
    """Whether a dump set without findings agrees with its module. Raises `Cancelled`."""
    tainted, checks = nothing_tainted(dump), ModuleChecks(dump, module)
    checks.run_early(tainted)
    return not checks.findings(tainted, is_cancelled)


class ModuleChecks:
    """The checks of a dump set against its module."""

    def __init__(self, dump: DumpSet, module: HloModule) -> None:
        self._dump, self._module = dump, module
        self._malformed: list[Finding] = []
        self._early: list[Finding] = []
        self._before: Tainted | None = None

    @cached_property
    def _graph(self) -> ModuleGraph:
        return ModuleGraph(self._dump, self._module)

    def _is_comparable(self, tainted: Tainted) -> bool:
        """Whether all of both is there. What is cut off or unreadable would seem to differ."""
        is_whole = len(self._module.columns.instructions) > 0 and not self._module.is_cut_off
        return is_whole and self._dump.used is not None and not tainted.broken_files

    def run_early(self, tainted: Tainted) -> None:
        """Run the checks of the module alone and of quotes. The checks of the dump skip what is wrong there."""
        if self._is_comparable(tainted):
            self._before = tainted.copy()
            self._malformed += module_is_well_formed(self._graph)
            for one in () if self._malformed else _EARLY_CHECKS:
                self._early += one(self._graph, tainted)

    def findings(self, tainted: Tainted, is_cancelled: Callable[[], bool] = lambda: False) -> list[Finding]:
        """Return all findings, causes before consequences. Raises `Cancelled`."""
        if self._module.is_cut_off or not len(self._module.columns.instructions):
            return [truncated(self._module.file, Cut.MODULE)]
        if self._dump.used is None:
            is_whole = tainted.is_whole(self._dump.assignment)
            return list(module_shows_cuts(self._dump, self._module)) if is_whole else []
        if not self._is_comparable(tainted):
            return []
        if self._malformed:
            return self._malformed
        before = self._before if self._early and self._before else tainted.copy()
        findings = list(self._early)
        for one in _CHECKS:
            findings += one(self._graph, tainted)
            if is_cancelled():
                raise Cancelled
        release_memory()
        if not findings:
            return list(_unknown_lines(self._module))
        if len(findings) <= MAXIMUM_DIFFERENCES:
            return findings
        tainted.assign(before)
        return [of_another_compilation(findings, Problem.FOREIGN_MODULE)]


def _unknown_lines(module: HloModule) -> Iterator[Finding]:
    """A note for each run of lines that belong to no part of a module which agrees with its dump."""
    rows, document = module.unknown_rows, module.file.document
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
        place = Place(module.file, document.line_span(int(run[0]))[0], document.line_span(int(run[-1]))[1])
        yield Finding(Severity.INFORMATION, place, Problem.UNKNOWN_LINES(len(run), ()))


_PASSING_ENDS: Final = re.compile(
    rb".*-(?:done|update)|bitcast|opt-barrier|domain|add-dependency|get-tuple-element|while|call|conditional"
)
"""Opcodes of instructions that may define no value."""


def module_shows_cuts(dump: DumpSet, module: HloModule) -> Iterator[Finding]:
    """Without the list of all values, only the module shows that the allocations lack some of the entry computation."""
    if dump.assignment is None or dump.used or module.is_cut_off:
        return
    graph = ModuleGraph(dump, module)
    defines = ~graph.has_opcode_like(_PASSING_ENDS) & (graph.quotes.opcode_start != NONE)
    is_placed = np.isin(graph.name, dump.values.name) & (graph.name != NONE)
    is_missing = defines & (graph.computation == graph.entry) & ~is_placed
    if np.any(is_placed) and np.any(is_missing):
        yield truncated(dump.assignment, Cut.ALLOCATIONS)


_EARLY_CHECKS: Final[tuple[_ModuleCheck, ...]] = (
    entry_parameters_are_numbered,
    quotes_match_module,
)

_CHECKS: Final[tuple[_ModuleCheck, ...]] = (
    instructions_are_in_module,
    entry_layout_matches,
    shapes_match_module,
    elements_have_shapes_of_tuples,
    positions_follow_data_flow,
    uses_match_module,
    schedule_is_order_of_module,
    parameters_are_those_of_module,
    results_live_out,
    live_ranges_match_module,
)
"""All checks, causes before consequences: each skips rows that an earlier one has tainted."""
