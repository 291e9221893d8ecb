"""Pages of comparisons: in an editor with links into both dumps, and as HTML to share with both memory maps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xla_lens.features.diff.facts import Diff
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind, entity_place
from xla_lens.model.places.places import Place
from xla_lens.render.diff.outline import diff_outline
from xla_lens.render.diff.words import BIG_BYTES
from xla_lens.render.memory_map.comparison import compared_maps
from xla_lens.render.memory_map.page import MapContent, memory_maps_page, packed
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.pages import PageText, outline_page
from xla_lens.render.report.blocks import Outline, Text, joined, linked
from xla_lens.render.report.html import html_lines


def comparison_page(one: Diff) -> PageText:
    """Return the page of a comparison of two dumps."""

    def place_of(entity: Entity) -> Place | None:
        side = one.comparison.old if one.comparison and entity.is_old else one.new.analysis
        return entity_place(side.dump, entity)

    outline = diff_outline(one)
    lists = ("lists", f"the first {one.options.top} rows of each")
    return outline_page(replace(outline, facts=(*outline.facts, *_peaks(one), lists)), place_of)


def unreadable_text(names: Sequence[str]) -> str:
    """The text of a page whose comparison is impossible, because some files are gone or are no dumps any more."""
    return f"These dumps cannot be compared: {' and '.join(names)} cannot be read.\n"


def _peaks(one: Diff) -> Iterator[tuple[str, Text]]:
    """The steps of the peaks, for the memory spaces that are not tiny."""
    for space in one.memory_spaces:
        peak = space.peak_live_bytes
        if space.color != DEFAULT_COLOR and max(peak.old, peak.new) < BIG_BYTES:
            continue
        steps = ((space.old.peak_step, True, "old"), (space.new.peak_step, False, "new"))
        links: list[Text] = [
            (linked(f"step {step}", Entity(EntityKind.STEP, step, is_old)), f" of the {word} schedule")
            for step, is_old, word in steps
            if step is not None
        ]
        if links:
            yield "peaks", (f"{space_name(space.id)}: ", *joined(links, ", "))


def comparison_html(before: Sequence[Outline], one: Diff | None, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the HTML page of a comparison, with reports that come before it. A comparison with the report
    of an older dump has no maps.
    """
    reports = [*before, *([diff_outline(one)] if one else [])]
    maps = [_maps(one)] if one and one.comparison else []
    lines = (line for report in reports for line in html_lines(report))
    return memory_maps_page(_title(one), lines, maps, script, style)


def small_comparison_page(one: Diff, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the page of both memory maps for a notebook: without the report, with a packed script."""
    return memory_maps_page(_title(one), (), [_maps(one)], script, style, is_script_packed=True)


def _title(one: Diff | None) -> str:
    return f"{one.name or 'dump'}: comparison" if one else "Comparison"


def _maps(one: Diff) -> MapContent:
    return MapContent(one.name or "", packed(compared_maps(one)), ())
