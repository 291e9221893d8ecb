"""The numbers of each dump set, compared with those of an independent line parser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from samples import DUMPS, SHARED_DUMPS, analysis_of, facts, on_all_dumps
from xla_lens.files import find_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.codes import Code
from xla_lens.syntax.file_names import SUFFIXES


def _own_facts(analysis: Analysis) -> dict[str, Any]:
    dump = analysis.dump
    has_peak = len(dump.peaks) > 0
    step = int(dump.peaks.step[0]) if has_peak else None
    spaces = []
    for space in analysis.memory.spaces:
        fact: dict[str, Any] = {"color": space.color, "reserved_bytes": space.reserved_bytes}
        if step is not None:
            fact |= {
                "peak_live_bytes": space.peak_live_bytes,
                "peak_step": space.peak_step,
                "live_bytes_at_printed_peak": space.live.at(step),
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
    assert len(expected) == 286


@pytest.mark.parametrize("fact", facts(DUMPS), ids=lambda fact: fact["file"])
def test_numbers_match_the_facts_for_dumps_on_standard_output(fact: dict[str, Any], tmp_path: Path) -> None:
    files = {kind: path.read_text() for kind, path in find_set(DUMPS / fact["file"]).paths.items()}
    text = "*** Begin module_0000.debug_options ***\nxla: 1\n*** End module_0000.debug_options ***\n"
    for kind, content in files.items():
        name = f"module_0000.f.cpu_after_optimizations{SUFFIXES[kind]}"
        text += f"*** Begin {name} ***\n{content}\n*** End {name} ***\n"
    output = tmp_path / "output.txt"
    output.write_text(text)
    analysis = analysis_of(output)
    assert {"file": fact["file"], **_own_facts(analysis)} == fact
    assert not [finding for finding in analysis.findings if finding.code is not Code.PEAK_UNDERSTATED]


@pytest.mark.parametrize("path", [DUMPS / fact["file"] for fact in facts(DUMPS)], ids=lambda path: path.parent.name)
def test_live_bytes_match_a_count_of_every_byte(path: Path) -> None:
    """The literal definition: at each step, the bytes that some live slice covers."""
    analysis = analysis_of(path)
    values = analysis.dump.values
    placed = [row for row in range(len(values)) if values.slice[row] >= 0 and values.live_range[row] >= 0]
    ends = [int(values.end_step[row]) for row in placed]
    for space in analysis.memory.spaces:
        peak = 0
        for step in range(0, max(ends, default=0) + 2, max(1, max(ends, default=0) // 60)):
            covered = _covered(analysis, placed, space.color, step)
            assert space.live.at(step) == covered
            peak = max(peak, covered)
        assert peak <= space.peak_live_bytes
        if space.peak_step is not None:
            assert _covered(analysis, placed, space.color, space.peak_step) == space.peak_live_bytes
            assert space.live.at(space.peak_step - 1) < space.peak_live_bytes


def _covered(analysis: Analysis, placed: list[int], color: int, step: int) -> int:
    values = analysis.dump.values
    intervals = sorted(
        (int(values.allocation[row]), int(values.offset[row]), int(values.offset[row] + values.size_bytes[row]))
        for row in placed
        if values.color[row] == color and values.start_step[row] <= step <= values.end_step[row]
    )
    covered, reached = 0, (-1, 0)
    for allocation, start, end in intervals:
        low = max(start, reached[1]) if allocation == reached[0] else start
        covered += max(0, end - low)
        reached = (allocation, max(end, reached[1]) if allocation == reached[0] else end)
    return covered
