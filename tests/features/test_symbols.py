"""Document symbols."""

from pathlib import Path

import pytest

from samples import SEED, SPLIT, analysis_of, assignments
from xla_lens.features.symbols import document_symbols
from xla_lens.model.places.outline import Symbol


def _text(symbols: list[Symbol] | tuple[Symbol, ...], indent: str = "") -> str:
    lines = [
        f"{indent}{symbol.name} {symbol.size_bytes if symbol.size_bytes is not None else ''}".rstrip()
        + "\n"
        + _text(symbol.children, indent + "  ")
        for symbol in symbols
    ]
    return "".join(lines)


def test_outline_lists_the_parts_of_one_file() -> None:
    analysis = analysis_of(SEED)
    assert (
        _text(document_symbols(analysis.dump, analysis.dump.files[0], 100))
        == """\
BufferAssignment 593928
  allocation 0 262144
    param 262144
  allocation 1 65536
    param.1 65536
  allocation 2 4096
    negate.0 4096
    cublas-gemm.1 4096
  allocation 3 8
    tuple{} 8
  allocation 4 262144
    fusion 262144
Used values
  param 262144
  param.1 65536
  negate.0 4096
  tuple{} 8
  cublas-gemm.1 4096
  fusion 262144
HloLiveRange (max 7)
  InstructionSequence
  BufferLiveRange
  Live ranges at 5 (peak) 335872
    param 262144
    param.1 65536
    negate.0 4096
    cublas-gemm.1 4096
"""
    )


def test_limit_keeps_the_largest_in_order() -> None:
    analysis = analysis_of(SEED)
    assignment, used, live = document_symbols(analysis.dump, analysis.dump.files[0], 2)
    assert [child.name for child in assignment.children] == ["allocation 0", "allocation 4"]
    assert [child.name for child in used.children] == ["param", "fusion"]
    assert (assignment.count, used.count) == (5, 6)
    assert [child.count for child in live.children] == [7, 6, 4]


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_children_are_within_their_parents(path: Path) -> None:
    analysis = analysis_of(path)
    for file in analysis.dump.files:
        symbols = document_symbols(analysis.dump, file, 1000)
        assert symbols or not len(file.columns.sections)
        for symbol in symbols:
            _check(symbol, 0, len(file.document.data))


def _check(symbol: Symbol, start: int, end: int) -> None:
    assert start <= symbol.start <= symbol.name_start <= symbol.name_end <= symbol.end <= end
    assert symbol.name
    for child in symbol.children:
        _check(child, symbol.start, symbol.end)


def test_each_file_has_its_own_outline() -> None:
    analysis = analysis_of(SPLIT)
    names = {
        file.kind.value: [symbol.name for symbol in document_symbols(analysis.dump, file, 10)]
        for file in analysis.dump.files
    }
    assert names == {
        "buffer-assignment": ["BufferAssignment"],
        "values": ["Used values"],
        "live-range": ["HloLiveRange (max 40)"],
        "memory-usage-report": ["Memory Space: default (color=0)"],
    }
