"""The part of a report that tells which lines of the program the bytes at the peak come from."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import LineReport, SourceLine
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.report.blocks import LONGEST_NAME, WIDEST_NAME, Name, Part, Section, Table, Word, Words
from xla_lens.render.sources import frame_place, frame_text

MAX_STACKS: Final = 3
"""Chains of calls of one line that are shown, at most."""

_MAX_FRAMES: Final = 32


def line_part(lines: LineReport, space: str, stacks: int) -> Part:
    """The bytes at the peak by line, each with so many of the chains of calls that led there."""
    rows = [row for line in lines.lines if line.file is not None for row in _rows(line, lines.size_bytes, stacks)]
    if lines.count > len(lines.lines):
        left_out = f"({counted(lines.count - len(lines.lines), 'more line')})"
        rows.append((human(lines.rest_bytes), percent(lines.rest_bytes, lines.size_bytes), f"  {left_out}"))
    rows += [row for line in lines.lines if line.file is None for row in _rows(line, lines.size_bytes, stacks)]
    table = Table(("size", "share", "source line"), tuple(rows), left=(2,), has_plain_header=False, indent=0)
    lost = f"The lines of {human(lines.unresolved_bytes)} stand in the HLO module, which is not there or does not tell."
    title = f"At the peak of {space} by source line: {human(lines.size_bytes)}"
    return (Section(title, (table, *((lost,) if lines.unresolved_bytes else ()))),)


def _rows(line: SourceLine, total: int, stacks: int) -> Iterator[tuple[Words, ...]]:
    sizes = human(line.size_bytes), percent(line.size_bytes, total)
    own = StackFrame(line.file, line.line, function=line.function) if line.file is not None else None
    yield (
        *sizes,
        ("  ", *(_call(own, frame_text(own)) if own else ("(no source)",)), f"  {counted(len(line.values), 'value')}"),
    )
    for stack in line.stacks[:stacks]:
        size = human(stack.size_bytes) if len(line.stacks) > 1 else ""
        for number, frame in enumerate(stack.frames[:_MAX_FRAMES]):
            yield "" if number else size, "", ("    ", *_call(frame, frame_place(frame)))
        if len(stack.frames) > _MAX_FRAMES:
            yield "", "", f"    and {counted(len(stack.frames) - _MAX_FRAMES, 'call')} more"
    if stacks and len(line.stacks) > stacks:
        yield "", "", f"    and {counted(len(line.stacks) - stacks, 'other chain')} of calls"


def _call(frame: StackFrame, where: str) -> tuple[Word, ...]:
    place = Name(where, widest=LONGEST_NAME)
    return (place, " in ", Name(frame.function, widest=2 * WIDEST_NAME)) if frame.function else (place,)
