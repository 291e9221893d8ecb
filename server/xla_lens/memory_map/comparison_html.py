"""Pages of comparisons: in an editor with links into both dumps, and as HTML to share with both memory maps."""

from collections.abc import Iterator, Sequence

from xla_lens.blocks.blocks import Outline
from xla_lens.blocks.html import html_lines
from xla_lens.diff.compare import Diff
from xla_lens.diff.outline import diff_outline
from xla_lens.memory_map.comparison import compared_maps
from xla_lens.memory_map.page import memory_maps_page, packed_map


def comparison_html(before: Sequence[Outline], one: Diff | None, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the HTML page of a comparison, with reports that come before it. A comparison with the report
    of an older dump has no maps.
    """
    reports = [*before, *([diff_outline(one)] if one else [])]
    maps = [packed_map(compared_maps(one))] if one and one.comparison else []
    lines = (line for report in reports for line in html_lines(report))
    return memory_maps_page(_title(one), lines, maps, script, style)


def small_comparison_page(one: Diff, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the page of both memory maps for a notebook: without the report, with a packed script."""
    return memory_maps_page(_title(one), (), [packed_map(compared_maps(one))], script, style, is_script_packed=True)


def _title(one: Diff | None) -> str:
    return f"{one.name or 'dump'}: comparison" if one else "Comparison"
