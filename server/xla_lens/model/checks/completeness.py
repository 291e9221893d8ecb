"""Which numbers of a dump set are exact, by its files and findings."""

from collections.abc import Iterable, Iterator
from typing import Final

from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.findings import Finding
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.resemblance import Row
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrants
from xla_lens.syntax.columns import NONE, Section
from xla_lens.syntax.file_names import FileKind

_MEMORY: Final = (Quantity.RESERVED, Quantity.LIVE)

_OF_SECTION: Final = {
    Section.BUFFER_ASSIGNMENT: (Quantity.RESERVED, Quantity.LIVE, Quantity.VALUES),
    Section.USED_VALUES: (Quantity.VALUES, Quantity.SOURCES, Quantity.USES),
    Section.LIVE_RANGES: (Quantity.SCHEDULE, Quantity.LIVE, Quantity.PRINTED_PEAK),
    Section.INSTRUCTION_SEQUENCE: (Quantity.SCHEDULE, Quantity.LIVE, Quantity.PRINTED_PEAK),
    Section.BUFFER_LIVE_RANGES: (Quantity.LIVE, Quantity.PRINTED_PEAK),
    Section.PEAK: (Quantity.PRINTED_PEAK,),
    Section.STACK_TRACES: (),
    Section.REPORT: (),
}
"""The quantities that rely on the lines of a section."""

_OF_KIND: Final = {
    FileKind.BUFFER_ASSIGNMENT: _OF_SECTION[Section.BUFFER_ASSIGNMENT],
    FileKind.VALUES: (Quantity.TOTAL, *_OF_SECTION[Section.USED_VALUES]),
    FileKind.LIVE_RANGE: _OF_SECTION[Section.LIVE_RANGES],
    FileKind.MEMORY_USAGE_REPORT: (),
    FileKind.HLO: (Quantity.SOURCES,),
}
"""The quantities that rely on a file, or on the part of the same name in a file with several parts."""

_OF_CODE: Final[dict[Code, tuple[Bound, tuple[Quantity, ...]]]] = {
    Code.DUPLICATE_ALLOCATION: (Bound.UNKNOWN, _MEMORY),
    Code.SLICE_OUT_OF_BOUNDS: (Bound.UNKNOWN, _MEMORY),
    # Each byte counts once, although two values need it.
    Code.OVERLAPPING_SLICES: (Bound.AT_LEAST, (Quantity.LIVE,)),
    Code.MEMORY_SPACE_MISMATCH: (Bound.UNKNOWN, _MEMORY),
    Code.SIZE_BELOW_SHAPE: (Bound.AT_LEAST, (Quantity.LIVE,)),
    Code.TOTAL_MISMATCH: (Bound.UNKNOWN, _MEMORY),
    Code.HUMAN_SIZE_MISMATCH: (Bound.UNKNOWN, (Quantity.TOTAL,)),
    Code.DUPLICATE_VALUE: (Bound.UNKNOWN, (Quantity.VALUES, Quantity.LIVE)),
    Code.UNDEFINED_VALUE: (Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)),
    Code.UNASSIGNED_VALUE: (Bound.AT_LEAST, (*_MEMORY, Quantity.VALUES)),
    Code.DUPLICATE_POSITION: (Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)),
    Code.DUPLICATE_USE: (Bound.UNKNOWN, (Quantity.USES,)),
    Code.OPERAND_MISMATCH: (Bound.UNKNOWN, (Quantity.USES,)),
    Code.POSITION_MISMATCH: (Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)),
    Code.MODULE_MISMATCH: (Bound.UNKNOWN, (Quantity.SOURCES,)),
    Code.SHAPE_MISMATCH: (Bound.UNKNOWN, (Quantity.SOURCES,)),
    Code.PARAMETER_MISMATCH: (Bound.UNKNOWN, (Quantity.USES,)),
    Code.SCHEDULE_MISMATCH: (Bound.UNKNOWN, (Quantity.SCHEDULE, Quantity.LIVE)),
    Code.UNKNOWN_INSTRUCTION: (Bound.UNKNOWN, (Quantity.SCHEDULE,)),
    Code.INVALID_LIVE_RANGE: (Bound.UNKNOWN, (Quantity.LIVE,)),
    Code.DUPLICATE_LIVE_RANGE: (Bound.UNKNOWN, (Quantity.LIVE,)),
    Code.MISSING_LIVE_RANGE: (Bound.AT_LEAST, (Quantity.LIVE,)),
    Code.LIVE_RANGE_START: (Bound.UNKNOWN, (Quantity.LIVE,)),
    Code.LIVE_RANGE_END: (Bound.UNKNOWN, (Quantity.LIVE,)),
    Code.PEAK_STEP_MISMATCH: (Bound.UNKNOWN, (Quantity.PRINTED_PEAK, Quantity.LIVE)),
    Code.PEAK_LIST_MISMATCH: (Bound.UNKNOWN, (Quantity.PRINTED_PEAK,)),
    Code.CUMULATIVE_MISMATCH: (Bound.UNKNOWN, (Quantity.PRINTED_PEAK,)),
}
"""What a contradiction casts doubt on. Codes that are not listed concern facts from which no number is computed."""


