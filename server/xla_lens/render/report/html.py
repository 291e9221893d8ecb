"""Reports as HTML, to stand above the memory map of a page. No name from a dump can become markup."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Final

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
)
from xla_lens.render.report.blocks import inlines as inlines_of

_LEVEL: Final = 2


def html_lines(outline: Outline) -> Iterator[str]:
    """Yield the lines of a report: the answer as one paragraph, then facts and sections."""
    yield '<article class="report">'
    yield f"<h1>{_html(outline.title)}</h1>"
    if outline.answer:
        yield f"<p>{'<br>'.join(map(_html, outline.answer))}</p>"
    if outline.facts:
        yield "<dl>"
        yield from (f"<dt>{escape(label)}</dt><dd>{_html(text)}</dd>" for label, text in outline.facts)
        yield "</dl>"
    for part in outline.parts:
        for section in part:
            yield from section_html(section)
    yield "</article>"


def section_html(section: Section, words: Callable[[Inline], str] | None = None) -> Iterator[str]:
    """Yield the lines of a section. `words` returns the HTML of a piece, by default that of `inline_html`."""
    level = _LEVEL + section.level
    yield f"<h{level}>{_html(section.title, words)}</h{level}>"
    for block in section.blocks:
        if not isinstance(block, Table):
            yield f"<p>{_html(block, words)}</p>"
            continue
        kinds = ["text" if column.is_text else "number" for column in block.header]
        yield "<table>"
        if block.has_text_header:
            yield _row("th", (escape(column.title) for column in block.header), kinds)
        for row in block.rows:
            yield _row("td", (_html(cell, words) for cell in row), kinds)
        yield "</table>"


def _row(tag: str, cells: Iterable[str], kinds: Sequence[str]) -> str:
    filled = (f'<{tag} class="{kind}">{cell}</{tag}>' for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def _html(text: Text, words: Callable[[Inline], str] | None = None) -> str:
    line = "".join(map(words or inline_html, inlines_of(text)))
    indent = len(line) - len(line.lstrip(" "))
    return "&emsp;" * (indent // 2) + line.lstrip(" ")


def inline_html(inline: Inline) -> str:
    """Return a piece of a text as HTML."""
    match inline:
        case Name(text) | Command(text):
            return f"<code>{escape(text)}</code>"
        case Jump(_, _, command):
            return f"<code>{escape(command)}</code>" if command else ""
        case Linked(text):
            return escape(text)
        case Bar():
            return bar_text(inline)
    return escape(inline)
