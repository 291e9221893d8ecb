"""Text that no release of XLA prints yet, in all lines of a kind or in one: it costs nothing but these lines."""

import re
from pathlib import Path
from random import Random

import pytest

from samples import GLUED, SEED, SPLIT, TPU, WHILE, never, sweep
from xla_lens.disk.loading import load_module, load_set
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis
from xla_lens.text.document import Document

_HEADER = r"^(allocation \d+:[^\n]*?)(:?)$"
_LIVE = r"^(    [\w.\-]+\{[\d,]*\}:\d+-\d+)$"
_PEAK = r"^(    [\w.\-]+\{[\d,]*\}: \d+ bytes[^\n]*)$"

_FORMS = {
    "attribute": (_HEADER, r"\1, pinned\2"),
    "attribute with a string": (_HEADER, r'\1, tag "x y"\2'),
    "attribute with brackets": (_HEADER, r"\1, heap {1,2}\2"),
    "live range": (_LIVE, r"\1 [bank 3]"),
    "row at the peak": (_PEAK, r"\1 hot"),
    "step": (r"^(    \d+:[\w.\-]+)$", r"\1 stream 3"),
    "use": (r"^(  [^\n<]*, operand \d+[^\n]*)$", r"\1 [aliased]"),
    "total": (r"^(Total bytes used: \d+[^\n]*)$", r"\1 [x]"),
    "slice": (r"^( value: <[^\n]*\(size=\d+,offset=\d+)(\))", r"\1,bank=3\2"),
    "instruction": (r"^((?: from instruction:|  (?:ROOT )?%)[^\n]*? = [^\n]+)$", r"\1, zork={a=1 b={2}}"),
}
_READABLE = {"attribute", "attribute with a string", "row at the peak", "use", "total", "instruction"}
"""The forms whose text is not needed for the live bytes, or whose lines are read without it."""


def _analysed(path: Path, texts: dict[Path, str]) -> Analysis:
    opened = {one: Document(text.encode()) for one, text in texts.items()}
    files = find_set(path)
    _, analysis = load_set(files, opened, {}, never)
    module = load_module(files, opened, None, never)
    return analysis.with_module(module.module) if module else analysis


def _sizes(analysis: Analysis) -> list[tuple[int, int, int | None]]:
    return [(space.reserved_bytes, space.peak_live_bytes, space.peak_step) for space in analysis.memory.spaces]


@pytest.mark.parametrize("path", sweep([SEED, SPLIT, GLUED, TPU, WHILE], 3), ids=lambda path: path.parent.name)
@pytest.mark.parametrize("form", _FORMS)
def test_newer_form_costs_only_its_lines(form: str, path: Path) -> None:
    pattern, replacement = _FORMS[form]
    texts = {one: one.read_text() for one in find_set(path).paths.values()}
    before = _analysed(path, texts)
    everywhere = {one: re.sub(pattern, replacement, text, flags=re.MULTILINE) for one, text in texts.items()}
    changed = [everywhere]
    for one, text in texts.items():
        # A quote that differs from the module contradicts it.
        if form != "instruction" and (found := list(re.finditer(pattern, text, re.MULTILINE))):
            match = Random(0).choice(found)
            changed.append({**texts, one: text[: match.start()] + match.expand(replacement) + text[match.end() :]})
    for edited in changed:
        after = _analysed(path, edited)
        new = {finding.code for finding in after.findings} - {finding.code for finding in before.findings}
        assert new <= {"syntax"}
        if form in _READABLE:
            assert _sizes(after) == _sizes(before)
        elif _sizes(after) != _sizes(before):
            assert not after.warrants.is_complete
