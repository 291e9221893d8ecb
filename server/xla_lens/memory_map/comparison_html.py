"""Pages of comparisons: in an editor with links into both dumps, and as HTML to share with both memory maps."""

from collections.abc import Iterator, Sequence

from xla_lens.blocks.blocks import Outline
from xla_lens.blocks.html import html_lines
from xla_lens.diff.compare import Diff
from xla_lens.diff.outline import diff_outline
from xla_lens.memory_map.comparison import compared_maps
from xla_lens.memory_map.page import memory_maps_page, packed_map


def comparison_html(before: Sequence[Outline], diff: Diff | None, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the HTML page of a comparison, with reports that come before it. A comparison with the report
    of an older dump has no maps.
    """
    reports = [*before, *([diff_outline(diff)] if diff else [])]
    maps = [packed_map(compared_maps(diff))] if diff and diff.comparison else []
    lines = (line for report in reports for line in html_lines(report))
    return memory_maps_page(_title(diff), lines, maps, script, style)


def small_comparison_page(diff: Diff, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the page of both memory maps for a notebook: without the report, with a packed script."""
    return memory_maps_page(_title(diff), (), [packed_map(compared_maps(diff))], script, style, is_script_packed=True)


def _title(diff: Diff | None) -> str:
    return f"{diff.name or 'dump'}: comparison" if diff else "Comparison"