def warrants(dump: DumpSet, findings: Iterable[Finding]) -> Warrants:
    """Return which numbers of a dump set with some findings are exact."""
    gaps = [*_missing(dump)]
    for finding in findings:
        if finding.severity in (Severity.ERROR, Severity.WARNING):
            gaps += _gaps(finding)
    return Warrants().with_gaps(gaps)


def _missing(dump: DumpSet) -> Iterator[Gap]:
    """The gaps because of missing files or parts of files."""
    files = {file.kind: file for file in dump.files if not file.unreadable and not file.columns.has_rows()}
    for kind in dump.missing:
        found = files.get(kind)
        cause = Cause.MISSING if found is None else Cause.NO_DUMP if found.document.data.strip() else Cause.EMPTY
        for quantity in _OF_KIND[kind]:
            is_count = quantity in (Quantity.VALUES, Quantity.SCHEDULE)
            yield Gap(quantity, Bound.AT_LEAST if is_count else Bound.UNKNOWN, cause, kind)
    if dump.used is None and dump.assignment:
        # Without the total and the list of all values, nothing shows whether the assignment was cut off.
        for quantity in _MEMORY:
            yield Gap(quantity, Bound.AT_LEAST, Cause.MISSING, FileKind.VALUES)
    if dump.live is None and dump.used and dump.used is dump.assignment:
        # Nothing shows whether the list of values was cut off. The oldest releases of XLA print no live ranges.
        yield Gap(Quantity.USES, Bound.AT_LEAST, Cause.MISSING, FileKind.LIVE_RANGE)


