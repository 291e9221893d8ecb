"""Reports as HTML, to stand above the memory map of a page. No name from a dump can become markup."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from xla_lens.blocks.blocks import Inline, Outline, Role, Section, Table, Text, inlines

_LEVEL: Final = 2


def html_lines(outline: Outline) -> Iterator[str]:
    """Yield the lines of a report: the answer as one paragraph, then facts and sections."""
    yield '<article class="report">'
    yield f"<h1>{html_text(outline.title)}</h1>"
    if outline.answer:
        yield f"<p>{'<br>'.join(map(html_text, outline.answer))}</p>"
    if outline.facts:
        yield "<dl>"
        yield from (f"<dt>{escape(label)}</dt><dd>{html_text(text)}</dd>" for label, text in outline.facts)
        yield "</dl>"
    for part in outline.parts:
        for section in part:
            yield from section_html(section)
    yield "</article>"


def section_html(section: Section) -> Iterator[str]:
    """Yield the lines of a section."""
    level = _LEVEL + section.level
    yield f"<h{level}>{html_text(section.title)}</h{level}>"
    for block in section.blocks:
        if not isinstance(block, Table):
            yield f"<p>{html_text(block)}</p>"
            continue
        kinds = ["text" if column.is_text else "number" for column in block.header]
        yield "<table>"
        if block.has_text_header:
            yield _row("th", (escape(column.title) for column in block.header), kinds)
        for row in block.rows:
            yield _row("td", map(html_text, row), kinds)
        yield "</table>"


def _row(tag: str, cells: Iterable[str], kinds: Sequence[str]) -> str:
    filled = (f'<{tag} class="{kind}">{cell}</{tag}>' for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def html_text(text: Text) -> str:
    """Return a text as HTML; its indentation is that of a tree."""
    line = "".join(map(_inline, inlines(text)))
    indent = len(line) - len(line.lstrip(" "))
    return "&emsp;" * (indent // 2) + line.lstrip(" ")


def _inline(inline: Inline) -> str:
    if isinstance(inline, str):
        return escape(inline)
    text = escape(inline.shown)
    if inline.role in (Role.WORDS, Role.BAR):
        return text
    # Only a place of the page itself is a text.
    return f'<a href="{inline.target}">{text}</a>' if isinstance(inline.target, str) else f"<code>{text}</code>"
