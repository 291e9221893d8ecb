"""The outline of HLO modules."""

from itertools import pairwise
from pathlib import Path

import pytest

from samples import BARE, SEED, WHILE, analysis_of, malformed_modules, module_of, module_of_text, modules
from xla_lens.features.hlo.symbols import symbols
from xla_lens.model.analysis import analyse
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.outline import Symbol
from xla_lens.render.symbols import symbol_detail


def _text(symbols: tuple[Symbol, ...] | list[Symbol], indent: str = "") -> str:
    return "".join(
        f"{indent}{symbol.name}: {symbol_detail(symbol)}\n{_text(symbol.children, indent + '  ')}" for symbol in symbols
    )


def test_entry_computation_comes_first() -> None:
    assert (
        _text(symbols(analysis_of(BARE).dump, module_of(BARE), 100))
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


def test_limit_keeps_the_biggest() -> None:
    """The biggest by the bytes of their values, and where these are unknown by the number of instructions."""
    assert (
        _text(symbols(analysis_of(WHILE).dump, module_of(WHILE), 4))
        == """\
HloModule jit_tuple_while: the 4 largest of 7 computations
  main.3: entry · the 4 largest of 7 instructions
    x.1: parameter · 32 B
    copy.9: copy · 32 B
    broadcast_add_fusion: fusion · 32 B
    tuple: tuple · 24 B
  region_0.1: the 4 largest of 8 instructions
    arg_tuple.1: parameter · 92 B
    copy.5: copy · 32 B
    copy.4: copy · 32 B
    copy.8: copy · 32 B
  region_1.2: 3 instructions
  while.6_computation: 2 instructions
"""
    )


def test_outline_without_a_dump_has_no_sizes() -> None:
    (whole,) = symbols(analyse([]).dump, module_of(WHILE), 2)
    assert [child.name for child in whole.children] == ["main.3", "region_0.1"]
    assert [child.name for child in whole.children[1].children] == ["arg_tuple.1", "constant.3"]
    assert whole.children[1].children[0].size_bytes is None


def _check(symbols: tuple[Symbol, ...] | list[Symbol], start: int, end: int) -> int:
    for symbol in symbols:
        assert start <= symbol.start <= symbol.name_start <= symbol.name_end <= symbol.end <= end
        assert symbol.name
    # Siblings do not overlap.
    spans = sorted((symbol.start, symbol.end) for symbol in symbols)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    return sum(1 + _check(symbol.children, symbol.start, symbol.end) for symbol in symbols)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_each_symbol_lies_within_its_parent(path: Path) -> None:
    module = module_of(path)
    columns = module.columns
    count = _check(symbols(analysis_of(path).dump, module, 10**6), 0, len(module.data))
    assert count == 1 + len(columns.computations) + len(columns.instructions)
    assert _check(symbols(analysis_of(path).dump, module, 3), 0, len(module.data)) <= 10


def test_symbols_of_broken_modules_lie_within_their_parents() -> None:
    def check(module: HloModule) -> int:
        return _check(symbols(analysis_of(SEED).dump, module, 1000), 0, len(module.data))

    assert sum(check(module_of_text(text)) for text in malformed_modules()) > 1000
