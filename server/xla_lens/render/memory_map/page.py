"""The memory map as an HTML page: one file that loads nothing else and that no name from a dump can break out of.

The script and the style are built from `vscode-extension/map`. The script reads the map from the element `memory-map`
(gzipped JSON in base64) and draws it in the element `app`.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from xla_lens.features.report.facts import report
from xla_lens.features.report.options import Part, ReportOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.summary import module_of
from xla_lens.render import contract
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.render.pages import file_labels
from xla_lens.render.report.html import section_html
from xla_lens.render.report.outline import report_outline
from xla_lens.render.warrants import gap_lines
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.printable import printable_line

PAGE_TOP: Final = 20
"""Maximum number of values listed for each memory space where the browser runs no scripts."""

_IN_SCRIPT: Final = re.compile(r"<(?=!--|/?script)", re.IGNORECASE)
_IN_STYLE: Final = re.compile(r"<(?=/style)", re.IGNORECASE)
"""What would end the element or open another one. The replacements mean the same inside of a string literal."""


@dataclass(frozen=True, slots=True)
class MapContent:
    """A memory map as the page holds it: packed for the script, and as tables for browsers that run none."""

    module: str
    packed: str
    tables: tuple[str, ...]


def map_content(analysis: Analysis, module: HloModule | None, top: int = PAGE_TOP) -> MapContent:
    """Return the map of a dump set. `top` limits the values listed without a script."""
    files = file_labels(analysis) or {FileKind.BUFFER_ASSIGNMENT: ""}
    options = ReportOptions(top, parts=frozenset({Part.TOTALS, Part.LIVE}))
    made = report(analysis, files, options, module)
    tables = (
        *(f"<p>Incomplete: {escape(line)}.</p>" for line in gap_lines(made.warrants.gaps)),
        *(line for part in report_outline(made).parts for section in part for line in section_html(section)),
    )
    return MapContent(module_of(analysis.dump.files), packed(memory_map_data(analysis, module)), tables)


def packed(data: contract.MemoryMap | contract.ComparedMaps) -> str:
    """Return a map as the page holds it."""
    return _packed(json.dumps(data, separators=(",", ":")))


def _packed(text: str) -> str:
    # Without a time stamp, the same dump gives the same page.
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def memory_map_page(
    analysis: Analysis, module: HloModule | None, script: str, style: str, top: int = PAGE_TOP
) -> Iterator[str]:
    """Yield the lines of the page of a dump set.

    `script` and `style` are the bundles of the extension. `top` limits the values listed without a script.
    """
    content = map_content(analysis, module, top)
    return memory_maps_page(f"{content.module}: memory map", (), (content,), script, style)


def small_page(analysis: Analysis, module: HloModule | None, script: str, style: str) -> Iterator[str]:
    """Yield the lines of the page of a dump set for a notebook, which is saved with it: without tables, and with a
    packed script.
    """
    name = module_of(analysis.dump.files)
    content = MapContent(name, packed(memory_map_data(analysis, module)), ())
    return memory_maps_page(f"{name}: memory map", (), (content,), script, style, is_script_packed=True)


_UNPACK: Final = (
    'const packed=document.getElementById("program").textContent,'
    "bytes=Uint8Array.from(atob(packed),character=>character.charCodeAt(0));"
    'new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text().then(text=>{'
    'const script=document.createElement("script");script.textContent=text;document.body.append(script)})'
)
"""A script that unpacks and runs the one in the element `program`."""


def memory_maps_page(
    title: str,
    index: Iterable[str],
    maps: Sequence[MapContent],
    script: str,
    style: str,
    *,
    is_script_packed: bool = False,
) -> Iterator[str]:
    """Yield the lines of the page of some dump sets: lines of HTML that list them, then the map of the first one. A
    link to `map_link(n)` shows another one. A packed script takes a third of the space.
    """
    script = _IN_SCRIPT.sub(r"\\x3c", _with_line_feeds(script))
    style = _IN_STYLE.sub(r"\\3c ", _with_line_feeds(style))
    title = escape(printable_line(title))
    sources = (_source(script), *((_source(_UNPACK),) if is_script_packed else ()))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(sources)}",
            f"style-src {_source(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="generator" content="XLA Lens">'
    yield f"<title>{title}</title>"
    yield f"<style>{style}</style>"
    yield "</head>"
    yield "<body>"
    yield from map(printable_line, index)
    if maps:
        yield from map(printable_line, _maps(title, maps))
        if is_script_packed:
            yield f'<script id="program" type="application/octet-stream;base64,gzip">{_packed(script)}</script>'
        yield f"<script>{_UNPACK if is_script_packed else script}</script>"
    yield "</body>"
    yield "</html>"


def _maps(title: str, maps: Sequence[MapContent]) -> Iterator[str]:
    """The element that the script draws in, tables for browsers that run no script, and the maps."""
    yield '<div id="app"></div>'
    yield "<noscript>"
    yield f"<h1>{title}</h1>"
    instead = " Here are the peaks as tables." if any(content.tables for content in maps) else ""
    yield f"<p>A script draws the memory map, but this browser does not run scripts.{instead}</p>"
    for content in maps:
        if len(maps) > 1:
            yield f"<h2>{escape(content.module)}</h2>"
        yield from content.tables
    yield "</noscript>"
    for number, content in enumerate(maps):
        name = f"memory-map-{number + 1}" if number else "memory-map"
        yield f'<script id="{name}" type="application/octet-stream;base64,gzip">{content.packed}</script>'


def map_link(number: int) -> str:
    """Return the link to a map of the page, counted from 0."""
    return f"?map={number + 1}" if number else "?"


def _with_line_feeds(code: str) -> str:
    """Normalize line ends as browsers do before they compare the content with the hash in the policy."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def _source(code: str) -> str:
    """The hash by which the content security policy allows a script or a style."""
    # Loads OpenSSL, which only pages need.
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"
