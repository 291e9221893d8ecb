"""The parts of a report that attribute the bytes at the peak: to source lines, op_names, opcodes and kinds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from xla_lens.features.report.facts import LineReport, Report, SpaceReport
from xla_lens.features.report.options import DEFAULT_TOP, Part
from xla_lens.model.attribution.breakdowns import BytesNode, LineBytes
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.numbers import capitalized, counted, human
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_NAME,
    Bar,
    Inline,
    Name,
    Role,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import kind_counted, space_of
from xla_lens.render.sources import PARAMETERS, frame_place, frame_text
from xla_lens.render.warrants import bounded, bounded_size, share, suffix

_MAX_STACKS: Final = 3
"""Maximum number of call stacks shown for a line, unless the user gives a number of rows."""

_MAX_FRAMES: Final = 32


def line_sections(report: Report, one: SpaceReport) -> Sections:
    """The bytes at the peak by source line; with `Part.STACKS`, each line with the calls that led to it."""
    lines = one.lines
    if lines is None:
        return ()
    warrant = report.warrants.of(Quantity.LIVE, Quantity.SOURCES)
    top = report.options.top
    most = _MAX_STACKS if top is None or top == DEFAULT_TOP else top
    stacks = most if Part.STACKS in report.options.parts else 0
    rows = [row for line in lines.lines for row in _line_rows(report, one, lines, line, stacks)]
    left_out = lines.count - len(lines.lines)
    if left_out:
        rows.append(("", *_sizes(report, one, lines.rest_bytes), f"({counted(left_out, 'more line')})"))
    header = headers("", "size", "share", "source line", text=("", "source line"))
    table = Table(header, tuple(rows), has_text_header=False, indent=2)
    total = bounded_size(lines.size_bytes, one.space.live_bound)
    title = f"{capitalized(space_of(report, one))} peak by source line: {total}{suffix(warrant)}"
    is_derived = any(line.frame and line.derived_bytes for line in lines.lines)
    notes = (derived_text(),) if is_derived else (), (unresolved_text(lines),) if lines.unresolved_bytes else ()
    return (Section(title, (table, *notes[0], *notes[1])),)


def derived_part(line: LineBytes) -> str:
    """How much of a line is derived, to follow the number of its values. Empty if nothing is."""
    if not line.derived_bytes:
        return ""
    return ", derived" if line.derived_bytes == line.size_bytes else f", {human(line.derived_bytes)} derived"


def derived_text() -> str:
    """What it means that the source of some bytes is derived."""
    return (
        "Derived: the line is that of the instruction that computes what a loop, a copy or a fusion holds, found by "
        "following the data flow of the HLO module."
    )


def unresolved_text(lines: LineReport) -> str:
    """How many bytes have a source line that the files do not contain."""
    return (
        f"{human(lines.unresolved_bytes)} have a source line that only the HLO module contains, and that file is "
        "missing or lacks the line."
    )


def _line_rows(
    report: Report, one: SpaceReport, lines: LineReport, line: LineBytes, stacks: int
) -> Iterator[tuple[Text, ...]]:
    bound = report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound
    where = _call(line.frame, frame_text(line.frame)) if line.frame else _argument(line, lines, bound)
    count = bounded(counted(len(line.values), "value"), bound) + derived_part(line) if line.is_known else ""
    bar = Bar(line.size_bytes, lines.size_bytes)
    yield (
        bar,
        *_sizes(report, one, line.size_bytes, is_known=line.is_known),
        (*where, f"  {count}" if count else ""),
    )
    for stack in line.stacks[:stacks]:
        size = human(stack.size_bytes) if len(line.stacks) > 1 else ""
        for number, frame in enumerate(stack.frames[:_MAX_FRAMES]):
            yield "", "" if number else size, "", ("  ", *_call(frame, frame_place(frame)))
        if len(stack.frames) > _MAX_FRAMES:
            yield "", "", "", f"  and {counted(len(stack.frames) - _MAX_FRAMES, 'more call')}"
    if stacks and len(line.stacks) > stacks:
        yield "", "", "", f"  and {counted(len(line.stacks) - stacks, 'more call stack')}"


def _argument(line: LineBytes, lines: LineReport, bound: Bound) -> tuple[Inline, ...]:
    """The name of parameters, or what has none."""
    if line.argument is None:
        return (without_source(lines, bound),)
    return (f"{PARAMETERS} ", Name(line.argument, widest=2 * WIDEST_NAME, role=Role.PATH))


def without_source(lines: LineReport, bound: Bound) -> str:
    """What has no source line: ``(no source: 4 parameter buffers 2.10 GiB, 1 constant buffer 512 B)``."""
    kinds = lines.without_source
    if bound is not Bound.EXACT or not kinds:
        return "(no source)"
    sizes = (f" {human(kind.size_bytes)}" if len(kinds) > 1 else "" for kind in kinds)
    words = (kind_counted(kind.kind, kind.count) + size for kind, size in zip(kinds, sizes, strict=True))
    return f"(no source: {', '.join(words)})"


def _sizes(report: Report, one: SpaceReport, size_bytes: int, *, is_known: bool = True) -> tuple[str, str]:
    """Return the size and the share of a part of the peak. `is_known` says whether its source is known. The missing
    lines of a dump that is cut off can only enlarge such a part, but may shrink the part without a source.
    """
    live, sources = one.space.live_bound, report.warrants.of(Quantity.SOURCES).bound
    share_of_peak = share(size_bytes, one.space.peak_live_bytes, live)
    if is_known or sources is Bound.EXACT:
        return bounded_size(size_bytes, Bound.AT_LEAST if Bound.AT_LEAST in (live, sources) else live), share_of_peak
    return (f"≤ {human(size_bytes)}", share_of_peak) if live is Bound.EXACT else ("", "")


def _call(frame: StackFrame, where: str) -> tuple[Inline, ...]:
    place = Name(where, widest=LONGEST_NAME, role=Role.SOURCE, frame=frame)
    return (place, " in ", Name(frame.function, widest=2 * WIDEST_NAME)) if frame.function else (place,)


# ---------------------------------------------------------------- trees


_MAX_CHILDREN: Final = 8
"""Maximum number of children shown for a node, unless the user gives a number of rows."""

_SMALLEST_SHARE: Final = 0.01
"""Branches with a smaller share of the peak are summed up in one row."""


def source_sections(report: Report, one: SpaceReport) -> Sections:
    """The bytes at the peak as trees by op_name and by opcode, and by what the bytes are for."""
    if one.sources is None:
        return ()
    sources = one.sources
    name = capitalized(space_of(report, one))
    total = bounded_size(sources.by_op_name.size_bytes, one.space.live_bound)
    why = suffix(report.warrants.of(Quantity.LIVE, Quantity.SOURCES))
    trees = (("op_name", sources.by_op_name), ("opcode", sources.by_opcode), ("kind", sources.by_kind))
    return (
        *_parameter_section(report, one, sources.by_parameter),
        *(
            Section(f"{name} peak by {title}: {total}{why}", (_tree(report, one, tree, title),))
            for title, tree in trees
        ),
    )


def _parameter_section(report: Report, one: SpaceReport, tree: BytesNode) -> Sections:
    """The parameters by their paths, if they have any."""
    children = tuple(child for child in tree.children if child.name)
    if not children:
        return ()
    size_bytes = sum(child.size_bytes for child in children)
    named = replace(tree, children=children, size_bytes=size_bytes)
    warrant = report.warrants.of(Quantity.LIVE, Quantity.SOURCES)
    title = f"Parameters at the {space_of(report, one)} peak by path: {bounded_size(size_bytes, warrant.bound)}"
    return (Section(f"{title}{suffix(warrant)}", (_tree(report, one, named, "path", between=""),)),)


def _tree(report: Report, one: SpaceReport, tree: BytesNode, title: str, between: str = "/") -> Table:
    unknown, bound = f"(no {title})", report.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound
    top = report.options.top
    most = _MAX_CHILDREN if top is None or top == DEFAULT_TOP else top
    rows = tuple(
        (*_sizes(report, one, size, is_known=is_known), name)
        for size, is_known, name in _branches(tree, tree.size_bytes, 1, unknown, bound, between=between, most=most)
    )
    return Table(headers("size", "share", title, text=(title,)), rows, has_text_header=False, indent=0)


def _branches(
    node: BytesNode, total: int, depth: int, unknown: str, bound: Bound, *, between: str, most: int
) -> Iterator[tuple[int, bool, Text]]:
    """The children of a node, each with its own children below it. A chain of single children is one row."""
    indent = "  " * depth
    small = 0
    for number, child in enumerate(node.children):
        if number >= most or child.size_bytes < _SMALLEST_SHARE * total:
            small += child.size_bytes
            continue
        names = [child.name]
        while len(child.children) == 1 and not child.own_bytes:
            child = child.children[0]  # noqa: PLW2901
            names.append(child.name)
        yield (
            child.size_bytes,
            None not in names,
            (indent, _path(names, unknown, between), f"  {bounded(counted(child.count, 'value'), bound)}"),
        )
        yield from _branches(child, total, depth + 1, unknown, bound, between=between, most=most)
    if small:
        yield small, True, f"{indent}(smaller)"
    if node.own_bytes and node.children:
        yield node.own_bytes, True, f"{indent}(itself)"


def _path(names: Sequence[str | None], unknown: str, between: str) -> Inline:
    if names == [None]:
        return unknown
    return Name(
        between.join(name if name is not None else unknown for name in names), widest=2 * WIDEST_NAME, role=Role.PATH
    )
