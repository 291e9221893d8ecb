"""Tables of a capture, which need no other library."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from xla_lens.model.warrants import Bound
from xla_lens.render.captures import table_html, table_text


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same columns, biggest first.

    `table[0]` is a row as a dictionary, `table["size_bytes"]` a column as a list, `table[:5]` a table.
    `to_dict` returns all columns, as the data frames of pandas and polars take them. In a notebook, it is a table.
    `bound` says whether the rows are all there are, and their numbers the true ones.
    """

    def __init__(self, title: str, rows: Sequence[Mapping[str, Any]], bound: Bound = Bound.EXACT) -> None:
        self.title = title
        self.bound = bound
        self._rows = tuple(rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns. A table without rows has none."""
        return tuple(self._rows[0]) if self._rows else ()

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, as `pandas.DataFrame` takes them."""
        return {name: self[name] for name in self.columns}

    @overload
    def __getitem__(self, key: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Table": ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> "Mapping[str, Any] | Table | list[Any]":
        if isinstance(key, str):
            return [row[key] for row in self._rows]
        return Table(self.title, self._rows[key], self.bound) if isinstance(key, slice) else self._rows[key]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return table_text(self.title, self._rows, self.bound)

    def _repr_html_(self) -> str:
        return table_html(self.title, self._rows, self.bound)
