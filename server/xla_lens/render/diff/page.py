"""The page of a comparison: the report with links into both dumps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xla_lens.features.diff.facts import Diff
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind, entity_place
from xla_lens.model.places.places import Place
from xla_lens.render.diff import diff_outline
from xla_lens.render.diff.rows import BIG_BYTES
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.pages import PageText, outline_page
from xla_lens.render.report.blocks import Linked, Text


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
        steps = ((space.old_peak_step, True, "old"), (space.new_peak_step, False, "new"))
        links = [
            (Linked(f"step {step}", Entity(EntityKind.STEP, step, is_old)), f" of the {word} schedule")
            for step, is_old, word in steps
            if step is not None
        ]
        if links:
            separated = [inline for link in links for inline in (", ", *link)][1:]
            yield "peaks", (f"{space_name(space.id)}: ", *separated)
