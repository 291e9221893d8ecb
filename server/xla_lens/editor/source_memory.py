"""The memory of a file of the program: the live bytes at the peak of a dump set on its lines, as labels and hovers, and
as the annotated source.

A dump names files by their paths on the machine that compiled. Callers decide which of these paths are the file.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from xla_lens.advice.actions import Action
from xla_lens.advice.sections import largest_saving
from xla_lens.blocks.blocks import Name, Text, bar_text, inlines
from xla_lens.editor.peak_groups import LikeValues, like_values
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import LineBytes, StackBytes
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owners
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.alive import last_uses
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Warrant
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.sections import freed_by
from xla_lens.syntax.columns import Rows
from xla_lens.words import contract
from xla_lens.words.command_links import NO_LINKS, CommandLinks
from xla_lens.words.markdown import code
from xla_lens.words.numbers import counted, human, percent
from xla_lens.words.sources import short_frame
from xla_lens.words.warrants import bounded_size, peak_size, reasons, share


class PeakByLine(NamedTuple):
    """The peak of a dump set by source line: that of the default memory space, or else the greatest.

    `lines` have a frame and are ordered by size. `actions` would lower the peak of that space. `warrant` says which of
    these numbers are exact.
    """

    module: str
    origins: Origins
    space: MemorySpace
    lines: tuple[LineBytes, ...]
    actions: tuple[Action, ...]
    warrant: Warrant

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump set."""
        return self.origins.dump

    @property
    def name(self) -> str:
        """The name of the peak: ``HBM peak``."""
        return f"{self.space.id.name} peak"

    @property
    def files(self) -> frozenset[str]:
        """The source files that the lines are in, by their paths in the dump."""
        return frozenset(line.frame.file for line in self.lines if line.frame)


class LineMemory(NamedTuple):
    """A line of the file, counted from 1. `savings` are actions that concern buffers of the line, with the bytes of
    these at the peak. All are ordered by size.
    """

    line: int
    size_bytes: int
    buffers: tuple[LikeValues, ...]
    stacks: tuple[StackBytes, ...]
    savings: tuple[tuple[Action, int], ...]

    @property
    def values(self) -> Rows:
        """The rows of all values of the line."""
        return tuple(value for buffer in self.buffers for value in buffer.values)


class FunctionMemory(NamedTuple):
    """A function of the file: its name with the names of what it is in, its first and last line, and the bytes of
    its lines, those of functions inside it included.
    """

    name: str
    line: int
    last_line: int
    size_bytes: int


