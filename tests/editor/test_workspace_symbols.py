"""Workspace symbols of many dump sets."""

from functools import cache

import pytest

from samples import SEED, SPLIT, TPU, analysis_of
from xla_lens.editor.workspace_symbols import Found, Query, container_text, parse_query, search
from xla_lens.model.summary import EntryKind, SetSummary, summarise
from xla_lens.text.encoding import Encoding


@cache
def _summaries() -> tuple[SetSummary, ...]:
    return tuple(summarise(analysis_of(path), Encoding.UTF16) for path in (SEED, SPLIT, TPU))


def check(query: str, *expected: str, limit: int = 4) -> Found:
    """Check that a query finds these names."""
    found = search(_summaries(), parse_query(query), limit)
    assert tuple(symbol.name for symbol in found.symbols) == expected
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # Exact names, then prefixes, then substrings; larger ones first.
        ("fusion", "fusion, fusion.2, broadcast_multiply_fusion, multiply_subtract_fusion.5"),
        ("FUSION.2", "fusion.2, ynn_fusion.2, multiply_subtract_fusion.2"),
        ("allocation 1", "allocation 1, allocation 1, allocation 1, allocation 10"),
        ("jit", "jit_roundtrip, jit_train_step"),
        ("001_", "001_491faa5ce21a17c6"),
        ("start{0}", "copy-start{0}"),
        ("fusionz", ""),
        # Sizes; that of a module is its greatest peak.
        (">4MiB", "jit_roundtrip, jit_train_step, allocation 2"),
        ("alloc >=4MiB", "allocation 2, allocation 0, allocation 1, allocation 3"),
        (">=64KiB <=64k", "allocation 1, param.1"),
        ("fusion >1KiB <2049", "ynn_fusion.1, multiply_subtract_fusion.4"),
        ("<64KiB >64KiB", ""),
        # Words in any order.
        ("fusion >1MiB", "fusion.2, broadcast_multiply_fusion, multiply_subtract_fusion.5"),
        (">1MiB fusion", "fusion.2, broadcast_multiply_fusion, multiply_subtract_fusion.5"),
        # No bounds.
        ("fusion foo:", ""),
        (">big", ""),
        (">", ""),
        (":", ""),
        (f">{'9' * 5000}", ""),
        (f"<{'9' * 400}.5", ""),
    ],
)
def test_query_matches(query: str, expected: str) -> None:
    check(query, *filter(None, expected.split(", ")))


def test_empty_query_lists_modules_and_largest_allocations() -> None:
    modules = ("jit_roundtrip", "jit_train_step", "001_491faa5ce21a17c6")
    assert check("  ", *modules, "allocation 2", "allocation 0", limit=5).is_truncated
    assert {symbol.kind for symbol in search(_summaries(), Query(), 10_000).symbols} == {
        EntryKind.MODULE,
        EntryKind.ALLOCATION,
    }


def test_no_symbols_without_sets() -> None:
    assert search((), parse_query("fusion"), 10) == search((), Query(), 10) == Found((), is_truncated=False)


def test_symbols_have_a_container() -> None:
    found = search((summarise(analysis_of(TPU), Encoding.UTF16),), parse_query(">1MiB"), 9).symbols
    assert [f"{symbol.name}: {container_text(symbol)}" for symbol in found] == [
        "jit_roundtrip: buffer-assignment · peak 12.00 MiB",
        "allocation 2: jit_roundtrip · buffer-assignment · 4.05 MiB · temp · live at the peak",
        "allocation 0: jit_roundtrip · buffer-assignment · 4.00 MiB · output · live at the peak",
        "allocation 1: jit_roundtrip · buffer-assignment · 4.00 MiB · parameter · live at the peak",
        "allocation 3: jit_roundtrip · buffer-assignment · 4.00 MiB · temp · VMEM · live at the peak",
        "allocation 5: jit_roundtrip · buffer-assignment · 4.00 MiB · temp · host memory · live at the peak",
        "x.1: jit_roundtrip · buffer-assignment · 4.00 MiB · parameter · live at the peak",
        "broadcast_multiply_fusion: jit_roundtrip · buffer-assignment · 4.00 MiB · temp",
        "copy-start{0}: jit_roundtrip · buffer-assignment · 4.00 MiB · temp · host memory · live at the peak",
    ]
