from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Cells = NDArray[np.signedinteger]

class Column:
    def __buffer__(self, flags: int, /) -> memoryview: ...

_Columns = tuple[Column, ...]

def language_xla_dump() -> object: ...
def language_hlo() -> object: ...
def read_rows(
    data: bytes, is_cancelled: Callable[[int], bool]
) -> tuple[tuple[bytes, _Columns], tuple[bytes, _Columns], list[_Columns]] | None: ...
def read_module(
    data: bytes, starts: _Cells, is_cancelled: Callable[[int], bool]
) -> tuple[_Columns, _Columns, _Columns] | None: ...
def number_texts(data: bytes, start: _Cells, end: _Cells) -> tuple[_Columns, _Columns]: ...
def same_texts(
    data: bytes,
    start: _Cells,
    end: _Cells,
    other: bytes,
    other_start: _Cells,
    other_end: _Cells,
) -> _Columns: ...
def differences(
    data: bytes,
    start: _Cells,
    end: _Cells,
    other: bytes,
    other_start: _Cells,
    other_end: _Cells,
) -> _Columns: ...
def read_quotes(
    data: bytes, start: _Cells, end: _Cells, names: bytes, offsets: _Cells, parts: int
) -> tuple[_Columns, _Columns]: ...
def covered_changes(lengths: _Cells, low: _Cells, high: _Cells, events: _Cells) -> _Columns: ...
def release_memory() -> None: ...