class SourceMemory(NamedTuple):
    """The bytes at the peak that come from one file, by line and by function, in the order of the file."""

    peak: PeakByLine
    lines: tuple[LineMemory, ...]
    functions: tuple[FunctionMemory, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of all lines."""
        return sum(line.size_bytes for line in self.lines)


def peak_by_line(analysis: Analysis) -> PeakByLine | None:
    """Return the peak by source line. None if nothing is ever live, or if the dump is too incomplete to tell."""
    made = report(analysis, {}, ReportOptions(parts=frozenset({Part.LINE}), has_answer=False))
    with_lines = [space for space in made.spaces if space.lines is not None]
    one = max(with_lines, key=lambda one: (one.space.color == DEFAULT_COLOR, one.space.peak_live_bytes), default=None)
    if one is None or one.lines is None:
        return None
    # The rules take 30 ms to import, for which the first answers would wait.
    from xla_lens.advice.advise import advise

    advice = advise(analysis, analysis.module, one.space.color)
    return PeakByLine(
        module=module_of(analysis),
        origins=made.origins,
        space=one.space,
        lines=tuple(line for line in one.lines.lines if line.frame),
        actions=advice.actions if advice else (),
        warrant=made.sourced,
    )


def source_memory(peak: PeakByLine, files: Collection[str], text: str | None) -> SourceMemory:
    """Return the bytes that come from one file. `files` are its paths in the dump. `text` is what it contained when it
    was compiled; None if that is unknown, which leaves the functions empty.
    """
    rows: defaultdict[int, list[LineBytes]] = defaultdict(list)
    for line in peak.lines:
        if line.frame and line.frame.line and line.frame.file in files:
            rows[line.frame.line].append(line)
    owned = dict(owners(peak.dump, peak.space.peak_step or 0, peak.space.color))
    lines = tuple(_line(peak, number, rows[number], owned) for number in sorted(rows))
    return SourceMemory(peak, lines, tuple(_functions(lines, text or "")))


def _line(peak: PeakByLine, number: int, rows: list[LineBytes], owned: dict[int, int]) -> LineMemory:
    """A line. Several functions can be on it, such as a function and a lambda."""
    groups = [group for row in rows for group in like_values(peak.origins, row.values, owned)]
    values = {value for group in groups for value in group.values}
    changed = ((action, [value for group in action.groups for value in group.values]) for action in peak.actions)
    savings = ((one, sum(owned.get(value, 0) for value in found if value in values)) for one, found in changed)
    return LineMemory(
        line=number,
        size_bytes=sum(row.size_bytes for row in rows),
        buffers=tuple(sorted(groups, key=lambda group: -group.size_bytes)),
        stacks=tuple(sorted((stack for row in rows for stack in row.stacks), key=lambda one: -one.size_bytes)),
        savings=tuple(saving for saving in savings if saving[1]),
    )


def callers(line: LineMemory) -> dict[StackFrame, int]:
    """Return the calls that came to a line from another one, with their bytes, most first. They have no column."""
    found: defaultdict[StackFrame, int] = defaultdict(int)
    for stack in line.stacks:
        # The innermost frames may be those of libraries, and a loop repeats calls.
        frames = [replace(frame, column=None) for frame in stack.frames]
        here = next((place for place, frame in enumerate(frames) if frame.line == line.line), len(frames))
        if caller := next((frame for frame in frames[here:] if frame.line != line.line), None):
            found[caller] += stack.size_bytes
    return dict(sorted(found.items(), key=lambda item: -item[1]))


# ---------------------------------------------------------------- functions


_LONGEST_TEXT: Final = 4 << 20


def _functions(lines: Sequence[LineMemory], text: str) -> Iterator[FunctionMemory]:
    for name, first, last in functions_in(text):
        if size_bytes := sum(line.size_bytes for line in lines if first <= line.line <= last):
            yield FunctionMemory(name, first, last, size_bytes)


def functions_in(text: str) -> list[tuple[str, int, int]]:
    """Return the functions of a Python file: their names, first and last lines. Empty if it cannot be parsed."""
    try:
        tree = ast.parse(text) if len(text) <= _LONGEST_TEXT else None
        return sorted(_functions_below(tree, ""), key=lambda named: named[1]) if tree else []
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


# ---------------------------------------------------------------- labels


_BAR_WIDTH: Final = 8
"""The width of the bar of a line that makes the whole peak."""

_MOST_BUFFERS: Final = 8
_MOST_CALLERS: Final = 4
_LONGEST_NAME: Final = 60

SMALLEST_SHARE: Final = 0.01
"""The share of the peak from which on a line has a label at its end."""

LinkTo = Callable[[str, int], str]
"""Makes Markdown a link to a value in the dump."""


def is_shown(memory: SourceMemory, line: LineMemory) -> bool:
    """Whether a line makes enough of the peak to be labelled at its end."""
    return line.size_bytes >= SMALLEST_SHARE * memory.peak.space.peak_live_bytes


def line_label(memory: SourceMemory, line: LineMemory, newer_than: float | None = None) -> str:
    """Return the label at the end of a line: ``██████ 24.10 GiB (76.0 %)``. If the file is newer than the dump, the
    label has the time of the dump, in seconds since 1970.
    """
    bar = bar_text(line.size_bytes, memory.peak.space.peak_live_bytes, _BAR_WIDTH)
    time = f" · dump of {time_text(newer_than)}" if newer_than is not None else ""
    return f"{bar} {_size(memory.peak, line.size_bytes)}{time}"


def _size(peak: PeakByLine, size_bytes: int) -> str:
    """A part of the peak with its share: ``24.10 GiB (76.0 %)``."""
    part = _visible_share(peak, size_bytes)
    return bounded_size(size_bytes, peak.warrant.bound) + (f" ({part})" if part else "")


def _visible_share(peak: PeakByLine, size_bytes: int) -> str:
    """A share of the peak; empty if it is unknown or too small to matter."""
    part = share(size_bytes, peak.space.peak_live_bytes, peak.space.live_bound)
    return "" if part == percent(0, 1) else part


def time_text(seconds: float) -> str:
    """Return a time in seconds since 1970 as local time: ``2026-11-22 14:05``."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def function_title(memory: SourceMemory, size_bytes: int) -> str:
    """Return the title of a function: ``24.10 GiB of the 31.70 GiB HBM peak · jit_train_step``."""
    peak = memory.peak
    part = bounded_size(size_bytes, peak.warrant.bound)
    return f"{part} of the {peak_size(peak.space)} {peak.name} · {peak.module}"


# ---------------------------------------------------------------- hovers


def line_hover(
    memory: SourceMemory,
    line: LineMemory,
    newer_than: float | None = None,
    links: CommandLinks = NO_LINKS,
    link_to: LinkTo = lambda text, _: text,
) -> str:
    """Return the hover of a line as Markdown."""
    peak = memory.peak
    part = _visible_share(peak, line.size_bytes)
    size = bounded_size(line.size_bytes, peak.warrant.bound)
    where = f"{part} of the {peak.name}" if part else f"live at the {peak.name}"
    found = [f"**{size}** · {where} · {code(peak.module)}", *_newer(newer_than)]
    for action, size_bytes in line.savings:
        saving = _markdown(largest_saving(action))
        found.append(f"{saving} {human(size_bytes)} of its buffers come from this line.")
    buffers = [_buffers(peak.dump, buffer, link_to) for buffer in line.buffers[:_MOST_BUFFERS]]
    if more := line.buffers[_MOST_BUFFERS:]:
        count = counted(sum(len(group.values) for group in more), "other buffer")
        buffers.append(f"{human(sum(group.size_bytes for group in more))} · {count}")
    found.append("\n".join(f"- {words}" for words in buffers))
    named = [
        f"{links.source(code(short_frame(frame)), frame)}{_in(frame.function)} {human(size_bytes)}"
        for frame, size_bytes in callers(line).items()
    ]
    if named:
        found.append(f"Called from {_first(named)}")
    if why := reasons(peak.warrant.gaps):
        found.append(f"Incomplete: {why}.")
    return "\n\n".join(found)


def _newer(newer_than: float | None) -> list[str]:
    """What it means that a file is newer than the dump of a time. Empty if it is not."""
    if newer_than is None:
        return []
    return [f"The file is newer than the dump of {time_text(newer_than)}: lines may have changed since."]


def _first(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - _MOST_CALLERS:,} more" if len(names) > _MOST_CALLERS else ""
    return f"{', '.join(names[:_MOST_CALLERS])}{more}"


def _markdown(text: Text) -> str:
    return "".join(code(inline.text) if isinstance(inline, Name) else inline for inline in inlines(text))


def _buffers(dump: DumpSet, like: LikeValues, link_to: LinkTo) -> str:
    """Like values of a line: ``7.00 GiB · 32 × `bf16[4,2048]` · `fusion.5` and 31 others · live until step 35 (last
    read by `dot`)``.
    """
    value, count = like.values[0], len(like.values)
    shape = f"{count:,} × " * (count > 1) + code(like.shape, _LONGEST_NAME)
    label = link_to(code(dump.value_label(value), _LONGEST_NAME), value)
    name = label + (f" and {counted(count - 1, 'other')}" if count > 1 else "")
    until = ""
    if ending := last_uses(dump, value):
        until = f"{'the first ' * (count > 1)}live until step {ending.end_step:,} ({_markdown(freed_by(dump, ending))})"
    return " · ".join(filter(None, (human(like.size_bytes), shape, name, until)))


def _in(function: str | None) -> str:
    """The name of a function without the marks of nesting: `` in `llama.fwd` ``."""
    return f" in {code(function.replace('.<locals>', ''))}" if function else ""


# ---------------------------------------------------------------- for editors that draw by themselves


def source_memory_data(
    memory: SourceMemory,
    uri: str,
    others: Sequence[str],
    *,
    newer_than: float | None,
    row_of: Callable[[int], int],
    links: CommandLinks,
    link_to: LinkTo,
) -> contract.SourceMemory:
    """Return the memory of a file as JSON. `uri` is a file of the dump, `others` are modules that also name it.
    `row_of` returns where a line is now, counted from 0.
    """
    peak = memory.peak
    return {
        "uri": uri,
        "module": peak.module,
        "space": peak.space.id.name,
        "peak_live_bytes": peak.space.peak_live_bytes,
        "size_bytes": memory.size_bytes,
        "label": f"{_size(peak, memory.size_bytes)} of the {peak.name}",
        "is_newer": newer_than is not None,
        "lines": [
            {
                "line": line.line,
                "row": row_of(line.line),
                "size_bytes": line.size_bytes,
                "is_shown": is_shown(memory, line),
                "label": line_label(memory, line, newer_than),
                "markdown": line_hover(memory, line, newer_than, links, link_to),
                "values": [*line.values],
            }
            for line in memory.lines
        ],
        "functions": [
            {
                "row": row_of(function.line),
                "last_row": row_of(function.last_line),
                "label": function_title(memory, function.size_bytes),
            }
            for function in memory.functions
            if function.size_bytes >= SMALLEST_SHARE * peak.space.peak_live_bytes
        ],
        "others": [*others],
    }


# ---------------------------------------------------------------- the annotated source


def annotated_source(memory: SourceMemory, name: str, text: str, newer_than: float | None = None) -> Iterator[str]:
    """Yield the lines of a file with the bytes of each line beside it. The first line of a function has its total."""
    peak, rows = memory.peak, text.splitlines()
    whole = f"{peak_size(peak.space)} at step {peak.space.peak_step:,}"
    yield f"{name}: {_size(peak, memory.size_bytes)} of the {peak.name} of {whole} of {peak.module}"
    yield from (f"  {words}" for words in _newer(newer_than))
    lines = {line.line: line.size_bytes for line in memory.lines}
    totals = {function.line: function.size_bytes for function in memory.functions}
    if beyond := sum(size_bytes for line, size_bytes in lines.items() if line > len(rows)):
        yield f"  {human(beyond)} come from lines that the file does not have: it has changed since."
    if totals:
        yield f"  {_TOTAL} marks the total of a function."
    yield ""
    width = len(str(len(rows)))
    for number, row in enumerate(rows, 1):
        size_bytes = lines.get(number, totals.get(number))
        size = bounded_size(size_bytes, peak.warrant.bound) if size_bytes is not None else ""
        mark = _TOTAL if number in totals and number not in lines else " "
        part = _visible_share(peak, size_bytes or 0)
        bar = bar_text(lines.get(number, 0), peak.space.peak_live_bytes, _BAR_WIDTH)
        yield f"{mark}{size:>11} {part:>7} {bar:<{_BAR_WIDTH}} {number:>{width}} │ {row}".rstrip()


_TOTAL: Final = "Σ"


def no_memory_text(name: str, files: Sequence[str], modules: int) -> str:
    """Return why nothing is known about a file. `files` are some that the peaks of some modules come from."""
    if not files:
        return f"{name}: the dump names no source lines of what is live at the peak"
    which = "the peak comes" if modules == 1 else f"the peaks of {modules:,} modules come"
    return f"{name}: {which} from other files: {_first(files)}"
