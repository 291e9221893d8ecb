"""The memory map as an HTML page: one file that loads nothing else and that no name from a dump can break out of.

The script and the style are built from `vscode-extension/map`. The script reads the map from the element `memory-map`
(gzipped JSON in base64) and draws it in the element `app`.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from typing import Final

from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.summary import module_of
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.printable import printable_line
from xla_lens.words import contract

_IN_SCRIPT: Final = lazy_pattern(r"<(?=!--|/?script)", re.IGNORECASE)
_IN_STYLE: Final = lazy_pattern(r"<(?=/style)", re.IGNORECASE)
"""What would end the element or open another one. The replacements mean the same inside of a string literal."""


def packed_map(data: contract.MemoryMap | contract.ComparedMaps) -> str:
    """Return a map as the page holds it."""
    return _packed(json.dumps(data, separators=(",", ":")))


def _packed(text: str) -> str:
    # Without a time stamp, the same dump gives the same page.
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def memory_map_page(analysis: Analysis, script: str, style: str, *, is_script_packed: bool = False) -> Iterator[str]:
    """Yield the lines of the page of a dump set. `script` and `style` are the bundles of the extension."""
    title, maps = f"{module_of(analysis)}: memory map", [packed_map(memory_map_data(analysis))]
    return memory_maps_page(title, (), maps, script, style, is_script_packed=is_script_packed)


_UNPACK: Final = (
    'const packed=document.getElementById("program").textContent,'
    "bytes=Uint8Array.from(atob(packed),character=>character.charCodeAt(0));"
    'new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text().then(text=>{'
    'const script=document.createElement("script");script.textContent=text;document.body.append(script)})'
)
"""A script that unpacks and runs the one in the element `program`."""


def memory_maps_page(
    title: str, index: Iterable[str], maps: Sequence[str], script: str, style: str, *, is_script_packed: bool = False
) -> Iterator[str]:
    """Yield the lines of the page of some packed maps: lines of HTML that list them, then the map of the first one. A
    link to `map_link(n)` shows another one. A packed script, for a notebook, takes a third of the space.
    """
    script = _IN_SCRIPT.sub(r"\\x3c", _with_line_feeds(script))
    style = _IN_STYLE.sub(r"\\3c ", _with_line_feeds(style))
    sources = [_source(script), *([_source(_UNPACK)] if is_script_packed else [])]
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"script-src {' '.join(sources)}; style-src {_source(style)}; base-uri 'none'; form-action 'none'\">"
    )
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="generator" content="XLA Lens">'
    yield f"<title>{escape(printable_line(title))}</title>"
    yield f"<style>{style}</style>"
    yield "</head>"
    yield "<body>"
    yield from map(printable_line, index)
    if maps:
        yield '<div id="app"></div>'
        yield "<noscript><p>A script draws the memory map, but this browser does not run scripts.</p></noscript>"
        for number, content in enumerate(maps):
            name = f"memory-map-{number + 1}" if number else "memory-map"
            yield f'<script id="{name}" type="application/octet-stream;base64,gzip">{content}</script>'
        if is_script_packed:
            yield f'<script id="program" type="application/octet-stream;base64,gzip">{_packed(script)}</script>'
        yield f"<script>{_UNPACK if is_script_packed else script}</script>"
    yield "</body>"
    yield "</html>"


def _with_line_feeds(code: str) -> str:
    """Normalize line ends as browsers do before they compare the content with the hash in the policy."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def _source(code: str) -> str:
    """The hash by which the content security policy allows a script or a style."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"
