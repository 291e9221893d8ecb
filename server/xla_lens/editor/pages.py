"""Pages: reports as text that an editor shows beside the dump, with links back into it. Their content is in
`page_text.py`, which imports all that reports compute.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from xla_lens.blocks.blocks import FileLine, Line, LinkTarget, Outline, line_of
from xla_lens.blocks.markdown import markdown_lines
from xla_lens.blocks.text import text_lines
from xla_lens.model.hlo.stack_frames import StackFrame, is_file
from xla_lens.model.places.entities import Entity
from xla_lens.model.places.places import Place
from xla_lens.text.paths import PATH_SEPARATOR
from xla_lens.words.sources import without_folder

_WIDTH: Final = 320
"""An editor scrolls sideways."""


PlaceOf: TypeAlias = Callable[[Entity], Place | None]
"""Finds where a dump describes an entity."""


class Link(NamedTuple):
    """A link from bytes `start` to `end` of a page, in UTF-8. `place` is where the dump describes an entity, None for
    other targets.
    """

    start: int
    end: int
    target: LinkTarget
    place: Place | None


class PageText(NamedTuple):
    """A page: its text, and its links in the order of the text."""

    text: str
    links: tuple[Link, ...]


def outline_page(outline: Outline, place_of: PlaceOf) -> PageText:
    """Return a page with some blocks."""
    return _page(text_lines(outline, _WIDTH), place_of)


def explanation_page(outline: Outline, of_dump: Outline | None, place_of: PlaceOf) -> PageText:
    """Return the page about a log as Markdown: the failure, the answer about its dump if that is known, and then what
    else the log says.
    """
    details = Outline("What the message says", parts=outline.parts)
    outlines = (replace(outline, parts=()), of_dump, details) if of_dump else (outline,)
    lines = [line for each in outlines for line in (*map(_without_folders, markdown_lines(each)), Line("", ()))]
    return _page(lines[:-1], place_of)


def rendered_page(outline: Outline, place_of: PlaceOf) -> PageText:
    """Return a page that the editor renders. Its links know the folders of the files that they name."""
    return _page(map(_without_folders, markdown_lines(outline)), place_of)


def _without_folders(line: Line) -> Line:
    pieces, at = list[tuple[str, LinkTarget | None]](), 0
    for first, last, target in line.spans:
        shown = line.text[first:last]
        if isinstance(target, StackFrame):
            shown = shown.replace(target.file, without_folder(target).file)
        elif isinstance(target, FileLine):
            shown = shown.replace(target.path, PATH_SEPARATOR.split(target.path)[-1])
        pieces += [(line.text[at:first], None), (shown, target)]
        at = last
    return line_of([*pieces, (line.text[at:], None)])


def _page(lines: Iterable[Line], place_of: PlaceOf) -> PageText:
    place_of = cache(place_of)
    data, links = bytearray(), list[Link]()
    for text, spans in lines:
        for first, last, target in spans:
            start, end = (len(data) + len(encoded(text[:at])) for at in (first, last))
            place = place_of(target) if isinstance(target, Entity) else None
            if place or (is_file(target.file) if isinstance(target, StackFrame) else not isinstance(target, Entity)):
                links.append(Link(start, end, target, place))
        data += encoded(text) + b"\n"
    return PageText(data.decode(), tuple(links))


def page_sections(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last row of each section of a page: a title that is not indented, and lines below it."""
    starts = [row for row, line in enumerate(lines) if line and not line.startswith(" ")]
    for first, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = max(row for row in range(first, end) if lines[row] or row == first)
        if last > first:
            yield first, last


def encoded(text: str) -> bytes:
    """Return a text in UTF-8. The path of a file may contain bytes that are not UTF-8, which are replaced."""
    return text.encode("utf-8", "replace")
