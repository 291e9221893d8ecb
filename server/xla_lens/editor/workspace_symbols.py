"""Workspace symbols: search hundreds of dump sets for modules, allocations and values by name and size.

A query is a list of words in any order: sizes such as `>1GiB` or `<=4KiB`, and the text to find in names. The text
matches anywhere in a name, ignoring case. Exact names come first, then prefixes, then the others; larger ones first
among equals.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xla_lens.model.summary import Entries, EntryKind, SetSummary
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Warrants
from xla_lens.syntax.columns import NONE, Column, Mask
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import encode
from xla_lens.words.numbers import human, parse_size
from xla_lens.words.warrants import warranted_size


class Query(NamedTuple):
    """A text to find in names, and inclusive bounds of sizes; None for no bound."""

    text: str = ""
    least_bytes: int | None = None
    most_bytes: int | None = None


_BOUND: Final = lazy_pattern(r"([<>]=?)(.+)")


def parse_query(text: str) -> Query:
    """Return the query that a text stands for. Words that are no bounds are the text to find."""
    words, least, most = [], list[int](), list[int]()
    for word in text.split():
        match = _BOUND.fullmatch(word)
        size_bytes = parse_size(match[2]) if match else None
        if match is None or size_bytes is None:
            words.append(word)
        elif match[1].startswith(">"):
            least.append(size_bytes + (match[1] == ">"))
        else:
            most.append(size_bytes - (match[1] == "<"))
    return Query(" ".join(words), max(least, default=None), min(most, default=None))


class WorkspaceSymbol(NamedTuple):
    """A match. Its name is in the file `label`, at `row` from `start_column` to `end_column`, in the encoding of its
    summary; a module is the whole file. `peak_bytes` is the peak of the memory space if the match is live there. Texts
    that do not apply are empty, numbers NONE.
    """

    name: str
    kind: EntryKind
    module: str
    file_kind: FileKind
    label: str
    row: int
    start_column: int
    end_column: int
    size_bytes: int
    space: SpaceId | None
    allocation_kind: str
    peak_bytes: int
    warrants: Warrants


class Found(NamedTuple):
    """The best matches. `is_truncated` says that the list is truncated."""

    symbols: tuple[WorkspaceSymbol, ...]
    is_truncated: bool


def container_text(symbol: WorkspaceSymbol) -> str:
    """Return the container of a symbol, in words that a client may filter by:
    ``jit_step · buffer-assignment · 1.42 GiB · temp · live at the peak``.
    """
    is_module, live = symbol.kind is EntryKind.MODULE, symbol.warrants.live
    size = f"peak {warranted_size(symbol.size_bytes, live)}" if is_module else human(symbol.size_bytes)
    parts = (
        "" if is_module else symbol.module,
        symbol.file_kind.value,
        size if symbol.size_bytes != NONE else "",
        symbol.allocation_kind,
        symbol.space.name if symbol.space and symbol.space.color else "",
        "live at the peak" if symbol.peak_bytes != NONE and live.is_known else "",
    )
    return " · ".join(filter(None, parts))


def search(summaries: Sequence[SetSummary], query: Query, limit: int) -> Found:
    """Return the `limit` best matches of a query. Without a text, modules come first, by peak, and then the largest; an
    empty query leaves out values.
    """
    text = encode(query.text).lower()
    matches = [_matches(summary.entries, text, _fits(summary.entries, query)) for summary in summaries]
    count = sum(len(rows) for rows, _ in matches)
    is_truncated = any(summary.is_truncated for summary in summaries)
    return Found(tuple(_best(summaries, matches, limit)), is_truncated or count > limit)


_Matches: TypeAlias = tuple[Column, Column]
"""The rows of the matching entries of a set, and their ranks: 0 for a label that is the text, 1 for one that begins
with it, else 2.
"""


def _fits(entries: Entries, query: Query) -> Mask:
    """Which entries match the bounds. An empty query leaves out values."""
    fits = entries.kind != EntryKind.VALUE if query == Query() else np.ones(len(entries), np.bool_)
    if query.least_bytes is not None:
        fits &= entries.size_bytes >= query.least_bytes
    if query.most_bytes is not None:
        fits &= (entries.size_bytes <= query.most_bytes) & (entries.size_bytes != NONE)
    return fits


def _matches(entries: Entries, text: bytes, fits: Mask) -> _Matches:
    """The entries that match the bounds and have a text in their label."""
    if not text:
        rows = np.flatnonzero(fits)
        return rows, np.where(entries.kind[rows] == EntryKind.MODULE, 0, 2)
    if text not in entries.folded:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Change the first byte of each occurrence and compare: a million names take 20 to 40 ms.
    marked = entries.folded.replace(text, bytes([text[0] ^ 1]) + text[1:])
    hits = np.flatnonzero(np.frombuffer(marked, np.uint8) != np.frombuffer(entries.folded, np.uint8))
    rows = entries.label_start.searchsorted(hits, "right") - 1
    is_wanted = np.append(True, rows[1:] != rows[:-1])[: len(rows)] & fits[rows]
    hits, rows = hits[is_wanted], rows[is_wanted]
    is_prefix = hits == entries.label_start[rows]
    is_exact = is_prefix & (hits + len(text) + 1 == entries.label_start[rows + 1])
    return rows, 2 - is_prefix.astype(np.int64) - is_exact


def _best(summaries: Sequence[SetSummary], matches: Sequence[_Matches], limit: int) -> Iterator[WorkspaceSymbol]:
    """The best matches of all sets. Equal ones keep the order of the sets; an allocation comes before its value."""
    # The rows are sorted by size.
    firsts = [np.argsort(ranks, kind="stable")[:limit] for _, ranks in matches]
    chosen = [
        (np.full(len(first), number), rows[first], ranks[first], summary.entries.size_bytes[rows[first]])
        for number, (summary, first, (rows, ranks)) in enumerate(zip(summaries, firsts, matches, strict=True))
    ]
    if not chosen:
        return
    numbers, rows, ranks, sizes = (np.concatenate(columns).astype(np.int64) for columns in zip(*chosen, strict=True))
    for place in np.lexsort((-sizes, ranks))[:limit].tolist():
        yield _symbol(summaries[numbers[place]], rows.item(place))


def _symbol(summary: SetSummary, row: int) -> WorkspaceSymbol:
    entries = summary.entries
    cells = (entries.file, entries.row, entries.column, entries.width, entries.color, entries.allocation_kind)
    file, line, start, width, color, allocation_kind = (column.item(row) for column in cells)
    space = SpaceId(color, summary.backend) if color != NONE else None
    peaks = (each_space.peak_live_bytes for each_space in summary.spaces if space and each_space.id == space.memory)
    return WorkspaceSymbol(
        name=entries.label(row),
        kind=EntryKind(entries.kind.item(row)),
        module=summary.module,
        file_kind=summary.files[file][1],
        label=summary.files[file][0],
        row=line,
        start_column=start,
        end_column=start + width,
        size_bytes=entries.size_bytes.item(row),
        space=space,
        allocation_kind=KIND_NAMES[allocation_kind] if allocation_kind != NONE else "",
        peak_bytes=next(peaks, NONE) if entries.is_at_peak[row] else NONE,
        warrants=summary.warrants,
    )
