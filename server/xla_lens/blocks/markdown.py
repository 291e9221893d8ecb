"""Reports as Markdown for issues and chats. No name from a dump can become a link or markup."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from xla_lens.blocks.blocks import LONGEST, Line, LinkTarget, Name, Outline, Role, Table, Text, inlines, line_of
from xla_lens.words.markdown import code, code_block, in_cell

LONGEST_COMMENT: Final = 65_536
"""How many characters GitHub accepts in a comment."""

_CUT: Final = (
    "",
    f"**Cut here:** a comment on GitHub has at most {LONGEST_COMMENT:,} characters. `--top` and `--part` show less.",
)


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that fit into a comment on GitHub, and a sentence if that is not all of them."""
    length, last, held = 0, sum(len(line) + 1 for line in _CUT), list[str]()
    for line in lines:
        length += len(line) + 1
        held.append(line)
        if length <= LONGEST_COMMENT - last:
            yield from held
            held.clear()
        elif length > LONGEST_COMMENT:
            yield from _CUT
            return
    yield from held


def markdown_text(outline: Outline) -> Iterator[str]:
    """Yield the lines of a report."""
    return (line.text for line in markdown_lines(outline))


def markdown_lines(outline: Outline) -> Iterator[Line]:
    """Yield the lines of a report, with where their names lead."""
    return map(line_of, _lines(outline))


_Pieces: TypeAlias = Iterable[tuple[str, LinkTarget | None]]


def _lines(outline: Outline) -> Iterator[_Pieces]:
    yield [("## ", None), *_markdown(outline.title)]
    yield []
    for sentence in outline.answer:
        yield _markdown(sentence)
        yield []
    for label, text in outline.facts:
        yield [(f"- {label}: ", None), *_markdown(text)]
    for part in outline.parts:
        for section in part:
            yield []
            yield [(f"{'#' * (3 + section.level)} ", None), *_markdown(section.title)]
            for block in section.blocks:
                yield []
                yield from _table(block) if isinstance(block, Table) else _paragraph(block)


def _paragraph(text: Text) -> Iterator[_Pieces]:
    if isinstance(text, Name) and text.role is Role.COMMAND:
        yield from ([(line, None)] for line in code_block(text.shown))
    else:
        yield _markdown(text)


def _table(table: Table) -> Iterator[_Pieces]:
    yield _row([(column.title, None)] for column in table.header)
    yield [("|", None), *(("---|" if column.is_text else "--:|", None) for column in table.header)]
    for row in table.rows:
        yield _row([(in_cell(text), target) for text, target in _markdown(cell)] for cell in row)


def _row(cells: Iterable[_Pieces]) -> _Pieces:
    yield "|", None
    for cell in cells:
        yield from ((" ", None), *cell, (" |", None))


def _markdown(text: Text) -> _Pieces:
    for number, inline in enumerate(inlines(text)):
        if isinstance(inline, Name):
            is_words = inline.role in (Role.WORDS, Role.BAR)
            yield inline.shown if is_words else code(inline.shown, LONGEST), inline.target
        else:
            # The levels of a tree.
            words = inline.lstrip(" ") if number == 0 else inline
            yield "&emsp;" * ((len(inline) - len(words)) // 2) + words, None
