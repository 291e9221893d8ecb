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
_DATA_FLOW: Final = (Quantity.SOURCES, Quantity.USES)

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

_OF_CODE: Final[dict[Code, tuple[Quantity, ...]]] = {
    Code.DUPLICATE_ALLOCATION: _MEMORY,
    Code.SLICE_OUT_OF_BOUNDS: _MEMORY,
    # Each byte counts once, although two values need it.
    Code.OVERLAPPING_SLICES: (Quantity.LIVE,),
    Code.MEMORY_SPACE_MISMATCH: _MEMORY,
    Code.SIZE_BELOW_SHAPE: (Quantity.LIVE,),
    Code.TOTAL_MISMATCH: _MEMORY,
    Code.HUMAN_SIZE_MISMATCH: (Quantity.TOTAL,),
    Code.DUPLICATE_VALUE: (Quantity.VALUES, Quantity.LIVE),
    Code.UNDEFINED_VALUE: _DATA_FLOW,
    Code.UNASSIGNED_VALUE: (*_MEMORY, Quantity.VALUES),
    Code.DUPLICATE_POSITION: _DATA_FLOW,
    Code.DUPLICATE_USE: (Quantity.USES,),
    Code.OPERAND_MISMATCH: (Quantity.USES,),
    Code.POSITION_MISMATCH: _DATA_FLOW,
    Code.MODULE_MISMATCH: (Quantity.SOURCES,),
    Code.SHAPE_MISMATCH: (Quantity.SOURCES,),
    Code.PARAMETER_MISMATCH: (Quantity.USES,),
    Code.SCHEDULE_MISMATCH: (Quantity.SCHEDULE, Quantity.LIVE),
    Code.UNKNOWN_INSTRUCTION: (Quantity.SCHEDULE,),
    Code.INVALID_LIVE_RANGE: (Quantity.LIVE,),
    Code.DUPLICATE_LIVE_RANGE: (Quantity.LIVE,),
    Code.MISSING_LIVE_RANGE: (Quantity.LIVE,),
    Code.LIVE_RANGE_START: (Quantity.LIVE,),
    Code.LIVE_RANGE_END: (Quantity.LIVE,),
    Code.PEAK_STEP_MISMATCH: (Quantity.PRINTED_PEAK, Quantity.LIVE),
    Code.PEAK_LIST_MISMATCH: (Quantity.PRINTED_PEAK,),
    Code.CUMULATIVE_MISMATCH: (Quantity.PRINTED_PEAK,),
}
"""What a contradiction casts doubt on. Codes that are not listed concern facts from which no number is computed."""

_OF_PROBLEM: Final[dict[Problem, tuple[Quantity, ...]]] = {
    Problem.FOREIGN_FILE: tuple(Quantity),
    # These files count as missing.
    Problem.EMPTY_FILE: (),
    Problem.NO_DUMP_LINES: (),
    Problem.UNREADABLE_FILE: (),
    Problem.SECOND_MODULE: (),
    Problem.MISPLACED_ALLOCATION: (*_MEMORY, Quantity.VALUES),
    Problem.REPORT_TOTAL: (Quantity.RESERVED,),
    Problem.FOREIGN_REPORT: (Quantity.RESERVED,),
    Problem.SIZES_TOO_LARGE: (*_MEMORY, Quantity.PRINTED_PEAK),
    # The lists and the live ranges know the value by different names.
    Problem.LISTS_DIFFER: (Quantity.VALUES, Quantity.LIVE, *_DATA_FLOW),
    Problem.UNDEFINED_VALUE: (Quantity.VALUES, Quantity.LIVE, *_DATA_FLOW),
    # Either the list or a live range is wrong.
    Problem.PEAK_VALUE_NOT_LIVE: (Quantity.PRINTED_PEAK, Quantity.LIVE),
    Problem.PEAK_VALUES_MISSING: (Quantity.PRINTED_PEAK, Quantity.LIVE),
}
"""The problems that cast doubt on other quantities than their code."""

_AT_LEAST: Final = frozenset(
    {Code.OVERLAPPING_SLICES, Code.SIZE_BELOW_SHAPE, Code.UNASSIGNED_VALUE, Code.MISSING_LIVE_RANGE}
)
"""What is missing can only make numbers larger. Other contradictions may change them in any way."""


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
    file, problem, facts, code = finding.place.file, finding.problem.kind, finding.problem.facts, finding.code
    is_unreadable = code is Code.SYNTAX and problem is not Problem.SIZES_TOO_LARGE
    cause = Cause.UNREADABLE if is_unreadable else Cause.CONTRADICTION
    bound = Bound.AT_LEAST if code in _AT_LEAST else Bound.UNKNOWN
    if problem is Problem.TRUNCATED_FILE:
        cause, parts = Cause.CUT_OFF, [(Bound.AT_LEAST, _at(file, file.document.content_end))]
    elif problem in (Problem.UNKNOWN_LINES, Problem.UNKNOWN_LINE_PART):
        rows = facts["rows"] if problem is Problem.UNKNOWN_LINES else (facts["row"],)
        parts = [part for row in filter(None, rows) for part in _lost(file, finding.place.start, row)]
    elif problem in _OF_PROBLEM or code in _OF_CODE:
        if facts.get("reserved_bytes", 0) < facts.get("printed_bytes", 0):
            bound = Bound.AT_LEAST
        parts = [(bound, _OF_PROBLEM.get(problem, _OF_CODE.get(code, ())))]
    elif problem is Problem.MISSING_HEADER and facts["header"].startswith("Total"):
        parts = [(bound, (Quantity.TOTAL,))]
    else:
        parts = [(bound, _at(file, finding.place.start) if code is Code.SYNTAX else ())]
    for one, quantities in parts:
        for quantity in quantities:
            yield Gap(quantity, one, cause, file.kind, code)


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
