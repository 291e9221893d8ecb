"""A report as Markdown, fit to be pasted into an issue. No name from a dump becomes a link or markup."""

from collections.abc import Iterator
from typing import Final

from xla_lens.render.markdown import code, table
from xla_lens.render.report.blocks import Command, Linked, Name, Outline, Section, Table, Word, Words, words_of

_LONGEST: Final = 4096
"""Of a path, which is of no use if it is cut."""

_INDENT: Final = "&emsp;"


def markdown_lines(outline: Outline) -> Iterator[str]:
    """The lines of a report."""
    yield f"## {_markdown(outline.title)}"
    yield ""
    for label, words in outline.facts:
        yield f"- {label}: {_markdown(words)}"
    for part in outline.parts:
        for section in part:
            yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield ""
    yield f"{'#' * (3 + section.level)} {_markdown(section.title)}"
    for block in section.blocks:
        yield ""
        if isinstance(block, Table):
            yield from table(block.header, ([_markdown(cell) for cell in row] for row in block.rows), block.left)
        else:
            yield _markdown(block)


def _markdown(words: Words) -> str:
    text = "".join(map(_word, words_of(words)))
    # The first level of a tree needs no room.
    level = (len(text) - len(text.lstrip(" "))) // 2 - 1
    return _INDENT * max(level, 0) + text.lstrip(" ")


def _word(word: Word) -> str:
    match word:
        case Name(text, _, widest):
            return code(text) if widest else code(text, _LONGEST)
        case Command(text):
            return code(text, _LONGEST)
        case Linked(text):
            return text
    return word
