"""The parts of a report that attribute the bytes at the peak: to source lines, op_names, opcodes and kinds."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.features.report.facts import Report, SpaceReport
from xla_lens.features.report.options import Part
from xla_lens.model.attribution.bytes_by_line import LineBytes
from xla_lens.model.attribution.bytes_by_op import BytesNode
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.render.numbers import capitalized, counted, human, percent
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_NAME,
    Inline,
    Name,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import space_of
from xla_lens.render.sources import frame_place, frame_text

_MAX_STACKS: Final = 3
"""Maximum number of call stacks shown for a line."""

_MAX_FRAMES: Final = 32


def line_sections(report: Report, one: SpaceReport) -> Sections:
    """The bytes at the peak by source line; with `Part.STACKS`, each line with the calls that led to it."""
    lines = one.lines
    if lines is None:
        return ()
    stacks = _MAX_STACKS if Part.STACKS in report.options.parts else 0
    rows = [row for line in lines.lines if line.frame for row in _line_rows(line, lines.size_bytes, stacks)]
    left_out = lines.count - len(lines.lines)
    if left_out:
        share = percent(lines.rest_bytes, lines.size_bytes)
        rows.append((human(lines.rest_bytes), share, f"  ({counted(left_out, 'more line')})"))
    rows += [row for line in lines.lines if not line.frame for row in _line_rows(line, lines.size_bytes, stacks)]
    header = headers("size", "share", "source line", text=("source line",))
    table = Table(header, tuple(rows), has_text_header=False, indent=0)
    lost = (
        f"{human(lines.unresolved_bytes)} have a source line that only the HLO module contains, and that file is "
        "missing or lacks the line."
    )
    title = f"{capitalized(space_of(report, one))} peak by source line: {human(lines.size_bytes)}"
    return (Section(title, (table, *((lost,) if lines.unresolved_bytes else ()))),)


def _line_rows(line: LineBytes, total: int, stacks: int) -> Iterator[tuple[Text, ...]]:
    where = _call(line.frame, frame_text(line.frame)) if line.frame else ("(no source)",)
    count = counted(len(line.values), "value")
    yield human(line.size_bytes), percent(line.size_bytes, total), ("  ", *where, f"  {count}")
    for stack in line.stacks[:stacks]:
        size = human(stack.size_bytes) if len(line.stacks) > 1 else ""
        for number, frame in enumerate(stack.frames[:_MAX_FRAMES]):
            yield "" if number else size, "", ("    ", *_call(frame, frame_place(frame)))
        if len(stack.frames) > _MAX_FRAMES:
            yield "", "", f"    and {counted(len(stack.frames) - _MAX_FRAMES, 'more call')}"
    if stacks and len(line.stacks) > stacks:
        yield "", "", f"    and {counted(len(line.stacks) - stacks, 'more call stack')}"


def _call(frame: StackFrame, where: str) -> tuple[Inline, ...]:
    place = Name(where, widest=LONGEST_NAME)
    return (place, " in ", Name(frame.function, widest=2 * WIDEST_NAME)) if frame.function else (place,)


# ---------------------------------------------------------------- trees


_MAX_CHILDREN: Final = 8
"""Maximum number of children shown for a node."""

_SMALLEST_SHARE: Final = 0.01
"""Branches with a smaller share of the peak are summed up in one row."""


def source_sections(report: Report, one: SpaceReport) -> Sections:
    """The bytes at the peak as trees by op_name and by opcode, and by what the bytes are for."""
    if one.sources is None:
        return ()
    sources = one.sources
    total, name = sources.by_op_name.size_bytes, capitalized(space_of(report, one))
    trees = (("op_name", sources.by_op_name), ("opcode", sources.by_opcode), ("kind", sources.by_kind))
    return tuple(
        Section(f"{name} peak by {title}: {human(total)}", (_tree(tree, total, title),)) for title, tree in trees
    )


def _tree(tree: BytesNode, total: int, title: str) -> Table:
    rows = tuple((human(size), percent(size, total), name) for size, name in _branches(tree, total, 1, f"(no {title})"))
    return Table(headers("size", "share", title, text=(title,)), rows, has_text_header=False, indent=0)


def _branches(node: BytesNode, total: int, depth: int, unknown: str) -> Iterator[tuple[int, Text]]:
    """The children of a node, each with its own children below it. A chain of single children is one row."""
    indent = "  " * depth
    small = 0
    for number, child in enumerate(node.children):
        if number >= _MAX_CHILDREN or child.size_bytes < _SMALLEST_SHARE * total:
            small += child.size_bytes
            continue
        names = [child.name]
        while len(child.children) == 1 and not child.own_bytes:
            child = child.children[0]  # noqa: PLW2901
            names.append(child.name)
        yield child.size_bytes, (indent, _path(names, unknown), f"  {counted(child.count, 'value')}")
        yield from _branches(child, total, depth + 1, unknown)
    if small:
        yield small, f"{indent}(smaller)"
    if node.own_bytes and node.children:
        yield node.own_bytes, f"{indent}(itself)"


def _path(names: Sequence[str | None], unknown: str) -> Inline:
    if names == [None]:
        return unknown
    return Name("/".join(name if name is not None else unknown for name in names), widest=2 * WIDEST_NAME)
