"""Summaries of dump sets that are not open."""

import numpy as np
import pytest

from samples import (
    SEED,
    analysis_of,
    analysis_of_text,
    dump_file,
    on_dumps,
)
from xla_lens.model import summary as summary_module
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.summary import ENTRY_LIMIT, Entries, EntryKind, SetSummary, summarise
from xla_lens.syntax.columns import NONE
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_offset

_SAMPLES = 200


def _size_bytes(entries: Entries) -> int:
    columns = (getattr(entries, name) for name in entries.__struct_fields__)
    texts = len(entries.labels) + (0 if entries.folded is entries.labels else len(entries.folded))
    return texts + sum(column.nbytes for column in columns if isinstance(column, np.ndarray))


def _check_places(analysis: Analysis, summary: SetSummary) -> None:
    """Check that the text at the places of some entries is their label."""
    entries, files = summary.entries, analysis.dump.files
    rows = np.unique(np.linspace(0, len(entries) - 1, min(_SAMPLES, len(entries))).astype(int)).tolist()
    for row in rows:
        document = files[entries.file[row]].document
        start = to_offset(document, int(entries.row[row]), int(entries.column[row]), Encoding.UTF16)
        text = document.data[start : start + int(entries.width[row])].decode()
        assert text == ("" if entries.kind[row] == EntryKind.MODULE else entries.label(row))


def _check_entries(analysis: Analysis, summary: SetSummary) -> None:
    entries, dump, memory = summary.entries, analysis.dump, analysis.memory
    assert np.all(np.diff(entries.size_bytes.astype(np.int64)) <= 0)
    assert list(summary.files) == [(file.label, file.kind) for file in dump.files]
    kept = [np.count_nonzero(entries.kind == kind) for kind in EntryKind]
    assert kept == [1, min(len(dump.allocations), ENTRY_LIMIT), min(len(dump.values), ENTRY_LIMIT)]
    allocations = np.flatnonzero(entries.kind == EntryKind.ALLOCATION)
    for row in allocations[:: max(1, len(allocations) // 20)].tolist():
        allocation = dump.allocation_row(int(entries.label(row).split()[1]))
        assert entries.size_bytes[row] == dump.allocations.size_bytes[allocation]
    values = dump.values
    for space in memory.spaces:
        colors = [part.color for part in space.colors]
        at_peak = (entries.kind == EntryKind.VALUE) & np.isin(entries.color, colors) & entries.is_at_peak
        step = NONE if space.peak_step is None else space.peak_step
        is_live = (values.start_step <= step) & (step <= values.end_step) & (values.size_bytes > 0) & (step != NONE)
        is_placed = np.isin(values.color, colors) & (values.slice != NONE)
        assert summary.is_truncated or np.count_nonzero(at_peak) == np.count_nonzero(is_live & is_placed)
        assert summary.is_truncated or entries.size_bytes[at_peak].sum() >= space.peak_live_bytes


@on_dumps
def test_summaries_have_the_numbers_of_the_analysis(analysis: Analysis) -> None:
    summary = summarise(analysis, Encoding.UTF16)
    _check_places(analysis, summary)
    _check_entries(analysis, summary)
    assert _size_bytes(summary.entries) < 80 * len(summary.entries) + 500
    for space, own in zip(summary.spaces, analysis.memory.spaces, strict=True):
        for name in ("color", "reserved_bytes", "peak_live_bytes", "peak_step"):
            assert getattr(space, name) == getattr(own, name)


def test_the_biggest_entries_are_kept_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_module, "ENTRY_LIMIT", 2)
    summary = summarise(analysis_of(SEED), Encoding.UTF16)
    labels = [summary.entries.label(row) for row in range(len(summary.entries))]
    assert labels == ["001_491faa5ce21a17c6", "allocation 0", "allocation 4", "param", "fusion"]
    assert summary.is_truncated


_GLUED = """\
Total bytes used: 0 (0B)

Used values:
<1 x @0>
 positions:
  x
 uses:
 from instruction: %x = f32[] add(f32[] %a, f32[] %b), metadata={op_name="é𝄞"}<2 naïve{0} @0>
 positions:
  naïve {0}
 uses:
"""


@pytest.mark.parametrize(("encoding", "before", "width"), [("utf-8", 6, 9), ("utf-16", 3, 8), ("utf-32", 2, 8)])
def test_columns_are_in_the_units_of_the_encoding(encoding: str, before: int, width: int) -> None:
    """Releases of 2024 print the header of a value right after an instruction, on the same line."""
    entries = summarise(analysis_of_text(_GLUED), Encoding(encoding)).entries
    row = next(row for row in range(len(entries)) if entries.label(row) == "naïve{0}")
    prefix = ' from instruction: %x = f32[] add(f32[] %a, f32[] %b), metadata={op_name=""}<2 '
    assert (entries.row[row], entries.column[row], entries.width[row]) == (7, len(prefix) + before, width)


def test_empty_and_broken_sets_have_a_summary() -> None:
    assert len(summarise(analyse([]), Encoding.UTF16).entries) == 0
    for text in (b"", b"\n", b"nothing\n", b"BufferAssignment:\nallocation 0: size x:\n value: <1 a @0>\n"):
        entries = summarise(analyse([dump_file(text)]), Encoding.UTF16).entries
        assert (len(entries), entries.label(0), entries.size_bytes[0]) == (1, "test", -1)
