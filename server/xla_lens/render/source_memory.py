"""The memory of a file of the program, beside its lines: labels, hovers, and the annotated source."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from xla_lens.features.report.source_memory import LineBuffers, LineMemory, PeakByLine, SourceMemory, callers
from xla_lens.model.advice.alive import Ending
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render import contract
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.report.actions import largest_saving
from xla_lens.render.report.advice import freed_by
from xla_lens.render.report.blocks import Bar, Name, bar_text, inlines
from xla_lens.render.sources import short_frame
from xla_lens.render.warrants import bounded_size, reasons, share

_BAR_WIDTH: Final = 8
"""The width of the bar of a line that makes the whole peak."""

_MOST_BUFFERS: Final = 8
_MOST_CALLERS: Final = 4
_LONGEST_NAME: Final = 60

SMALLEST_SHARE: Final = 0.01
"""The share of the peak from which on a line has a label at its end."""

LinkTo = Callable[[str, LineBuffers], str]
"""Makes Markdown a link to buffers in the dump."""


def is_shown(memory: SourceMemory, line: LineMemory) -> bool:
    """Whether a line makes enough of the peak to be labelled at its end."""
    return line.size_bytes >= SMALLEST_SHARE * memory.peak.space.peak_live_bytes


def line_label(memory: SourceMemory, line: LineMemory, newer_than: float | None = None) -> str:
    """Return the label at the end of a line: ``██████ 24.10 GiB (76.0 %)``. If the file is newer than the dump, the
    label has the time of the dump, in seconds since 1970.
    """
    bar = bar_text(Bar(line.size_bytes, memory.peak.space.peak_live_bytes, _BAR_WIDTH))
    time = f" · dump of {time_text(newer_than)}" if newer_than is not None else ""
    return f"{bar} {_size(memory.peak, line.size_bytes)}{time}"


def _size(peak: PeakByLine, size_bytes: int) -> str:
    """A part of the peak with its share: ``24.10 GiB (76.0 %)``."""
    part = _visible_share(peak, size_bytes)
    return bounded_size(size_bytes, _bound(peak)) + (f" ({part})" if part else "")


def _visible_share(peak: PeakByLine, size_bytes: int) -> str:
    """A share of the peak; empty if it is unknown or too small to matter."""
    part = share(size_bytes, peak.space.peak_live_bytes, peak.space.live_bound)
    return "" if part == percent(0, 1) else part


def _bound(peak: PeakByLine) -> Bound:
    return peak.warrants.of(Quantity.LIVE, Quantity.SOURCES).bound


def time_text(seconds: float) -> str:
    """Return a time in seconds since 1970 as local time: ``2026-11-22 14:05``."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def function_title(memory: SourceMemory, size_bytes: int) -> str:
    """Return the title of a function: ``24.10 GiB of the 31.70 GiB HBM peak · jit_train_step``."""
    peak = memory.peak
    whole = bounded_size(peak.space.peak_live_bytes, peak.space.live_bound)
    part = bounded_size(size_bytes, _bound(peak))
    return f"{part} of the {whole} {space_name(peak.space.id)} peak · {peak.module}"


# ---------------------------------------------------------------- hovers


def line_hover(
    memory: SourceMemory,
    line: LineMemory,
    newer_than: float | None = None,
    links: CommandLinks = NO_LINKS,
    link_to: LinkTo = lambda text, _: text,
) -> str:
    """Return the hover of a line as Markdown."""
    return "\n".join(_hover(memory, line, newer_than, links, link_to))


def _hover(
    memory: SourceMemory, line: LineMemory, newer_than: float | None, links: CommandLinks, link_to: LinkTo
) -> Iterator[str]:
    peak = memory.peak
    space = space_name(peak.space.id)
    part = _visible_share(peak, line.size_bytes)
    size = bounded_size(line.size_bytes, _bound(peak))
    where = f"{part} of the {space} peak" if part else f"live at the {space} peak"
    yield f"**{size}** · {where} · {code(peak.module)}"
    yield ""
    if newer_than is not None:
        yield f"The file is newer than the dump of {time_text(newer_than)}: lines may have changed since."
        yield ""
    for one in line.buffers[:_MOST_BUFFERS]:
        yield f"- {_buffers(peak.dump, one, link_to)}"
    if more := line.buffers[_MOST_BUFFERS:]:
        count = sum(len(one.like.values) for one in more)
        yield f"- {human(sum(one.like.size_bytes for one in more))} · {counted(count, 'other buffer')}"
    calls = list(callers(line).items())
    if calls:
        yield ""
        sizes = [f" {human(size_bytes)}" if len(calls) > 1 else "" for _, size_bytes in calls]
        named = [
            links.source(code(short_frame(frame)), frame)
            + (f" in {code(_function(frame.function))}" if frame.function else "")
            + size
            for (frame, _), size in zip(calls, sizes, strict=True)
        ]
        rest = f" and {len(named) - _MOST_CALLERS:,} more" if len(named) > _MOST_CALLERS else ""
        yield f"Called from {', '.join(named[:_MOST_CALLERS])}{rest}"
    for saving in line.savings:
        here = f" {human(saving.size_bytes)} of its buffers come from this line." if saving.size_bytes else ""
        yield ""
        yield f"{largest_saving(saving.action)}{here}"
    if why := reasons(peak.warrants.of(Quantity.LIVE, Quantity.SOURCES).gaps):
        yield ""
        yield f"Incomplete: {'; '.join(why)}."


