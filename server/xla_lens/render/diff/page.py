"""Pages of comparisons: in an editor with links into both dumps, and as HTML to share with both memory maps."""

from collections.abc import Iterator, Sequence

from xla_lens.features.diff.facts import Diff
from xla_lens.model.places.entities import Entity, entity_place
from xla_lens.model.places.places import Place
from xla_lens.render.diff.outline import diff_outline
from xla_lens.render.memory_map.comparison import compared_maps
from xla_lens.render.memory_map.page import memory_maps_page, packed_map
from xla_lens.render.pages import PageText, outline_page
from xla_lens.render.report.blocks import Outline
from xla_lens.render.report.html import html_lines


def comparison_page(one: Diff) -> PageText:
    """Return the page of a comparison of two dumps."""

    def place_of(entity: Entity) -> Place | None:
        side = one.comparison.old if one.comparison and entity.is_old else one.new.analysis
        return entity_place(side.dump, entity)

    return outline_page(diff_outline(one), place_of)


def unreadable_text(names: Sequence[str]) -> str:
    """The text of a page whose comparison is impossible, because some files are gone or are no dumps any more."""
    return f"These dumps cannot be compared: {' and '.join(names)} cannot be read.\n"


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
