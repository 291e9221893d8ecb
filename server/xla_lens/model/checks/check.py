"""The checks of a dump set. Each tests a rule that all dumps of XLA follow, and is named after it."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks import allocations, file_structure, live_ranges, peak, reports, value_tables
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.context import Context
from xla_lens.model.checks.module import differences_from_module
from xla_lens.model.checks.overlaps import live_values_do_not_overlap
from xla_lens.model.checks.problems import Cut, Finding, Findings, Problem
from xla_lens.model.checks.resemblance import Damage, DamagedRow, UnknownLine, is_proven, unknown_lines
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import place_in
from xla_lens.syntax.tables import DumpSection
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import IsCancelled, ReportProgress

_Check: TypeAlias = Callable[[DumpSet, Context], Findings]

_CHECKS: Final[tuple[_Check, ...]] = (
    allocations.allocation_numbers_ascend,
    value_tables.rows_are_unique,
    value_tables.values_ascend,
    value_tables.first_positions_define_values,
    value_tables.value_names_agree,
    value_tables.values_are_in_both_lists,
    allocations.sizes_are_not_negative,
    allocations.total_is_sum_of_allocations,
    allocations.allocation_kinds_agree,
    allocations.memory_spaces_agree,
    allocations.slices_fit_allocations,
    live_ranges.steps_ascend,
    live_ranges.mentioned_instructions_are_scheduled,
    value_tables.values_quote_their_instruction,
    value_tables.shapes_match_instructions,
    value_tables.sizes_hold_shapes,
    value_tables.uses_match_operands,
    value_tables.operands_are_one_value,
    value_tables.operands_have_no_gaps,
    value_tables.quotes_of_an_instruction_agree,
    allocations.parameters_are_numbered,
    allocations.header_shapes_match_values,
    live_ranges.live_ranges_lie_in_schedule,
    live_ranges.values_have_one_live_range,
    live_ranges.live_ranges_match_schedule_and_uses,
    live_ranges.parameters_are_live_throughout,
)
"""Causes before consequences: findings about rows that an earlier one covers are left out."""


def check(
    dump: DumpSet,
    memory: Memory,
    is_cancelled: IsCancelled = lambda: False,
    report_progress: ReportProgress = lambda _: None,
    module: HloModule | None = None,
) -> list[Finding]:
    """All findings of a dump set, in the order of the files and of their text. `report_progress` is called with the
    fraction of the checks that is done. With the HLO module, holds the dump against it. Raises `Cancelled`.
    """
    lines = unknown_lines(dump)
    resembling = {line.key: line.row for line in lines if line.row}
    unproven = {line.key: line.row for line in lines if line.row and not is_proven(dump, line, has_module=bool(module))}
    checked = partial(
        _checked, dump, memory, lines, module=module, is_cancelled=is_cancelled, report_progress=report_progress
    )
    found = checked(unproven)
    alarms = len(_alarms(found))
    if not lines or not alarms:
        return found
    # Something is missing or contradicts itself. Lines that explain it when taken as damaged rows are damaged rows.
    if len(resembling) > len(unproven) and len(_alarms(explained := checked(resembling))) < alarms:
        return explained
    for file in dict.fromkeys(line.file for line in lines):
        damage = {line.key: line.row or DamagedRow.UNRECOGNIZABLE for line in lines if line.file is file}
        if not _alarms(explained := checked(unproven | damage)):
            return explained
    return found


def _alarms(findings: list[Finding]) -> list[Finding]:
    """The errors and warnings that are not about unknown lines."""
    unknown = Problem.UNKNOWN_LINES, Problem.UNKNOWN_LINE_PART
    return [finding for finding in findings if finding.severity.is_alarm and finding.problem.kind not in unknown]


def _checked(
    dump: DumpSet,
    memory: Memory,
    lines: tuple[UnknownLine, ...],
    damage: Damage,
    *,
    module: HloModule | None,
    is_cancelled: IsCancelled,
    report_progress: ReportProgress,
) -> list[Finding]:
    """All findings if the unknown lines in `damage` are damaged rows and the others do not belong to the dump."""
    findings = [*file_structure.files_are_well_formed(dump, lines, damage)]
    if module and module.is_cut_off:
        findings.append(file_structure.truncated(module.file, Cut.MODULE))
    order = [*dump.files, *([module.file] if module else [])]
    cut = [each_finding.place.file for each_finding in findings if each_finding.problem.kind is Problem.TRUNCATED_FILE]
    context = Context.of(dump, module)
    # Rows may be missing there.
    context.broken_files = {
        id(finding.place.file)
        for finding in findings
        if finding.severity is Severity.ERROR or finding.problem == Problem.UNKNOWN_LINE_PART(DamagedRow.STACK_TRACE)
    }
    _cover_parts(context, cut, lines, damage)

    def run(found: Iterable[Finding]) -> None:
        # A damaged dump can have hundreds of thousands of findings, so stop between two of them if cancelled.
        for number, finding in enumerate(found):
            if number % 256 == 0 and is_cancelled():
                raise Cancelled
            findings.append(finding)

    def run_all() -> None:
        for number, one in enumerate(_CHECKS):
            run(one(dump, context))
            release_memory()
            report_progress((number + 1) / len(_CHECKS))
        if module and not _alarms(findings) and not context.broken_files:
            run(differences_from_module(context, module, is_cancelled))
        # What follows from the rest of the dump says nothing new where that is wrong. Sizes of views are not known.
        has_view = any(finding.problem.kind is Problem.VIEW for finding in findings)
        if not _alarms(findings) and not has_view and context.is_whole(dump.assignment, dump.live):
            run(peak.printed_peak_is_highest(dump, context, memory))
        run(live_values_do_not_overlap(dump, context, memory))
        if not _alarms(findings):
            run(() if has_view else peak.printed_peak_matches_live_ranges(dump, context))
            run(reports.reports_match_allocations(dump, context) if context.is_whole(dump.assignment) else ())

    foreign = [*value_tables.files_are_of_one_dump(dump, is_cut=dump.assignment in cut or dump.used in cut)]
    if not foreign:
        run_all()
        foreign = [*value_tables.files_are_of_one_compilation(dump, findings)]
    if foreign:
        findings = [finding for finding in findings if finding.code is Code.SYNTAX] + foreign
    return sorted(findings, key=lambda finding: (order.index(finding.place.file), finding.place.start))


def _cover_parts(context: Context, cut: list[DumpFile], lines: tuple[UnknownLine, ...], damage: Damage) -> None:
    """Mark what damaged lines make uncertain: the last allocation or used value of each file that is cut off there,
    allocations with damaged attributes, and used values that also hold the rows of the next one.
    """
    dump, mixed = context.dump, file_structure.used_values_before_gaps(context.dump)
    context.cover(values=dump.value_of_used_value[mixed], names=dump.used_values.name[mixed])
    if dump.assignment in cut and file_structure.ends_in(dump.assignment, DumpSection.BUFFER_ASSIGNMENT):
        context.allocations[-1:] = True
    if dump.used in cut and file_structure.ends_in(dump.used, DumpSection.USED_VALUES):
        context.cover(values=dump.value_of_used_value[-1:])
    for line in lines:
        if damage.get(line.key) is DamagedRow.ATTRIBUTE and line.file is dump.assignment:
            context.cover(allocations=[place_in(dump.allocations.start, line.start, "right") - 1])
