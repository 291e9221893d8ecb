"""Reports as Markdown for issues and chats. No name from a dump can become a link or markup."""

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Final

from xla_lens.render.markdown import code, code_block, table
from xla_lens.render.report.blocks import (
    Bar,
    Command,
    Inline,
    Jump,
    Linked,
    Name,
    Outline,
    Section,
    Table,
    Text,
    bar_text,
    inlines,
    plain_text,
)

_LONGEST_PATH: Final = 4096

_INDENT: Final = "&emsp;"


LONGEST_COMMENT: Final = 65_536
"""How many characters GitHub accepts in a comment."""

_CUT: Final = (
    "",
    f"**Cut here:** a comment on GitHub has at most {LONGEST_COMMENT:,} characters. `--top` and `--part` show less.",
)


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that fit into a comment on GitHub, and a sentence if that is not all of them."""
    room = LONGEST_COMMENT - sum(len(line) + 1 for line in _CUT)
    held: list[str] = []
    for line in lines:
        room -= len(line) + 1
        held.append(line)
        if room >= 0:
            yield from held
            held.clear()
        elif room < -sum(len(line) + 1 for line in _CUT):
            yield from _CUT
            return
    yield from held


def markdown_lines(outline: Outline, words: Callable[[Inline], str] | None = None) -> Iterator[str]:
    """Yield the lines of a report. `words` returns the Markdown of a piece, by default that of `inline_markdown`."""
    words = words or inline_markdown
    yield f"## {_markdown(outline.title, words)}"
    yield ""
    for sentence in outline.answer:
        yield _markdown(sentence, words)
        yield ""
    for label, text in outline.facts:
        yield f"- {label}: {_markdown(text, words)}"
    for part in outline.parts:
        for section in part:
            yield from _section(section, words)


def _section(section: Section, words: Callable[[Inline], str]) -> Iterator[str]:
    yield ""
    if section.is_minor:
        yield f"<details><summary>{escape(' '.join(plain_text(section.title).split()))}</summary>"
    else:
        yield f"{'#' * (3 + section.level)} {_markdown(section.title, words)}"
    for block in section.blocks:
        yield ""
        if isinstance(block, Table):
            titles = [column.title for column in block.header]
            left = [number for number, column in enumerate(block.header) if column.is_text]
            yield from table(titles, ([_markdown(cell, words) for cell in row] for row in block.rows), left)
        elif command := _only_command(block):
            yield from code_block(command.text)
        else:
            yield _markdown(block, words)
    if section.is_minor:
        yield ""
        yield "</details>"


def _only_command(text: Text) -> Command | None:
    pieces = [piece for piece in inlines(text) if not isinstance(piece, str) or piece.strip()]
    return pieces[0] if len(pieces) == 1 and isinstance(pieces[0], Command) else None


def _markdown(text: Text, words: Callable[[Inline], str]) -> str:
    line = "".join(map(words, inlines(text)))
    # The first level of a tree is not indented.
    level = (len(line) - len(line.lstrip(" "))) // 2 - 1
    return _INDENT * max(level, 0) + line.lstrip(" ")


def inline_markdown(inline: Inline) -> str:
    """Return a piece of a text as Markdown without links."""
    match inline:
        case Name(text, _, widest):
            return code(text) if widest else code(text, _LONGEST_PATH)
        case Command(text):
            return code(text, _LONGEST_PATH)
        case Jump(_, _, elsewhere):
            return code(elsewhere)
        case Linked(text):
            return text
        case Bar():
            return bar_text(inline)
    return inline
