"""The live bytes at the peak of a dump set on the lines of one file of the program.

A dump names files by their paths on the machine that compiled. Callers decide which of these paths are the file.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from xla_lens.features.report.facts import SpaceReport, report
from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.features.report.peak_groups import LikeValues, line_at_peak
from xla_lens.model.advice.actions import Action
from xla_lens.model.advice.advise import advise
from xla_lens.model.advice.alive import Ending, last_uses
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.bytes_by_line import LineBytes, StackBytes
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.places import Place, value_place
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Warrants


@dataclass(frozen=True, slots=True, eq=False)
class PeakByLine:
    """The peak of a dump set by source line: that of the default memory space, or else the greatest.

    `lines` have a frame and are ordered by size. `actions` would lower the peak of that space.
    """

    analysis: Analysis
    hlo: HloModule | None
    module: str
    space: MemorySpace
    lines: tuple[LineBytes, ...]
    actions: tuple[Action, ...]
    warrants: Warrants

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump set."""
        return self.analysis.dump

    @property
    def step(self) -> int:
        """The step of the peak."""
        return self.space.peak_step or 0

    @property
    def files(self) -> frozenset[str]:
        """The source files that the lines are in, by their paths in the dump."""
        return frozenset(line.frame.file for line in self.lines if line.frame)


@dataclass(frozen=True, slots=True)
class LineBuffers:
    """Like values of a line. `label` is that of the largest, `place` is where the dump has it, and `ending` is the end
    of its live range.
    """

    like: LikeValues
    label: str
    place: Place | None
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class LineSaving:
    """An action that concerns buffers of a line, `size_bytes` of them at the peak."""

    action: Action
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LineMemory:
    """A line of the file, counted from 1. `buffers`, `stacks` and `savings` are ordered by size."""

    line: int
    size_bytes: int
    buffers: tuple[LineBuffers, ...]
    stacks: tuple[StackBytes, ...]
    savings: tuple[LineSaving, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The rows of all values of the line."""
        return tuple(value for one in self.buffers for value in one.like.values)


@dataclass(frozen=True, slots=True)
class FunctionMemory:
    """A function of the file: its name with the names of what it is in, its first and last line, and the bytes of
    its lines, those of functions inside it included.
    """

    name: str
    line: int
    last_line: int
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class SourceMemory:
    """The bytes at the peak that come from one file, by line and by function, in the order of the file."""

    peak: PeakByLine
    lines: tuple[LineMemory, ...]
    functions: tuple[FunctionMemory, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of all lines."""
        return sum(line.size_bytes for line in self.lines)


def peak_by_line(analysis: Analysis, module: HloModule | None) -> PeakByLine | None:
    """Return the peak by source line. None if nothing is ever live, or if the dump is too incomplete to tell."""
    made = report(analysis, {}, ReportOptions(parts=frozenset({Part.LINE})), module)
    one = max(filter(_has_lines, made.spaces), key=_importance, default=None)
    if one is None or one.lines is None:
        return None
    advice = advise(analysis, module, one.space.color)
    return PeakByLine(
        analysis=analysis,
        hlo=module,
        module=module_of(analysis.dump.files),
        space=one.space,
        lines=tuple(line for line in one.lines.lines if line.frame),
        actions=advice.actions if advice else (),
        warrants=made.warrants,
    )


def _has_lines(one: SpaceReport) -> bool:
    return one.lines is not None


def _importance(one: SpaceReport) -> tuple[bool, int]:
    return one.space.color == DEFAULT_COLOR, one.space.peak_live_bytes


def source_memory(peak: PeakByLine, files: Collection[str], text: str | None) -> SourceMemory:
    """Return the bytes that come from one file. `files` are its paths in the dump. `text` is what it contained when it
    was compiled; None if that is unknown, which leaves the functions empty.
    """
    rows: defaultdict[int, list[LineBytes]] = defaultdict(list)
    for one in peak.lines:
        if one.frame and one.frame.line and one.frame.file in files:
            rows[one.frame.line].append(one)
    owned = dict(zip(*(column.tolist() for column in owned_bytes(peak.dump, peak.step, peak.space.color)), strict=True))
    lines = tuple(_line(peak, number, rows[number], owned) for number in sorted(rows))
    return SourceMemory(peak, lines, tuple(_functions(lines, text or "")))


def _line(peak: PeakByLine, number: int, rows: list[LineBytes], owned: dict[int, int]) -> LineMemory:
    """A line. Several functions can be on it, such as a function and a lambda."""
    groups = [group for row in rows for group in line_at_peak(peak.dump, peak.hlo, row, owned).groups]
    values = {value for group in groups for value in group.values}
    savings = (
        LineSaving(action, size_bytes)
        for action in peak.actions
        if (size_bytes := sum(owned.get(value, 0) for value in action.edit if value in values))
    )
    return LineMemory(
        line=number,
        size_bytes=sum(row.size_bytes for row in rows),
        buffers=tuple(_buffers(peak.dump, group) for group in sorted(groups, key=lambda one: -one.size_bytes)),
        stacks=tuple(sorted((one for row in rows for one in row.stacks), key=lambda one: -one.size_bytes)),
        savings=tuple(savings),
    )


def _buffers(dump: DumpSet, like: LikeValues) -> LineBuffers:
    value = like.values[0]
    return LineBuffers(like, dump.value_label(value), value_place(dump, value), last_uses(dump, value))


def callers(line: LineMemory) -> dict[StackFrame, int]:
    """Return the calls that came to a line from another one, with their bytes, most first. They have no column."""
    found: defaultdict[StackFrame, int] = defaultdict(int)
    for stack in line.stacks:
        # The innermost frames may be those of libraries, and a loop repeats calls.
        frames = [StackFrame(frame.file, frame.line, None, frame.function) for frame in stack.frames]
        here = next((place for place, frame in enumerate(frames) if frame.line == line.line), len(frames))
        if caller := next((frame for frame in frames[here:] if frame.line != line.line), None):
            found[caller] += stack.size_bytes
    return dict(sorted(found.items(), key=lambda item: -item[1]))


# ---------------------------------------------------------------- functions


_LONGEST_TEXT: Final = 4 << 20


def _functions(lines: Iterable[LineMemory], text: str) -> Iterator[FunctionMemory]:
    sizes = {line.line: line.size_bytes for line in lines}
    for name, first, last in functions_in(text):
        if size_bytes := sum(size for line, size in sizes.items() if first <= line <= last):
            yield FunctionMemory(name, first, last, size_bytes)


def functions_in(text: str) -> list[tuple[str, int, int]]:
    """Return the functions of a Python file: their names, first and last lines. Empty if it cannot be parsed."""
    try:
        tree = ast.parse(text) if len(text) <= _LONGEST_TEXT else None
        return sorted(_functions_below(tree, ""), key=lambda one: one[1]) if tree else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _functions_below(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        below = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            below = f"{prefix}{child.name}."
            if not isinstance(child, ast.ClassDef):
                yield below[:-1], child.lineno, child.end_lineno or child.lineno
        yield from _functions_below(child, below)
