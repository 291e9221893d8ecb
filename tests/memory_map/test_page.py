"""The memory map as an HTML page: it contains the whole map, loads nothing else, and no name can break out of it."""

import gzip
import json
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from protocol import check
from samples import PALLAS, SEED, SPLIT, TPU, analysis_of, analysis_of_text, joined
from xla_lens.disk.package_files import page_sources
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.memory_map.page import memory_map_page
from xla_lens.model.analysis import Analysis


class Page(HTMLParser):
    """The elements of a page and the text in each, as browsers with and without scripts read them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, "all elements are closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def of(self, tag: str) -> list[str]:
        """The texts in all elements with a tag."""
        return [text for element, text in self.texts if element == tag]

    @property
    def policy(self) -> dict[str, str]:
        """The content security policy, by directive."""
        (policy,) = (attrs["content"] for tag, attrs in self.elements if "http-equiv" in attrs)
        return {
            name: sources for name, _, sources in (part.strip().partition(" ") for part in (policy or "").split(";"))
        }


def _text(analysis: Analysis, script: str = "", style: str = "") -> str:
    return "\n".join(memory_map_page(analysis, script, style))


def _map(page: Page) -> object:
    packed, _ = page.of("script")
    return json.loads(gzip.decompress(b64decode(packed)))


def _hash(code: str) -> str:
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


@pytest.mark.parametrize("path", [SEED, SPLIT, TPU, PALLAS], ids=lambda path: path.parent.name)
def test_the_page_holds_the_whole_map(path: Path) -> None:
    analysis = joined(path)
    page = Page(_text(analysis, *page_sources()))
    found = _map(page)
    check(found, "MemoryMap")
    assert found == memory_map_data(analysis)
    element = {"id": "memory-map", "type": "application/octet-stream;base64,gzip"}
    assert [attrs for tag, attrs in page.elements if tag == "script"] == [element, {}]
    assert ("div", {"id": "app"}) in page.elements


def test_the_same_dump_gives_the_same_page() -> None:
    assert _text(analysis_of(SPLIT), *page_sources()) == _text(analysis_of(SPLIT), *page_sources())


def test_the_page_loads_nothing_from_elsewhere() -> None:
    """No element refers to anything, and the policy allows only the script and the style in the page."""
    page = Page(_text(joined(SPLIT), *page_sources()))
    _, script = page.of("script")
    (style,) = page.of("style")
    assert page.policy == {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    allowed = {"lang", "charset", "http-equiv", "content", "name", "id", "type", "class"}
    assert {name for _, attrs in page.elements for name in attrs} <= allowed
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base", "form", "a"}
    assert "url(" not in style
    assert "@import" not in style
    assert page.elements.index(("meta", {"charset": "utf-8"})) < 3
    policy = next(number for number, (_, attrs) in enumerate(page.elements) if "http-equiv" in attrs)
    assert policy < next(number for number, (tag, _) in enumerate(page.elements) if tag in ("style", "script"))


_EVIL = "</script><img src=x onerror=alert(1)><!--<script>"


def test_names_from_the_dump_cannot_break_out_of_the_page() -> None:
    """Names, op_names, sources and the module may contain any text."""
    text = SEED.read_text().replace("negate.0", "</noscript><img")
    text = text.replace('op_name="parallelize', f'op_name="{_EVIL}parallelize')
    text = text.replace('source_file="test_auto_sharding_basic.py"', f'source_file="{_EVIL}.py"')
    analysis = analysis_of_text(text)
    page = Page(_text(analysis, *page_sources()))
    assert not [tag for tag, _ in page.elements if tag == "img" or tag.startswith("img")]
    assert len(page.of("script")) == 2
    found = memory_map_data(analysis)
    assert _map(page) == found
    assert any(_EVIL in text for text in found["strings"])
