from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_Cells = NDArray[np.int64]

class Column:
    def __buffer__(self, flags: int, /) -> memoryview: ...

def language_xla_dump() -> object: ...
def language_hlo() -> object: ...
def read_rows(
    data: bytes, is_cancelled: Callable[[int], bool]
) -> tuple[list[bytes], list[bytes], list[list[Column]]] | None: ...
def number_texts(data: bytes, start: _Cells, end: _Cells) -> tuple[Column, Column]: ...
def same_texts(
    data: bytes,
    start: _Cells,
    end: _Cells,
    other: bytes,
    other_start: _Cells,
    other_end: _Cells,
) -> Column: ...
def read_quotes(
    data: bytes, start: _Cells, end: _Cells, names: tuple[bytes, ...], parts: int
) -> tuple[Column, Column, Column, Column, Column, Column]: ...
def covered_changes(lengths: _Cells, low: _Cells, high: _Cells, events: _Cells) -> Column: ...
