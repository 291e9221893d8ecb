"""Sections about a dump that has a memory usage report but no buffer assignment."""

from typing import Final

from xla_lens.blocks.blocks import Cells, Name, Role, Sections, more, section, table
from xla_lens.model.memory.reported import Interval, ReportedSpace
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.facts import Report
from xla_lens.report.options import Part
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.warrants import bounded_size, suffix


def usage_report_sections(report: Report) -> Sections:
    """The bytes of each memory space, and its largest buffers. Several values can take the bytes of one in turn."""
    dump, top, spaces = report.dump, report.options.top, report.reported_spaces
    if not spaces or Part.TOTALS not in report.options.parts:
        return ()
    kinds = [kind for kind in KIND_NAMES if any(kind in (space.kinds or ()) for space in spaces)]
    titles = " | ".join(("<", "needed", "reserved", *kinds))
    totals = table(titles, [_total(report, space, kinds) for space in spaces])
    buffers = report.reported_buffers
    rows = [
        (
            _UNIT.sub(r" \g<0>", buffer.size),
            dump.space_id(buffer.color).name,
            buffer.kind or "",
            f"{buffer.values:,}",
            Name(buffer.shapes, role=Role.SHAPE),
        )
        for buffer in buffers[:top]
    ]
    shown = table("size | <memory space | <kind | values | <shapes", rows)
    title = f"Memory space{suffix(report.warrants.of(Quantity.RESERVED))}"
    rest = more(len(buffers) - len(rows), "more buffer")
    return (*section(title, totals), *section("Largest buffers by the memory usage report", shown, *rest))


_UNIT: Final = lazy_pattern(r"(?:[KMGTPE]i)?B$")


def _total(report: Report, space: ReportedSpace, kinds: list[str]) -> Cells:
    sizes = (space.needed, space.reserved, *map((space.kinds or {}).get, kinds))
    return (report.dump.space_id(space.color).name, *("" if size is None else _size(size) for size in sizes))


def _size(size: Interval) -> str:
    """A number of bytes, the greatest possible one if it is not known."""
    return bounded_size(size.most, Bound.EXACT if size.is_exact else Bound.AT_MOST)
