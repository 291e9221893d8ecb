"""Which numbers of a dump set are exact, by its files and findings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace

from xla_lens.model.checks.allocations import rounded_size_confirms
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding, Problem, Sizes
from xla_lens.model.checks.resemblance import DamagedRow, section_at
from xla_lens.model.memory.reported import reported_spaces
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrants
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import DumpSection

RESERVED, LIVE, VALUES, SCHEDULE, TOTAL, PRINTED_PEAK, SOURCES, USES = Quantity

_MEMORY: Final = (RESERVED, LIVE)
_DATA_FLOW: Final = (SOURCES, USES)

_OF_SECTION: Final = {
    DumpSection.BUFFER_ASSIGNMENT: (RESERVED, LIVE, VALUES),
    DumpSection.USED_VALUES: (VALUES, SOURCES, USES),
    DumpSection.LIVE_RANGES: (SCHEDULE, LIVE, PRINTED_PEAK),
    DumpSection.INSTRUCTION_SEQUENCE: (SCHEDULE, LIVE, PRINTED_PEAK),
    DumpSection.BUFFER_LIVE_RANGES: (LIVE, PRINTED_PEAK),
    DumpSection.PEAK: (PRINTED_PEAK,),
    DumpSection.STACK_TRACES: (),
    DumpSection.REPORT: (),
}
"""The quantities that rely on the lines of a section."""

_OF_KIND: Final = {
    FileKind.BUFFER_ASSIGNMENT: _OF_SECTION[DumpSection.BUFFER_ASSIGNMENT],
    FileKind.VALUES: (TOTAL, *_OF_SECTION[DumpSection.USED_VALUES]),
    FileKind.LIVE_RANGE: _OF_SECTION[DumpSection.LIVE_RANGES],
    FileKind.MEMORY_USAGE_REPORT: (),
    FileKind.HLO: (SOURCES,),
}
"""The quantities that rely on a file, or on the part of the same name in a file with several parts."""

_DOUBTS: Final[tuple[tuple[tuple[Quantity, ...], tuple[Code, ...]], ...]] = (
    (_MEMORY, (Code.DUPLICATE_ALLOCATION, Code.SLICE_OUT_OF_BOUNDS, Code.MEMORY_SPACE_MISMATCH, Code.TOTAL_MISMATCH)),
    ((*_MEMORY, VALUES), (Code.UNASSIGNED_VALUE,)),
    # Where two values overlap, each byte counts once, although both need it.
    ((LIVE,), (Code.OVERLAPPING_SLICES, Code.SIZE_BELOW_SHAPE, Code.INVALID_LIVE_RANGE, Code.DUPLICATE_LIVE_RANGE)),
    ((LIVE,), (Code.MISSING_LIVE_RANGE, Code.LIVE_RANGE_START, Code.LIVE_RANGE_END)),
    ((LIVE, VALUES), (Code.DUPLICATE_VALUE,)),
    ((LIVE, SCHEDULE), (Code.SCHEDULE_MISMATCH,)),
    ((LIVE, PRINTED_PEAK), (Code.PEAK_STEP_MISMATCH,)),
    ((PRINTED_PEAK,), (Code.PEAK_LIST_MISMATCH, Code.CUMULATIVE_MISMATCH)),
    ((SCHEDULE,), (Code.UNKNOWN_INSTRUCTION,)),
    (_DATA_FLOW, (Code.UNDEFINED_VALUE, Code.DUPLICATE_POSITION, Code.POSITION_MISMATCH)),
    ((USES,), (Code.DUPLICATE_USE, Code.OPERAND_MISMATCH, Code.PARAMETER_MISMATCH)),
    ((SOURCES,), (Code.MODULE_MISMATCH, Code.SHAPE_MISMATCH)),
    ((TOTAL,), (Code.HUMAN_SIZE_MISMATCH,)),
)
_OF_CODE: Final = {code: quantities for quantities, codes in _DOUBTS for code in codes}
"""What a contradiction casts doubt on. Codes that are not listed concern facts from which no number is computed."""

_OF_PROBLEM: Final[dict[Problem, tuple[Quantity, ...]]] = {
    Problem.FOREIGN_FILE: tuple(Quantity),
    Problem.FOREIGN_VALUES: tuple(Quantity),
    # These files count as missing.
    Problem.EMPTY_FILE: (),
    Problem.NO_DUMP_LINES: (),
    Problem.UNREADABLE_FILE: (),
    Problem.SECOND_MODULE: (),
    Problem.MISPLACED_ALLOCATION: (*_MEMORY, VALUES),
    Problem.REPORT_TOTAL: (RESERVED,),
    Problem.FOREIGN_REPORT: (RESERVED,),
    Problem.SIZES_TOO_LARGE: (*_MEMORY, PRINTED_PEAK),
    # The lists and the live ranges know the value by different names.
    Problem.LISTS_DIFFER: (VALUES, LIVE, *_DATA_FLOW),
    Problem.UNDEFINED_VALUE: (VALUES, LIVE, *_DATA_FLOW),
    # Either the list or a live range is wrong.
    Problem.PEAK_VALUE_NOT_LIVE: (PRINTED_PEAK, LIVE),
    Problem.PEAK_VALUES_MISSING: (PRINTED_PEAK, LIVE),
}
"""The problems that cast doubt on other quantities than their code."""

_OF_SIZES: Final = {
    Sizes.TOTAL: (TOTAL,),
    Sizes.PEAK: (PRINTED_PEAK,),
    Sizes.ALLOCATIONS: _MEMORY,
    Sizes.REPORT: (),
}
"""The quantities that rely on sizes, none of which can be negative."""

_AT_LEAST: Final = frozenset(
    {Code.OVERLAPPING_SLICES, Code.SIZE_BELOW_SHAPE, Code.UNASSIGNED_VALUE, Code.MISSING_LIVE_RANGE}
)
"""What is missing can only make numbers larger. Other contradictions may change them in any way."""


def warrants(dump: DumpSet, findings: Iterable[Finding], left_out: Mapping[FileKind, str]) -> Warrants:
    """Return which numbers of a dump set with some findings are exact. `left_out` has the flags that left files out."""
    gaps = [replace(gap, flag=left_out.get(gap.kind)) if gap.cause is Cause.MISSING else gap for gap in _missing(dump)]
    for finding in findings:
        if finding.severity.is_alarm:
            gaps += _gaps(finding)
    if any(gap.quantity is RESERVED for gap in gaps) and _are_allocations_complete(dump):
        gaps = [gap for gap in gaps if gap.quantity is not RESERVED or _is_in_allocations(gap)]
    return Warrants().with_gaps(gaps)


def _are_allocations_complete(dump: DumpSet) -> bool:
    """Whether the allocations are numbered without gaps and add up to a total that XLA prints behind them or in the
    memory usage report.
    """
    table = dump.allocations
    if not np.array_equal(table.index, np.arange(len(table))):
        return False
    reserved = {color: sum(table.size_bytes[table.color == color].tolist()) for color in distinct(table.color).tolist()}
    totals = dump.totals.size_bytes.tolist()
    for file in dump.files:
        if file.kind is FileKind.MEMORY_USAGE_REPORT:
            spaces = file.columns.report_spaces
            if dict(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)) == reserved:
                return bool(reserved)
            totals += file.columns.totals.size_bytes.tolist()
    return bool(reserved) and sum(reserved.values()) in totals


def _is_in_allocations(gap: Gap) -> bool:
    """Whether a gap is a contradiction in the buffer assignment itself, which a matching total does not resolve."""
    return gap.kind is FileKind.BUFFER_ASSIGNMENT and gap.cause not in (Cause.CUT_OFF, Cause.MISSING)


def _missing(dump: DumpSet) -> Iterator[Gap]:
    """The gaps because of missing files or parts of files."""
    files = {file.kind: file for file in dump.files if not file.unreadable and not file.columns.has_rows()}
    for kind in dump.missing:
        found = files.get(kind)
        cause = Cause.MISSING if found is None else Cause.NO_DUMP if found.document.data.strip() else Cause.EMPTY
        for quantity in _OF_KIND[kind]:
            if quantity is TOTAL and len(dump.totals):
                # The file is cut off behind the total.
                continue
            is_count = quantity in (VALUES, SCHEDULE)
            bound = Bound.AT_LEAST if is_count else Bound.UNKNOWN
            if quantity is RESERVED and (spaces := reported_spaces(dump)):
                bound = Bound.EXACT if all(space.needed.is_exact for space in spaces) else Bound.AT_MOST
            if bound is not Bound.EXACT:
                yield Gap(quantity, bound, cause, kind)
    if dump.used is None and dump.assignment:
        # Without the total and the list of all values, nothing shows whether the assignment was cut off.
        for quantity in _MEMORY:
            yield Gap(quantity, Bound.AT_LEAST, Cause.MISSING, FileKind.VALUES)
    if dump.live is None and dump.used and dump.used is dump.assignment:
        # Nothing shows whether the list of values was cut off. The oldest releases of XLA print no live ranges.
        yield Gap(USES, Bound.AT_LEAST, Cause.MISSING, FileKind.LIVE_RANGE)


def _gaps(finding: Finding) -> Iterator[Gap]:
    file, problem, facts, code = finding.place.file, finding.problem.kind, finding.problem.facts, finding.code
    is_unreadable = code is Code.SYNTAX and problem is not Problem.SIZES_TOO_LARGE
    cause = Cause.UNREADABLE if is_unreadable else Cause.CONTRADICTION
    bound = Bound.AT_LEAST if code in _AT_LEAST else Bound.UNKNOWN
    if problem is Problem.TRUNCATED_FILE:
        cause, parts = Cause.CUT_OFF, [(Bound.AT_LEAST, _at(file, file.document.content_end))]
    elif problem in (Problem.UNKNOWN_LINES, Problem.UNKNOWN_LINE_PART):
        rows = facts["rows"] if problem is Problem.UNKNOWN_LINES else (facts["row"],)
        parts = [part for row in filter(None, rows) for part in _lost(file, finding.place.start, row)]
    elif problem is Problem.NEGATIVE_SIZES:
        parts = [(bound, _OF_SIZES[sizes]) for sizes in facts["parts"]]
    elif problem in _OF_PROBLEM or code in _OF_CODE:
        if facts.get("reserved_bytes", 0) < facts.get("printed_bytes", 0):
            bound = Bound.AT_LEAST
        parts = [(bound, _OF_PROBLEM.get(problem, _OF_CODE.get(code, ())))]
        if code is Code.UNKNOWN_INSTRUCTION and section_at(file, finding.place.start) is DumpSection.BUFFER_LIVE_RANGES:
            # Another value lacks its live range.
            parts.append((Bound.AT_LEAST, (LIVE,)))
        if problem is Problem.TOTAL_MISMATCH and not rounded_size_confirms(file, file.columns.totals, 0):
            parts.append((Bound.UNKNOWN, (TOTAL,)))
    elif problem is Problem.MISSING_HEADER and facts["header"].startswith("Total"):
        parts = [(bound, (TOTAL,))]
    else:
        parts = [(bound, _at(file, finding.place.start) if code is Code.SYNTAX else ())]
    for one, quantities in parts:
        for quantity in quantities:
            yield Gap(quantity, one, cause, file.kind, code)


_FLOW: Final = (Bound.UNKNOWN, _DATA_FLOW)

_OF_ROW: Final[dict[DamagedRow, tuple[tuple[Bound, tuple[Quantity, ...]], ...]]] = {
    # Its values count for the allocation before it.
    DamagedRow.ALLOCATION: ((Bound.UNKNOWN, _MEMORY), (Bound.AT_LEAST, (VALUES,))),
    DamagedRow.ATTRIBUTE: ((Bound.UNKNOWN, _MEMORY),),
    DamagedRow.SLICE: ((Bound.AT_LEAST, (LIVE, VALUES)),),
    DamagedRow.USED_VALUE: (_FLOW, (Bound.AT_LEAST, (VALUES,))),
    DamagedRow.POSITION: (_FLOW,),
    DamagedRow.USE: ((Bound.UNKNOWN, (USES,)),),
    DamagedRow.QUOTE: (_FLOW,),
    DamagedRow.STEP: ((Bound.AT_LEAST, (SCHEDULE,)),),
    DamagedRow.LIVE_RANGE: ((Bound.AT_LEAST, (LIVE,)),),
    DamagedRow.TOTAL: ((Bound.UNKNOWN, (TOTAL,)),),
}
"""The numbers that a damaged row could have changed. For other rows, those of its section."""


def _lost(file: DumpFile, offset: int, row: DamagedRow) -> tuple[tuple[Bound, tuple[Quantity, ...]], ...]:
    if row in _OF_ROW:
        return _OF_ROW[row]
    quantities = _at(file, offset)
    is_row_lost = not set(quantities) & {RESERVED, SOURCES}
    return ((Bound.AT_LEAST if is_row_lost else Bound.UNKNOWN, quantities),)


def _at(file: DumpFile, offset: int) -> tuple[Quantity, ...]:
    """The quantities that rely on the lines around a byte of a file."""
    totals, section = file.columns.totals.start, section_at(file, offset)
    # The total stands between two sections.
    if len(totals) and totals[0] <= offset and section_at(file, totals.item(0)) is section:
        return _OF_KIND[FileKind.VALUES]
    return _OF_KIND[file.kind] if section is None else _OF_SECTION[section]
