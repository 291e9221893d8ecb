"""Read a dump file into columns, without building a syntax tree."""

from collections.abc import Callable

import numpy as np

from tree_sitter_xla_dump import read_rows
from xla_lens.syntax.columns import Column, Texts, narrowed
from xla_lens.syntax.tables import FileColumns
from xla_lens.syntax.texts import column
from xla_lens.syntax.tree import check_cancelled
from xla_lens.text.document import IsCancelled


def read_columns(
    data: bytes, is_cancelled: IsCancelled, report_progress: Callable[[int], None] = lambda _: None
) -> FileColumns:
    """Return the tables of a dump file. Any bytes give tables; lines that are no part of a dump are `unknown_lines`.

    The reader is written in C on top of the grammar's line scanner, which decides what each line is. It releases the
    interpreter's lock. Every few milliseconds it calls `report_progress` with the number of bytes read and raises
    `Cancelled` if `is_cancelled` returns true.
    """

    def report(size_bytes: int) -> None:
        report_progress(size_bytes)
        check_cancelled(is_cancelled)

    names, indices, tables = read_rows(data, report)
    columns = {
        name: table(*map(_column, table.__struct_fields__, cells))
        for (name, table), cells in zip(FileColumns.tables().items(), tables, strict=True)
    }
    texts = (Texts(block, column(offsets)) for block, (offsets,) in (names, indices))
    return FileColumns(*texts, **columns)  # type: ignore[arg-type]


def _column(name: str, cells: tuple[bytes, int]) -> Column:
    """A column of a table. Numbers of bytes keep 64 bits, because code adds up any of them."""
    found = column(cells)
    is_final = found.dtype == np.int32 or name == "offset" or name.endswith("_bytes")
    return found if is_final else narrowed(found)


def end_of_lines(data: bytes) -> int:
    """Return where the last line end of a text ends, 0 without one."""
    return len(data) if data.endswith((b"\n", b"\r")) else max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
