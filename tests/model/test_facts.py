"""The numbers of each dump set, compared with those of an independent line parser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from byte_by_byte import live_after
from samples import DUMPS, SHARED_DUMPS, analysis_of, facts, on_all_dumps
from xla_lens.model.analysis import Analysis


def _own_facts(analysis: Analysis) -> dict[str, Any]:
    dump = analysis.dump
    has_peak = len(dump.peaks) > 0
    step = int(dump.peaks.step[0]) if has_peak else None
    spaces = []
    parts = (part for space in analysis.memory.spaces for part in space.colors)
    for part in sorted(parts, key=lambda part: part.color):
        fact: dict[str, Any] = {"color": part.color, "reserved_bytes": part.reserved_bytes}
        if step is not None:
            fact |= {
                "peak_live_bytes": part.live.peak_bytes,
                "peak_step": part.live.peak_step,
                "live_bytes_at_printed_peak": part.live.at(step),
            }
        spaces.append(fact)
    return {
        "allocations": len(dump.allocations),
        "values": len(dump.values),
        "instructions": len(dump.schedule),
        "reserved_bytes": sum(space.reserved_bytes for space in analysis.memory.spaces),
        "printed": {
            "total_bytes": int(dump.totals.size_bytes[0]),
            "peak_step": step,
            "peak_bytes": int(dump.peak_buffers.size_bytes.sum()) if has_peak else None,
        },
        "memory_spaces": spaces,
    }


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_numbers_match_the_facts(fact: dict[str, Any]) -> None:
    assert {"file": fact["file"], **_own_facts(analysis_of(DUMPS / fact["file"]))} == fact


@on_all_dumps(_own_facts)
def test_numbers_match_the_facts_on_all_dumps(of_all_dumps: Mapping[str, dict[str, Any]]) -> None:
    expected = facts(SHARED_DUMPS)
    assert [{"file": file, **found} for file, found in of_all_dumps.items()] == expected
    assert len(expected) >= 475


@pytest.mark.parametrize("path", [DUMPS / fact["file"] for fact in facts(DUMPS)], ids=lambda path: path.parent.name)
def test_live_bytes_match_a_count_of_every_byte(path: Path) -> None:
    """The literal definition: at each step, the bytes that some live slice covers."""
    analysis = analysis_of(path)
    for space in analysis.memory.spaces:
        counted = live_after(analysis.dump, space.color, {})
        assert {step: space.live.at(step) for step in counted} == counted
        assert max(counted.values(), default=0) == space.peak_live_bytes
