"""The parts of a report as blocks, except its first lines and what would lower the peak. Callers ask `Report.has` first
whether a part was requested and the dump has the facts.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from xla_lens.advice.sections import advice_sections
from xla_lens.blocks.blocks import (
    Cells,
    Inlines,
    Name,
    Role,
    Section,
    Sections,
    Table,
    Text,
    bar,
    linked,
    more,
    section,
    table,
)
from xla_lens.blocks.entities import (
    DERIVED,
    PRINTED_PEAK,
    allocation_link,
    first_names,
    kind_counted,
    live_range_text,
    reader_names,
    running,
    shape_name,
    size_text,
    source_name,
    step_link,
    steps_text,
    value_link,
)
from xla_lens.model.attribution.breakdowns import BytesNode, LineBytes
from xla_lens.model.hlo.stack_frames import MAX_FRAMES
from xla_lens.model.memory.alive import Ending, Reason
from xla_lens.model.memory.donation import Donation, Fit
from xla_lens.model.memory.over_time import ColorPart, MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Bound, Quantity, worst
from xla_lens.report.facts import (
    LineReport,
    LiveSet,
    Report,
    SpaceReport,
)
from xla_lens.report.notes import argument_notes, unnamed_note
from xla_lens.report.options import Part
from xla_lens.syntax.columns import cells
from xla_lens.words.explained import RULE, padding_part, printed_peak_sums
from xla_lens.words.numbers import apart, as_given, capitalized, counted, human
from xla_lens.words.sources import PARAMETERS, short_frame
from xla_lens.words.terms import color_name
from xla_lens.words.warrants import bounded, bounded_size, peak_size, share, suffix


def totals_sections(report: Report) -> Sections:
    """The reserved bytes of each memory space and of its colors, by what the allocations are for."""
    if not report.dump.assignment or Part.TOTALS not in report.options.parts:
        return ()
    rows, warrant = list[Cells](), report.warrants.of(Quantity.RESERVED)

    def row(name: str, space: MemorySpace | ColorPart, by_kind: Mapping[str, int]) -> Cells:
        sizes = (space.needed_bytes, space.reserved_bytes, *map(by_kind.get, KIND_NAMES))
        return name, *("" if size is None else bounded_size(size, warrant.bound) for size in sizes)

    for space_report in report.spaces:
        rows.append(row(space_report.name, space_report.space, space_report.reserved))
        for part in space_report.space.colors if space_report.space.is_mixed else ():
            rows.append(row(f"  of it {color_name(part.id)}", part, space_report.reserved_by_color[part.color]))
    shown = table(" | ".join(("<", "needed", "reserved", *KIND_NAMES)), rows)
    return section(f"Memory space{suffix(warrant)}", shown)


# ---------------------------------------------------------------- the recomputed and the printed peak


def peak_sections(report: Report) -> Sections:
    """The recomputed peak of each memory space, and the peak that XLA prints."""
    if not report.has_live_ranges or Part.PEAK not in report.options.parts:
        return ()
    titles = "< | live bytes | of reserved | at step | <instruction | live at the printed peak"
    rows = [_peak_row(report, space_report) for space_report in report.spaces]
    blocks: list[Text | Table] = [table(titles, rows)] if rows else []
    if report.printed:
        step, size_bytes = report.printed
        bound = report.warrants.of(Quantity.PRINTED_PEAK).bound
        words = "its peak" if bound is Bound.UNKNOWN else f"a peak of {bounded_size(size_bytes, bound)}"
        blocks.append((linked(f"XLA prints {words} at step {step}", PRINTED_PEAK), "."))
    title = f"Peak{suffix(report.warrants.of(Quantity.LIVE, Quantity.PRINTED_PEAK))}"
    return section(title, *blocks) if blocks else ()


def _peak_row(report: Report, space_report: SpaceReport) -> Cells:
    space, printed, bound = space_report.space, space_report.live_at_printed_peak, space_report.space.live_bound
    is_known = bound is not Bound.UNKNOWN
    live_bytes, step = space.peak_live_bytes, space_report.peak.step if space_report.peak else None
    return (
        space_report.name,
        bounded_size(live_bytes, bound),
        share(live_bytes, space.reserved_bytes, worst(bound, space.reserved_bound)),
        step_link(step),
        Name((report.dump.instruction_at(step) if step is not None else None) or "") if is_known else "",
        bounded(apart(printed, live_bytes), bound) if printed is not None else "",
    )


def printed_peak_sections(report: Report) -> Sections:
    """What XLA added up to choose the step that it prints, and what it would have added up at the real peak."""
    explained = report.explained_peak if report.has_live_ranges else None
    sums = printed_peak_sums(explained, report.dump.space_id(DEFAULT_COLOR).name)
    return section("What XLA's printed peak counts", table(f"<{' | '.join(sums[0])}", sums[1:]), RULE) if sums else ()


# ---------------------------------------------------------------- live values


def live_at_peak_sections(report: Report, space_report: SpaceReport) -> Sections:
    """What is live at the peak of a memory space, biggest first."""
    return _live_sections(report, space_report.peak, f"Live at the {space_report.name} peak")


def live_at_step_sections(report: Report, space_report: SpaceReport) -> Sections:
    """What is live in a memory space at the requested step, biggest first."""
    return _live_sections(report, space_report.at_step, f"Live in {space_report.name}")


def _live_sections(report: Report, live: LiveSet | None, title: str) -> Sections:
    if live is None:
        return ()
    dump, warrant, bound, values = report.dump, report.live, report.live.bound, live.values[: report.options.top]
    rows = [
        (
            human(size_bytes),
            share(size_bytes, live.live_bytes, bound),
            value_link(dump, value),
            Name(short_frame(line), line, Role.SOURCE) if (line := report.origins.of_value(value).line) else "",
            shape_name(dump, value),
            live_range_text(dump, value),
            _op_name_text(report, value),
        )
        for value, size_bytes in cells(values, dump.values.size_bytes[values])
    ]
    titles = "size | share | <value | <source | <shape | <live | <op_name"
    rest = (bounded(text, bound) for text in more(len(live.values) - len(rows), "smaller value"))
    count = bounded(counted(len(live.values), "value"), bound)
    found = f"{title}: {bounded_size(live.live_bytes, bound)} in {count} at "
    where = (step_link(live.step, f"step {live.step}"), *running(dump, live.step), suffix(warrant))
    return section((found, *where), table(titles, rows), *rest)


# ---------------------------------------------------------------- live bytes over time

_ROWS: Final = 40
_BAR: Final = 60


def curve_sections(report: Report, space_report: SpaceReport) -> Sections:
    """The live bytes of a memory space over the schedule, as bars; each bar is the maximum of its steps."""
    space, end = space_report.space, (report.end_step or 0) + 1
    parts = min(_ROWS, end)
    rows: list[Cells] = []
    for first, after in pairwise(number * end // parts for number in range(parts + 1)):
        most, steps = space.live.most_between(first, after - 1), steps_text(first, after - 1)
        shown = bar(most, space.peak_live_bytes, _BAR)
        rows.append((step_link(first, steps), bounded_size(most, space.live_bound), shown))
    title = (
        f"{capitalized(space_report.name)} live bytes over time (maximum of the steps in each row){suffix(report.live)}"
    )
    return section(title, table("steps | live bytes | <", rows, has_text_header=False))


# ---------------------------------------------------------------- source lines

_MAX_STACKS: Final = 3
"""Maximum number of call stacks shown for a line."""

DERIVED_TEXT: Final = (
    "Derived: the line is that of the instruction that computes what a loop, a copy or a fusion holds, found by "
    "following the data flow of the HLO module."
)
"""What it means that the source of some bytes is derived."""


def line_sections(report: Report, space_report: SpaceReport) -> Sections:
    """The bytes at the peak by source line; with `Part.STACKS`, each line with the calls that led to it."""
    lines = space_report.lines
    if lines is None:
        return ()
    stacks = _MAX_STACKS if Part.STACKS in report.options.parts else 0
    rows = [row for line in lines.lines for row in _line_rows(report, space_report, lines, line, stacks)]
    if left_out := lines.count - len(lines.lines):
        rows.append(("", *_sizes(report, space_report, lines.rest_bytes), f"({counted(left_out, 'more line')})"))
    blocks: list[Text | Table] = [table("< | size | share | <source line", rows, has_text_header=False)]
    if any(line.frame and line.derived_bytes for line in lines.lines):
        blocks.append(DERIVED_TEXT)
    blocks += argument_notes(report.origins, report.module, (line.argument or "" for line in lines.lines))
    if lines.unresolved_bytes:
        blocks.append(unresolved_text(lines))
    blocks += unnamed_note(report.origins)
    if lines.library:
        blocks.append(f"What has no source has only lines of {lines.library}. `--part source` groups it by op_name.")
    by_layer = _layer_sections(report, space_report, lines) if lines.layers else ()
    return *section(_by(report, space_report, "source line"), *blocks), *by_layer


def _layer_sections(report: Report, space_report: SpaceReport, lines: LineReport) -> Sections:
    """The bytes at the peak by layer, where a framework gives no lines of the program."""
    known = [layer for layer in lines.layers if layer.name]
    shown, rest = known[: report.options.top], [layer for layer in lines.layers if not layer.name]
    rows = list[Cells]()
    for layer in (*shown, *rest):
        count = bounded(counted(layer.count, "value"), report.sourced.bound)
        name = Name(layer.name, role=Role.PATH) if layer.name else "(no layer)"
        sizes = _sizes(report, space_report, layer.size_bytes, is_known=layer.name is not None)
        rows.append((bar(layer.size_bytes, lines.size_bytes), *sizes, (name, f"  {count}")))
    if left_out := known[len(shown) :]:
        sizes = _sizes(report, space_report, sum(layer.size_bytes for layer in left_out))
        rows.append(("", *sizes, (f"({counted(len(left_out), 'more layer')})",)))
    return section(_by(report, space_report, "layer"), table("< | size | share | <layer", rows, has_text_header=False))


def _by(report: Report, space_report: SpaceReport, what: str) -> str:
    """The title of a breakdown of the peak."""
    return f"{capitalized(space_report.name)} peak by {what}: {peak_size(space_report.space)}{suffix(report.sourced)}"


def derived_part(line: LineBytes) -> str:
    """How much of a line is derived, to follow the number of its values. Empty if nothing is."""
    if not line.derived_bytes:
        return ""
    return ", derived" if line.derived_bytes == line.size_bytes else f", {human(line.derived_bytes)} derived"


def unresolved_text(lines: LineReport) -> str:
    """How many bytes have a source line that the files do not contain."""
    size = human(lines.unresolved_bytes)
    if lines.left_out_by:
        return f"{size} have a source line that the dump does not contain: XLA ran with {lines.left_out_by}."
    return f"{size} have a source line that only the HLO module contains, and that file is missing or lacks the line."


def _line_rows(
    report: Report, space_report: SpaceReport, lines: LineReport, line: LineBytes, stacks: int
) -> Iterator[Cells]:
    bound = report.sourced.bound
    count = f"  {bounded(counted(len(line.values), 'value'), bound)}{derived_part(line)}"
    if line.frame:
        where: Inlines = (*source_name(line.frame), count)
    elif line.argument is not None:
        where = (f"{PARAMETERS} ", Name(line.argument, role=Role.PATH), count)
    else:
        where = (without_source(lines, bound),)
    sizes = _sizes(report, space_report, line.size_bytes, is_known=line.is_known)
    yield bar(line.size_bytes, lines.size_bytes), *sizes, where
    for stack in line.stacks[:stacks]:
        size = human(stack.size_bytes) if len(line.stacks) > 1 else ""
        for frame in stack.frames:
            yield "", size, "", ("  ", *source_name(frame))
            size = ""
        if len(stack.frames) == MAX_FRAMES:
            yield "", "", "", (f"  (no more than {MAX_FRAMES} calls are shown)",)


def without_source(lines: LineReport, bound: Bound) -> str:
    """What has no source line: ``(no source: 4 parameter buffers 2.10 GiB, 1 constant buffer 512 B)``."""
    kinds = lines.without_source if bound is Bound.EXACT else ()
    sized = (kind_counted(kind.kind, kind.count) + f" {human(kind.size_bytes)}" * (len(kinds) > 1) for kind in kinds)
    return f"(no source: {', '.join(sized)})" if kinds else "(no source)"


def _sizes(report: Report, space_report: SpaceReport, size_bytes: int, *, is_known: bool = True) -> tuple[str, str]:
    """Return the size and the share of a part of the peak. `is_known` says whether its source is known. The missing
    lines of a dump that is cut off can only enlarge such a part, but may shrink the part without a source.
    """
    live, bound = space_report.space.live_bound, report.sourced.bound
    size = bounded_size(size_bytes, bound)
    if not is_known and report.warrants.of(Quantity.SOURCES).bound is not Bound.EXACT:
        size = f"≤ {human(size_bytes)}" if live is Bound.EXACT else ""
    return size, share(size_bytes, space_report.space.peak_live_bytes, live)


# ---------------------------------------------------------------- trees

_SMALLEST_SHARE: Final = 0.01
"""Branches with a smaller share of the peak are summed up in one row."""


def source_sections(report: Report, space_report: SpaceReport) -> Sections:
    """The bytes at the peak as trees by parameter, by op_name, by opcode, and by the kind of the allocation."""
    trees = space_report.sources
    if trees is None:
        return ()
    return tuple(
        Section(
            _by(report, space_report, what),
            (table(f"size | share | <{what}", _branches(report, space_report, tree, 0, what), has_text_header=False),),
        )
        for what in ("parameter", "op_name", "opcode", "kind")
        for tree in [getattr(trees, f"by_{what}")]
        if any(child.name for child in tree.children)
    )


def _branches(report: Report, space_report: SpaceReport, node: BytesNode, depth: int, what: str) -> Iterator[Cells]:
    """The children of a node, each with its own children below it. A chain of single children is one row."""
    indent, small = "  " * depth, 0
    for number, child in enumerate(node.children):
        if number == report.options.top or child.size_bytes < _SMALLEST_SHARE * space_report.space.peak_live_bytes:
            small = sum(each.size_bytes for each in node.children[number:])
            break
        names = [child.name]
        while len(child.children) == 1 and not child.own_bytes:
            child = child.children[0]  # noqa: PLW2901
            names.append(child.name)
        # The parts of the path of a parameter contain what separates them.
        path = ("" if what == "parameter" else "/").join(name or f"(no {what})" for name in names)
        shown = Name(path, role=Role.PATH) if names != [None] else path
        count = bounded(counted(child.count, "value"), report.sourced.bound)
        sizes = _sizes(report, space_report, child.size_bytes, is_known=None not in names)
        yield *sizes, (indent, shown, f"  {count}")
        yield from _branches(report, space_report, child, depth + 1, what)
    for size_bytes, words in ((small, "(smaller)"), (node.own_bytes if node.children else 0, "(itself)")):
        if size_bytes:
            yield *_sizes(report, space_report, size_bytes), indent + words


# ---------------------------------------------------------------- what keeps the peak up


def alive_sections(report: Report, space_report: SpaceReport) -> Sections:
    """The peak without each of the values that are live there, and what frees them."""
    dump, peak_bytes = report.dump, space_report.space.peak_live_bytes
    titles = "peak without it | at step | saves | own bytes | <value | live until | <freed by"
    rows = [
        (
            human(without.next_peak_bytes),
            step_link(without.next_peak_step),
            human(peak_bytes - without.next_peak_bytes),
            human(without.freed_bytes),
            value_link(dump, without.value),
            step_link(dump.values.end_step.item(without.value)),
            freed_by(dump, without.ending) if without.ending else _FREED_BY[Reason.UNKNOWN],
        )
        for without in space_report.alive
    ]
    title = f"{capitalized(space_report.name)} peak if one buffer were gone (now {human(peak_bytes)})"
    return section(title, table(titles, rows)) if rows else ()


_FREED_BY: Final = {
    Reason.PARAMETER: "parameter, live to the end",
    Reason.LIVE_OUT: "part of the result, live to the end",
    Reason.READ: "last read by ",
    Reason.CALLED: "last read inside a called computation",
    Reason.REPLACED: "another value takes over its bytes",
    Reason.PASSED_ON: "passed on by ",
    Reason.UNUSED: "never read",
    Reason.COMPUTATION_END: "end of its computation",
    Reason.UNKNOWN: "unknown",
}
"""Those that end with a space are followed by the instructions."""


def freed_by(dump: DumpSet, ending: Ending) -> Text:
    """Return what ends the live range of a value: ``last read by fusion.5``."""
    words = _FREED_BY[ending.reason]
    return (words, *first_names([Name(name) for name in reader_names(dump, ending)])) if words.endswith(" ") else words


# ---------------------------------------------------------------- padding


def padding_sections(report: Report, space_report: SpaceReport) -> Sections:
    """The padding at the peak, and which dimension of which value causes it."""
    at_peak = space_report.padding
    if at_peak is None:
        return ()
    unknown = f" (unknown for {human(at_peak.unknown_bytes)})" if at_peak.unknown_bytes else ""
    title = f"Padding at the {space_report.name} peak: {human(at_peak.total_bytes)}{unknown}"
    dump, rows = report.dump, list[Cells]()
    for padded in space_report.most_padded:
        value, padding = padded.value, padded.padding
        causes = "; ".join(map(padding_part, padding.parts)) if padding else ""
        if padding and padding.unexplained:
            causes = causes or padding.unexplained.value
        sizes = human(padded.padding_bytes), size_text(dump, value)
        rows.append((*sizes, value_link(dump, value), shape_name(dump, value), causes))
    return section(title, *([table("padding | size | <value | <shape | <cause", rows)] if rows else []))


# ---------------------------------------------------------------- a budget


def budget_sections(report: Report, space_report: SpaceReport) -> Sections:
    """A small set of values to remove so that a program fits into the budget."""
    budget, dump = space_report.budget, report.dump
    if budget is None:
        return ()
    plan, values, idle = budget.plan, budget.plan.values, human(budget.idle_bytes)
    size = f"{as_given(plan.budget_bytes)} of {space_report.name}"
    if not len(values):
        if space_report.space.needed_bytes <= plan.budget_bytes:
            return section(f"The program fits into {size} already")
        return section(f"Removing live buffers cannot make the program fit into {size}")
    which = "this buffer" if len(values) == 1 else f"these {len(values):,} buffers"
    title = f"Without {which}, the peak fits into {size}, but the program needs {idle} besides"
    if plan.is_reached:
        proof = f" (no fewer than {plan.at_least:,} can suffice)" if plan.at_least > 1 else ""
        stays = f", if the {idle} that are not live at the peak stay" if budget.idle_bytes else ""
        needed = apart(budget.needed_bytes, plan.budget_bytes)
        title = f"To fit into {size}, remove {which}{proof}; the program then needs {needed}{stays}"
    rows = [
        (size_text(dump, value), value_link(dump, value), live_range_text(dump, value), _op_name_text(report, value))
        for value in values[: report.options.top].tolist()
    ]
    rest = more(len(values) - len(rows), "more buffer")
    return section(title, table("size | <value | <live | <op_name", rows), *rest)


# ---------------------------------------------------------------- donation

_FITS: Final = {
    Fit.FREE: "the parameter is dead before the output's buffer is first used",
    Fit.IN_PLACE: "if the parameter's last reader can write in place",
    Fit.SHARED: "other values use the output's buffer first, so less may be saved",
    Fit.READ_LATER: "if XLA reads the parameter before it makes the output, or a copy of it",
}


def sections_of_advice(report: Report) -> Sections:
    """What would lower the peak of the default memory space."""
    if report.advice is None:
        return ()
    return advice_sections(report.dump, report.advice, report.options.top, has_map=report.options.has_map)


def donation_sections(report: Report) -> Sections:
    """Which parameters hold outputs, which could, and which copies keep the two apart."""
    donation, dump = report.donation, report.dump
    if donation is None:
        return ()
    donated = f"{counted(len(donation.donated), 'parameter')} ({human(donation.donated_bytes)})"
    missed = f"{len(donation.missed):,} {'more ' if donation.donated else ''}could be reused"
    others = missed if donation.missed else "no other candidates found"
    title = f"Donation: outputs reuse the memory of {donated if donation.donated else 'no parameter'}; {others}"
    return section(title, *_donation(dump, donation, report.options.top))


def _donation(dump: DumpSet, donation: Donation, top: int | None) -> Iterator[Text | Table]:
    if donation.missed:
        rows = (
            (
                human(row.size_bytes),
                value_link(dump, row.parameter),
                step_link(row.last_read) or "never",
                value_link(dump, row.output),
                step_link(row.birth),
                f"{row.fit.value}: {_FITS[row.fit]}",
            )
            for row in donation.missed[:top]
        )
        yield table("size | <parameter | last read | <output | defined | <fit", rows)
    if count := len(donation.kept_apart):
        copies = "1 copy keeps" if count == 1 else f"{count:,} copies keep"
        yield f"{copies} parameters and outputs apart ({human(donation.kept_apart_bytes)}):"
        kept = (
            (human(row.size_bytes), value_link(dump, row.copy), ("of ", value_link(dump, row.parameter)))
            for row in donation.kept_apart[:top]
        )
        yield table("size | <copy | <parameter", kept, has_text_header=False)


# ---------------------------------------------------------------- preallocated temps


def arenas_sections(report: Report, space_report: SpaceReport) -> Sections:
    """Each preallocated temp: how much of it is never used at once, and which values set its size."""
    dump = report.dump
    rows = [
        (
            allocation_link(dump.allocations.index.item(arena.allocation)),
            human(arena.size_bytes),
            human(arena.peak_bytes),
            f"{100 * arena.fragmentation:.1f} %" if arena.fragmentation is not None else "-",
            f"{human(holes.total)} in {counted(len(holes), 'hole')}" if holes is not None else "",
            first_names([value_link(dump, value) for value in arena.reaching.tolist()]),
        )
        for arena in space_report.arenas
        for holes in (arena.free_at(arena.space_peak_step),)
    ]
    titles = f"< | size | peak | fragmentation | free at the {space_report.name} peak | <size set by"
    return section(f"Preallocated temps in {space_report.name}", table(titles, rows)) if rows else ()


def _op_name_text(report: Report, value: int) -> Text:
    """The op_name of a value, empty if it has none. One that is derived says so."""
    origin = report.origins.of_value(value)
    name = Name(origin.op_name, role=Role.PATH) if origin.op_name else ""
    return (name, f" {DERIVED}") if origin.derived else name
