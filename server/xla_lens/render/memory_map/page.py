"""The memory map as a page of its own: one file that needs nothing else, and that nothing from a dump can break out of.

The script and the style are made from `vscode-extension/map`. The script finds the map in the element `memory-map`, as
JSON, compressed by gzip, in base64, and draws it in the element `app`.
"""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from typing import Final

from xla_lens.features.overview import Overview, SpaceOverview
from xla_lens.render.numbers import counted, human, percent, space_name

PAGE_TOP: Final = 20
"""Values of each memory space that are told to who runs no scripts."""

_IN_SCRIPT: Final = re.compile(r"<(?=!--|/?script)", re.IGNORECASE)
_IN_STYLE: Final = re.compile(r"<(?=/style)", re.IGNORECASE)
"""What would end the element, or open it again, written so that it does not and means the same in a text."""


def memory_map_page(one: Overview, map_json: bytes, script: str, style: str) -> Iterator[str]:
    """The lines of the page of a set. `map_json` is what `memory_map_data` gives."""
    script = _IN_SCRIPT.sub(r"\\x3c", _with_line_feeds(script))
    style = _IN_STYLE.sub(r"\\3c ", _with_line_feeds(style))
    title = escape(f"{one.module}: memory map")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_source(script)}",
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
    yield '<div id="app"></div>'
    yield "<noscript>"
    yield f"<h1>{title}</h1>"
    yield "<p>The map is drawn by a script, which this browser does not run. This is what there is at the peaks.</p>"
    yield from _spaces(one)
    for space in one.spaces:
        yield from _live(space)
    yield "</noscript>"
    # The same bytes give the same page.
    packed = b64encode(gzip.compress(map_json, mtime=0)).decode()
    yield f'<script id="memory-map" type="application/octet-stream;base64,gzip">{packed}</script>'
    yield f"<script>{script}</script>"
    yield "</body>"
    yield "</html>"


def _with_line_feeds(code: str) -> str:
    """Browsers read line ends so, and a policy tells what they have read."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def _source(code: str) -> str:
    """What a policy names a script or a style by."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


# ---------------------------------------------------------------- without a script


def _spaces(one: Overview) -> Iterator[str]:
    yield from _table(
        "Memory spaces",
        ("memory space", "reserved", "peak", "step", "instruction"),
        (
            (
                f"{space.space.color} {space_name(space.space.color)}",
                human(space.space.reserved_bytes),
                human(space.space.peak_live_bytes),
                "" if space.space.peak_step is None else f"{space.space.peak_step}",
                space.peak_instruction,
            )
            for space in one.spaces
        ),
    )


def _live(one: SpaceOverview) -> Iterator[str]:
    peak_bytes, left_out = one.space.peak_live_bytes, one.live_count - len(one.live)
    if not one.live:
        return
    yield from _table(
        f"Live at the peak of {space_name(one.space.color)}",
        ("size", "share", "value", "shape", "op_name"),
        (
            (human(value.size_bytes), percent(value.size_bytes, peak_bytes), value.label, value.shape, value.op_name)
            for value in one.live
        ),
    )
    if left_out:
        yield f"<p>... and {counted(left_out, 'smaller value')}</p>"


def _table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"<table><caption>{escape(title)}</caption>"
    yield _row(header, '<th scope="col">', "</th>")
    for row in rows:
        yield _row(row, "<td>", "</td>")
    yield "</table>"


def _row(cells: Iterable[str], start: str, end: str) -> str:
    return f"<tr>{''.join(f'{start}{escape(cell)}{end}' for cell in cells)}</tr>"
