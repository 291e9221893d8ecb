"""Summaries of dump sets that are not open."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from samples import (
    DUMPS,
    SEED,
    SHARED_DUMPS,
    analysis_of,
    analysis_of_text,
    dump_file,
    facts,
    on_all_dumps,
)
from xla_lens.model import summary as summary_module
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.summary import ENTRY_LIMIT, Entries, EntryKind, SetSummary, summarise
from xla_lens.syntax.columns import NONE
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_offset

_SAMPLES = 200


def _size_bytes(entries: Entries) -> int:
    columns = (getattr(entries, field.name) for field in fields(entries))
    texts = len(entries.labels) + (0 if entries.folded is entries.labels else len(entries.folded))
    return texts + sum(column.nbytes for column in columns if isinstance(column, np.ndarray))


def _check_places(analysis: Analysis, summary: SetSummary) -> int:
    """Check that the text at the places of some entries is their label. Return the number of entries checked."""
    entries, files = summary.entries, analysis.dump.files
    rows = np.unique(np.linspace(0, len(entries) - 1, min(_SAMPLES, len(entries))).astype(int)).tolist()
    for row in rows:
        document = files[entries.file[row]].document
        start = to_offset(document, int(entries.row[row]), int(entries.column[row]), Encoding.UTF16)
        text = document.data[start : start + int(entries.width[row])].decode()
        assert text == ("" if entries.kind[row] == EntryKind.MODULE else entries.label(row))
    return len(rows)


def _check_entries(analysis: Analysis, summary: SetSummary) -> None:
    entries, dump, memory = summary.entries, analysis.dump, analysis.memory
    assert np.all(np.diff(entries.size_bytes.astype(np.int64)) <= 0)
    assert list(summary.files) == [(file.label, file.kind) for file in dump.files]
    kept = [np.count_nonzero(entries.kind == kind) for kind in EntryKind]
    assert kept == [1, min(summary.allocation_count, ENTRY_LIMIT), min(summary.value_count, ENTRY_LIMIT)]
    allocations = np.flatnonzero(entries.kind == EntryKind.ALLOCATION)
    for row in allocations[:: max(1, len(allocations) // 20)].tolist():
        allocation = dump.allocation_row(int(entries.label(row).split()[1]))
        most = memory.allocation(allocation).peak_bytes
        assert max(int(entries.most_live_bytes[row]), 0) == most
        assert entries.size_bytes[row] == dump.allocations.size_bytes[allocation]
    values = dump.values
    for space in memory.spaces:
        at_peak = (entries.kind == EntryKind.VALUE) & (entries.color == space.color) & entries.is_at_peak
        step = NONE if space.peak_step is None else space.peak_step
        is_live = (values.start_step <= step) & (step <= values.end_step) & (values.size_bytes > 0) & (step != NONE)
        is_placed = (values.color == space.color) & (values.slice != NONE)
        assert summary.is_truncated or np.count_nonzero(at_peak) == np.count_nonzero(is_live & is_placed)
        assert summary.is_truncated or entries.size_bytes[at_peak].sum() >= space.peak_live_bytes


def _check(analysis: Analysis) -> dict[str, Any]:
    """The facts of an independent parser, computed from a summary."""
    summary = summarise(analysis, Encoding.UTF16)
    assert _check_places(analysis, summary)
    _check_entries(analysis, summary)
    entries = summary.entries
    assert _size_bytes(entries) < 80 * len(entries) + 500
    if not summary.is_truncated:
        allocations = entries.kind == EntryKind.ALLOCATION
        assert {
            space.color: int(entries.size_bytes[allocations & (entries.color == space.color)].astype(np.int64).sum())
            for space in summary.spaces
        } == {space.color: space.reserved_bytes for space in summary.spaces}
    return {
        "allocations": summary.allocation_count,
        "values": summary.value_count,
        "memory_spaces": [
            (space.color, space.reserved_bytes, space.peak_live_bytes, space.peak_step) for space in summary.spaces
        ],
    }


def _expected(fact: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The facts, with the computed peaks if the release prints none."""
    spaces = [
        (space["color"], space["reserved_bytes"], space.get("peak_live_bytes", peak), space.get("peak_step", step))
        for space, (*_, peak, step) in zip(fact["memory_spaces"], found["memory_spaces"], strict=True)
    ]
    return {"allocations": fact["allocations"], "values": fact["values"], "memory_spaces": spaces}


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_summaries_match_the_facts(fact: dict[str, Any]) -> None:
    found = _check(analysis_of(DUMPS / fact["file"]))
    assert found == _expected(fact, found)


@on_all_dumps(_check)
def test_summaries_match_the_facts_on_all_dumps(of_all_dumps: Mapping[str, dict[str, Any]]) -> None:
    expected = facts(SHARED_DUMPS)
    assert of_all_dumps == {fact["file"]: _expected(fact, of_all_dumps[fact["file"]]) for fact in expected}
    assert len(expected) == 286


def test_the_biggest_entries_are_kept_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_module, "ENTRY_LIMIT", 2)
    summary = summarise(analysis_of(SEED), Encoding.UTF16)
    labels = [summary.entries.label(row) for row in range(len(summary.entries))]
    assert labels == ["001_491faa5ce21a17c6", "allocation 0", "allocation 4", "param", "fusion"]
    assert summary.is_truncated
    assert (summary.allocation_count, summary.value_count) == (5, 6)


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
