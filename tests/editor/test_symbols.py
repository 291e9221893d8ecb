"""The outlines of dump files and HLO modules."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from samples import (
    BARE,
    SEED,
    WHILE,
    analysis_of,
    module_of,
    modules,
    on_each_dump,
)
from xla_lens.editor.structure import Symbol, document_symbols
from xla_lens.model.analysis import analyse
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet


def _text(symbols: Iterable[Symbol], indent: str = "") -> str:
    return "".join(
        f"{indent}{symbol.name}: {symbol.detail}{' ...' * symbol.is_truncated}\n{_text(symbol.children, indent + '  ')}"
        for symbol in symbols
    )


def test_limit_keeps_the_largest_in_order() -> None:
    analysis = analysis_of(SEED)
    assert (
        _text(document_symbols(analysis.dump, None, analysis.dump.files[0], 2))
        == """\
BufferAssignment: 580.0 KiB · the 2 largest of 5 allocations ...
  allocation 0: 256.0 KiB · parameter · 1 value
    param: 256.0 KiB
  allocation 4: 256.0 KiB · preallocated-temp · 1 value
    fusion: 256.0 KiB
Used values: the 2 largest of 6 values ...
  param: 256.0 KiB
  fusion: 256.0 KiB
HloLiveRange (max 7): 3 parts
  InstructionSequence: 7 instructions
  BufferLiveRange: 6 live ranges
  Live ranges at 5 (peak): 328.0 KiB · 4 values
"""
    )


def _outline(dump: DumpSet, module: HloModule, limit: int) -> list[Symbol]:
    return document_symbols(dump, module, module.file, limit)


def test_entry_computation_comes_first() -> None:
    assert (
        _text(_outline(analysis_of(BARE).dump, module_of(BARE), 100))
        == """\
HloModule jit_s: 2 computations
  main.10: entry · 6 instructions
    Arg_0.1: parameter · 40 B
    constant.2: constant · 4 B
    reduce.8: reduce · 4 B
    constant: constant · 0 B
    copy: copy · 0 B
    tuple: tuple · 16 B
  region_0.4: 3 instructions
    Arg_0.5: parameter · 4 B
    Arg_1.6: parameter · 4 B
    add.7: add · 4 B
"""
    )


def test_limit_keeps_the_biggest_of_a_module() -> None:
    """The biggest by the bytes of their values, and where these are unknown by the number of instructions."""
    assert (
        _text(_outline(analysis_of(WHILE).dump, module_of(WHILE), 4))
        == """\
HloModule jit_tuple_while: the 4 largest of 7 computations ...
  main.3: entry · the 4 largest of 7 instructions ...
    x.1: parameter · 32 B
    copy.9: copy · 32 B
    broadcast_add_fusion: fusion · 32 B
    tuple: tuple · 24 B
  region_0.1: the 4 largest of 8 instructions ...
    arg_tuple.1: parameter · 92 B
    copy.5: copy · 32 B
    copy.4: copy · 32 B
    copy.8: copy · 32 B
  region_1.2: 3 instructions
  while.6_computation: 2 instructions
"""
    )


def test_outline_of_a_module_without_a_dump_has_no_sizes() -> None:
    (whole,) = _outline(analyse([]).dump, module_of(WHILE), 2)
    assert [child.name for child in whole.children] == ["main.3", "region_0.1"]
    assert [(child.name, child.detail) for child in whole.children[1].children] == [
        ("arg_tuple.1", "parameter"),
        ("constant.3", "constant"),
    ]


def _check(symbols: Sequence[Symbol], start: int, end: int) -> int:
    """Check that symbols are within their parents, and siblings of a module apart. Return their number."""
    for symbol in symbols:
        assert start <= symbol.span[0] <= symbol.name_span[0] <= symbol.name_span[1] <= symbol.span[1] <= end
        assert symbol.name
    return sum(1 + _check(symbol.children, *symbol.span) for symbol in symbols)


@on_each_dump
def test_children_are_within_their_parents(path: Path) -> None:
    analysis = analysis_of(path)
    for file in analysis.dump.files:
        found = document_symbols(analysis.dump, None, file, 1000)
        assert _check(found, 0, len(file.document.data)) or not len(file.columns.sections)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_symbols_of_modules_are_apart_and_within_their_parents(path: Path) -> None:
    module, dump = module_of(path), analysis_of(path).dump
    (whole,) = _outline(dump, module, 10**6)
    count = _check([whole], 0, len(module.data))
    assert count == 1 + len(module.columns.computations) + len(module.columns.instructions)
    spans = sorted(symbol.span for symbol in whole.children)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert _check(_outline(dump, module, 3), 0, len(module.data)) <= 10
