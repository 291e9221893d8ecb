from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Cells = NDArray[np.signedinteger]

class Column:
    def __buffer__(self, flags: int, /) -> memoryview: ...

def language_xla_dump() -> object: ...
def language_hlo() -> object: ...
def read_rows(
    data: bytes, is_cancelled: Callable[[int], bool]
) -> tuple[tuple[bytes, Column], tuple[bytes, Column], list[list[Column]]] | None: ...
def read_module(
    data: bytes, starts: _Cells, is_cancelled: Callable[[int], bool]
) -> tuple[tuple[Column, ...], tuple[Column, ...], tuple[Column]] | None: ...
def number_texts(data: bytes, start: _Cells, end: _Cells) -> tuple[Column, Column]: ...
def same_texts(
    data: bytes,
    start: _Cells,
    end: _Cells,
    other: bytes,
    other_start: _Cells,
    other_end: _Cells,
) -> Column: ...
def differences(
    data: bytes,
    start: _Cells,
    end: _Cells,
    other: bytes,
    other_start: _Cells,
    other_end: _Cells,
) -> Column: ...
def read_quotes(
    data: bytes, start: _Cells, end: _Cells, names: bytes, offsets: _Cells, parts: int
) -> tuple[Column, ...]: ...
def covered_changes(lengths: _Cells, low: _Cells, high: _Cells, events: _Cells) -> Column: ...
def release_memory() -> None: ...
def tuple_elements(data: bytes, start: _Cells, end: _Cells, number: _Cells) -> tuple[Column, Column]: ...
def unknown_computation(
    data: bytes, start: _Cells, end: _Cells, names: bytes, offsets: _Cells
) -> tuple[int, int, int] | None: ...