def _buffers(dump: DumpSet, one: LineBuffers, link_to: LinkTo) -> str:
    """Like values of a line: ``7.00 GiB · 32 × `bf16[4,2048]` · `fusion.5` and 31 others · live until step 35``."""
    count = len(one.like.values)
    shape = f"{count:,} × " * (count > 1) + code(one.like.shape, _LONGEST_NAME)
    name = link_to(code(one.label, _LONGEST_NAME), one) + (f" and {counted(count - 1, 'other')}" if count > 1 else "")
    until = f"{'the first ' * (count > 1)}live until {_until(dump, one.ending)}" if one.ending else ""
    return " · ".join(filter(None, (human(one.like.size_bytes), shape, name, until)))


def _until(dump: DumpSet, ending: Ending) -> str:
    """When a value ends and why: ``step 35 (last read by `fusion.5`)``."""
    words = (code(one.text) if isinstance(one, Name) else str(one) for one in inlines(freed_by(dump, ending)))
    return f"step {ending.end_step:,} ({''.join(words)})"


def _function(name: str) -> str:
    """The name of a function without the marks of nesting: ``llama.fwd``."""
    return name.replace(".<locals>", "")


# ---------------------------------------------------------------- for editors that draw by themselves


def source_memory_data(
    memory: SourceMemory,
    uri: str,
    others: Sequence[contract.SourceModule],
    *,
    dump_time: float,
    is_newer: bool,
    links: CommandLinks,
    link_to: LinkTo,
) -> contract.SourceMemory:
    """Return the memory of a file as JSON. `uri` is a file of the dump, `others` are modules that also name it."""
    newer_than = dump_time if is_newer else None
    peak = memory.peak
    return {
        "uri": uri,
        "module": peak.module,
        "space": space_name(peak.space.id),
        "peakLiveBytes": peak.space.peak_live_bytes,
        "sizeBytes": memory.size_bytes,
        "label": f"{_size(peak, memory.size_bytes)} of the {space_name(peak.space.id)} peak",
        "dumpTime": dump_time,
        "isNewer": is_newer,
        "lines": [
            {
                "line": line.line,
                "sizeBytes": line.size_bytes,
                "isShown": is_shown(memory, line),
                "label": line_label(memory, line, newer_than),
                "markdown": line_hover(memory, line, newer_than, links, link_to),
                "values": [*line.values],
            }
            for line in memory.lines
        ],
        "functions": [
            {
                "name": one.name,
                "line": one.line,
                "lastLine": one.last_line,
                "sizeBytes": one.size_bytes,
                "label": function_title(memory, one.size_bytes),
            }
            for one in memory.functions
            if one.size_bytes >= SMALLEST_SHARE * peak.space.peak_live_bytes
        ],
        "others": [*others],
    }


# ---------------------------------------------------------------- the annotated source


def annotated_source(memory: SourceMemory, name: str, text: str, newer_than: float | None = None) -> Iterator[str]:
    """Yield the lines of a file with the bytes of each line beside it. The first line of a function has its total."""
    peak, rows = memory.peak, text.splitlines()
    space = space_name(peak.space.id)
    whole = bounded_size(peak.space.peak_live_bytes, peak.space.live_bound)
    yield (
        f"{name}: {_size(peak, memory.size_bytes)} of the {space} peak of {whole} at step {peak.step:,} "
        f"of {peak.module}"
    )
    if newer_than is not None:
        yield f"  The file is newer than the dump of {time_text(newer_than)}: lines may have changed since."
    if beyond := [line for line in memory.lines if line.line > len(rows)]:
        size = human(sum(line.size_bytes for line in beyond))
        yield f"  {size} come from lines that the file does not have: it has changed since."
    if memory.functions:
        yield f"  {_TOTAL} marks the total of a function."
    yield ""
    lines = {line.line: line for line in memory.lines}
    totals = {one.line: one.size_bytes for one in memory.functions}
    width = len(str(len(rows)))
    bound = _bound(peak)
    for number, row in enumerate(rows, 1):
        line, total = lines.get(number), totals.get(number)
        size_bytes = line.size_bytes if line else total
        size = bounded_size(size_bytes, bound) if size_bytes is not None else ""
        mark = _TOTAL if size_bytes is not None and not line else " "
        part = _visible_share(peak, size_bytes or 0)
        bar = bar_text(Bar(line.size_bytes, peak.space.peak_live_bytes, _BAR_WIDTH)) if line else ""
        yield f"{mark}{size:>11} {part:>7} {bar:<{_BAR_WIDTH}} {number:>{width}} │ {row}".rstrip()


_TOTAL: Final = "Σ"


def no_memory_text(name: str, files: Sequence[str], modules: int) -> str:
    """Return why nothing is known about a file. `files` are some that the peaks of some modules come from."""
    if not files:
        return f"{name}: the dump names no source lines of what is live at the peak"
    which = "the peak comes" if modules == 1 else f"the peaks of {modules:,} modules come"
    more = f" and {len(files) - _MOST_CALLERS:,} more" if len(files) > _MOST_CALLERS else ""
    return f"{name}: {which} from other files: {', '.join(files[:_MOST_CALLERS])}{more}"
