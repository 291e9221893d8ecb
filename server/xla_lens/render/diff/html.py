"""A comparison as one HTML page to share: the report, then both memory maps in one view."""

from collections.abc import Iterator, Sequence

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.values import ValuePairs
from xla_lens.render.diff import diff_outline
from xla_lens.render.memory_map.comparison import compared_maps
from xla_lens.render.memory_map.page import MapContent, memory_maps_page, packed
from xla_lens.render.report.blocks import Outline
from xla_lens.render.report.html import html_lines


def comparison_html(before: Sequence[Outline], one: Diff | None, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the page of a comparison, with reports that come before it. A comparison with the report of an
    older dump has no maps.
    """
    reports = [*before, *([diff_outline(one)] if one else [])]
    maps = []
    if one and one.comparison:
        data = compared_maps(one, ValuePairs.of(one.comparison))
        maps.append(MapContent(one.name or "", packed(data), ()))
    title = f"{one.name or 'dump'}: comparison" if one else "Comparison"
    lines = (line for report in reports for line in html_lines(report))
    return memory_maps_page(title, lines, maps, script, style)
