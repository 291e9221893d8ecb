"""The checks of a dump set. Each tests an invariant of XLA's own output: none fires on what is whole."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from xla_lens.model.checks.allocations import (
    duplicate_allocations,
    kind_conflicts,
    slices_out_of_bounds,
    total_mismatch,
)
from xla_lens.model.checks.doubts import Doubts, no_doubts
from xla_lens.model.checks.findings import Code, Finding, Severity
from xla_lens.model.checks.headers import header_shapes, parameter_mismatch
from xla_lens.model.checks.instructions import (
    operand_mismatch,
    quote_mismatch,
    shape_mismatch,
    size_below_shape,
)
from xla_lens.model.checks.live_ranges import invalid_live_ranges, live_ranges_of_values, starts_and_ends
from xla_lens.model.checks.overlaps import is_exempt, overlapping_slices
from xla_lens.model.checks.peak import printed_peak
from xla_lens.model.checks.reports import report_mismatch
from xla_lens.model.checks.schedule import schedule_mismatch, unknown_instructions
from xla_lens.model.checks.spaces import memory_spaces
from xla_lens.model.checks.structure import check_structure, used_values_before_gaps
from xla_lens.model.checks.values import (
    definitions,
    duplicate_positions,
    duplicate_uses,
    duplicate_values,
    files_of_other_dumps,
    missing_values,
    names_of_values,
    order_of_values,
    quoted_names,
)
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet

__all__ = ["check", "is_exempt"]

_Check: TypeAlias = Callable[[DumpSet, Doubts], Iterator[Finding]]

_CHECKS: Final[tuple[_Check, ...]] = (
    duplicate_allocations,
    duplicate_values,
    names_of_values,
    missing_values,
    order_of_values,
    kind_conflicts,
    memory_spaces,
    total_mismatch,
    slices_out_of_bounds,
    schedule_mismatch,
    unknown_instructions,
    definitions,
    quoted_names,
    duplicate_positions,
    duplicate_uses,
    quote_mismatch,
    shape_mismatch,
    size_below_shape,
    operand_mismatch,
    parameter_mismatch,
    header_shapes,
    invalid_live_ranges,
    live_ranges_of_values,
    starts_and_ends,
)
"""In an order in which causes come before what follows from them: each leaves out what is in doubt."""


def check(dump: DumpSet, memory: Memory) -> list[Finding]:
    """All findings of a dump set, file by file in the order of the text."""
    doubts = no_doubts(dump)
    findings = list(check_structure(dump))
    order = {id(file): number for number, file in enumerate(dump.files)}
    others = list(files_of_other_dumps(dump))
    if others:
        return _sorted([finding for finding in findings if finding.code is Code.SYNTAX] + others, order)
    doubts.broken = {
        id(finding.place.file)
        for finding in findings
        if finding.severity is Severity.ERROR or not finding.facts.get("is_read", 1)
    }
    mixed = used_values_before_gaps(dump)
    doubts.used_values[mixed] = doubts.names[dump.used_values.name[mixed]] = True
    doubts.doubt_values(dump.value_of_used_value[mixed])
    for one in _CHECKS:
        findings += one(dump, doubts)
    findings += printed_peak(dump, memory, doubts)
    findings += overlapping_slices(dump, memory, doubts)
    findings += report_mismatch(dump, doubts)
    return _sorted(findings, order)


def _sorted(findings: list[Finding], order: dict[int, int]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (order[id(finding.place.file)], finding.place.start))