def _gaps(finding: Finding) -> Iterator[Gap]:
    file, problem, facts = finding.place.file, finding.problem.kind, finding.problem.facts
    cause, bound, quantities = Cause.CONTRADICTION, Bound.UNKNOWN, tuple[Quantity, ...]()
    match problem:
        case Problem.FOREIGN_FILE:
            quantities = tuple(Quantity)
        case Problem.TRUNCATED_FILE:
            cause, bound, quantities = Cause.CUT_OFF, Bound.AT_LEAST, _at(file, file.document.content_end)
        case Problem.EMPTY_FILE | Problem.NO_DUMP_LINES | Problem.UNREADABLE_FILE:
            # The file counts as missing.
            return
        case Problem.SECOND_MODULE:
            return
        case Problem.UNKNOWN_LINES | Problem.UNKNOWN_LINE_PART:
            rows = facts["rows"] if problem is Problem.UNKNOWN_LINES else (facts["row"],)
            for row in filter(None, rows):
                for bound, quantities in _lost(file, finding.place.start, row):
                    for quantity in quantities:
                        yield Gap(quantity, bound, Cause.UNREADABLE, file.kind, finding.code)
            return
        case Problem.MISSING_ALLOCATION:
            cause, quantities = Cause.UNREADABLE, (*_MEMORY, Quantity.VALUES)
        case Problem.TOTAL_MISMATCH | Problem.REPORT_TOTAL:
            bound = Bound.AT_LEAST if facts["reserved_bytes"] < facts["printed_bytes"] else Bound.UNKNOWN
            quantities = _MEMORY if problem is Problem.TOTAL_MISMATCH else (Quantity.RESERVED,)
        case Problem.FOREIGN_REPORT:
            quantities = (Quantity.RESERVED,)
        case Problem.MISSING_HEADER if facts["header"].startswith("Total"):
            cause, quantities = Cause.UNREADABLE, (Quantity.TOTAL,)
        case Problem.SIZES_TOO_LARGE:
            quantities = (Quantity.RESERVED, Quantity.LIVE, Quantity.PRINTED_PEAK)
        case Problem.LISTS_DIFFER | Problem.UNDEFINED_VALUE:
            # The lists and the live ranges know the value by different names.
            quantities = (Quantity.VALUES, Quantity.LIVE, Quantity.SOURCES, Quantity.USES)
        case Problem.QUOTES_DIFFER:
            quantities = (Quantity.SOURCES, Quantity.USES)
        case Problem.PEAK_VALUE_NOT_LIVE | Problem.PEAK_VALUES_MISSING:
            # Either the list or a live range is wrong.
            quantities = (Quantity.PRINTED_PEAK, Quantity.LIVE)
        case _ if problem.code is Code.SYNTAX:
            cause, quantities = Cause.UNREADABLE, _at(file, finding.place.start)
        case _ if problem.code in _OF_CODE:
            bound, quantities = _OF_CODE[problem.code]
    for quantity in quantities:
        yield Gap(quantity, bound, cause, file.kind, finding.code)


_OF_ROW: Final[dict[Row, tuple[tuple[Bound, tuple[Quantity, ...]], ...]]] = {
    # Its values count for the allocation before it.
    Row.ALLOCATION: ((Bound.UNKNOWN, _MEMORY), (Bound.AT_LEAST, (Quantity.VALUES,))),
    Row.ATTRIBUTE: ((Bound.UNKNOWN, _MEMORY),),
    Row.SLICE: ((Bound.AT_LEAST, (Quantity.LIVE, Quantity.VALUES)),),
    Row.USED_VALUE: ((Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)), (Bound.AT_LEAST, (Quantity.VALUES,))),
    Row.POSITION: ((Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)),),
    Row.USE: ((Bound.UNKNOWN, (Quantity.USES,)),),
    Row.QUOTE: ((Bound.UNKNOWN, (Quantity.SOURCES, Quantity.USES)),),
    Row.STEP: ((Bound.AT_LEAST, (Quantity.SCHEDULE,)),),
    Row.LIVE_RANGE: ((Bound.AT_LEAST, (Quantity.LIVE,)),),
    Row.PEAK_BUFFER: ((Bound.AT_LEAST, (Quantity.PRINTED_PEAK,)),),
    Row.STACK_TRACE: (),
    Row.REPORT: (),
    Row.TOTAL: ((Bound.UNKNOWN, (Quantity.TOTAL,)),),
}
"""The numbers that a damaged row could have changed. For other rows, those of its section."""


def _lost(file: DumpFile, offset: int, row: Row) -> tuple[tuple[Bound, tuple[Quantity, ...]], ...]:
    if row in _OF_ROW:
        return _OF_ROW[row]
    quantities = _at(file, offset)
    is_row_lost = not set(quantities) & {Quantity.RESERVED, Quantity.SOURCES}
    return ((Bound.AT_LEAST if is_row_lost else Bound.UNKNOWN, quantities),)


def _at(file: DumpFile, offset: int) -> tuple[Quantity, ...]:
    """The quantities that rely on the lines around a byte of a file."""
    sections, totals = file.columns.sections, file.columns.totals
    row = int(sections.start.searchsorted(offset, "right")) - 1
    section_start = int(sections.start[row]) if row != NONE else NONE
    if len(totals) and section_start < totals.start[0] <= offset:
        return _OF_KIND[FileKind.VALUES]
    return _OF_KIND[file.kind] if row == NONE else _OF_SECTION[Section(int(sections.section[row]))]
