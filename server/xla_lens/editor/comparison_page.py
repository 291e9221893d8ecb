"""The page of a comparison in an editor, with links into both dumps."""

from collections.abc import Sequence

from xla_lens.diff.compare import Diff
from xla_lens.diff.outline import diff_outline
from xla_lens.editor.pages import PageText, outline_page
from xla_lens.model.places.entities import Entity, entity_place
from xla_lens.model.places.places import Place


def comparison_page(diff: Diff) -> PageText:
    """Return the page of a comparison of two dumps."""

    def place_of(entity: Entity) -> Place | None:
        side = diff.comparison.old if diff.comparison and entity.is_old else diff.new.analysis
        return entity_place(side.dump, entity)

    return outline_page(diff_outline(diff), place_of)


def unreadable_text(names: Sequence[str]) -> str:
    """The text of a page whose comparison is impossible, because some files are gone or are no dumps any more."""
    return f"These dumps cannot be compared: {' and '.join(names)} cannot be read.\n"
