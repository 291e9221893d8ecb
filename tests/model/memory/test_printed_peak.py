"""The peak step computed as XLA does, compared with the step that XLA prints."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from samples import SEED, SPLIT, analysis_of, analysis_of_text, on_dumps, on_each_dump, parsed_instruction
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.memory.printed_peak import (
    CountedBytes,
    explain_counted,
    explain_printed_peak,
    xla_peak_step,
)
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.syntax.tree import parse_hlo


@on_dumps
def test_computed_step_is_the_printed_step_and_terms_add_up(analysis: Analysis) -> None:
    dump, memory = analysis.dump, analysis.memory
    if len(dump.peaks):
        assert xla_peak_step(dump) == dump.peaks.step[0]
    peak = explain_printed_peak(dump, memory)
    assert (peak is None) == (not len(dump.peaks))
    if peak:
        assert peak.listed
        assert peak.counted_at_printed
        assert (peak.listed.total_bytes, peak.listed.died_bytes) == (int(dump.peak_buffers.size_bytes.sum()), 0)
        assert (peak.counted_at_peak is None) == (memory.spaces[0].peak_step is None)
        for explained in (peak.listed, peak.counted_at_printed, peak.counted_at_peak):
            if explained:
                _check_identity(analysis, explained)
        if peak.counted_at_peak:
            assert peak.counted_at_printed.total_bytes >= peak.counted_at_peak.total_bytes
    for step in np.linspace(-1, (dump.last_step or 0) + 2, 9).astype(int).tolist():
        explained = explain_counted(dump, memory, step)
        assert explained
        is_counted = (dump.values.start_step <= step) & (step <= dump.values.end_step + 1)
        assert explained.total_bytes == dump.whole_bytes[is_counted & (dump.values.live_range != NONE)].sum()
        _check_identity(analysis, explained)


def _check_identity(analysis: Analysis, explained: CountedBytes) -> None:
    """The terms by their definitions, value by value."""
    dump, step, color = analysis.dump, explained.step, explained.color
    space = analysis.memory.space(color)
    assert explained.live_bytes == (space.live.at(step) if space else 0)
    assert explained.total_bytes == (
        explained.live_bytes
        + explained.died_bytes
        + explained.tuple_bytes
        + explained.other_space_bytes
        + explained.shared_bytes
        - explained.padding_bytes
        + explained.unplaced_bytes
    )
    assert explained.shared_bytes >= 0
    live = np.flatnonzero(
        (dump.values.live_range != NONE) & (dump.values.start_step <= step) & (step <= dump.values.end_step)
    )
    here = live[dump.values.space[live] == color]
    assert explained.other_space_bytes + dump.logical_bytes[here].sum() == dump.logical_bytes[live].sum()
    assert explained.padding_bytes == (dump.values.size_bytes[here] - dump.logical_bytes[here]).sum()
    assert explained.unplaced_bytes == 0


def test_printed_peak_of_a_dump_from_2022_is_explained() -> None:
    analysis = analysis_of(SEED)
    peak = explain_printed_peak(analysis.dump, analysis.memory)
    assert peak
    assert peak.is_understated
    assert peak.step == 5
    nothing_else = {"other_space_bytes": 0, "tuple_bytes": 0, "padding_bytes": 0, "unplaced_bytes": 0, "color": 0}
    listed = CountedBytes(
        step=5, total_bytes=335_872, live_bytes=331_776, died_bytes=0, shared_bytes=4_096, **nothing_else
    )
    assert peak.listed == listed
    # XLA chose this step because of a value that ended one step earlier.
    assert peak.counted_at_printed == replace(listed, total_bytes=598_016, died_bytes=262_144)
    assert peak.counted_at_peak == replace(listed, step=4, total_bytes=593_920, live_bytes=593_920, shared_bytes=0)


def test_terms_are_unknown_for_unknown_shapes() -> None:
    files = analysis_of(SPLIT).dump.files
    only_live = analyse(file for file in files if file.kind is FileKind.LIVE_RANGE)
    peak = explain_printed_peak(only_live.dump, only_live.memory)
    assert peak
    assert peak.is_understated is None
    assert (peak.listed, peak.counted_at_printed, peak.counted_at_peak) == (None, None, None)
    assert xla_peak_step(only_live.dump) is None
    assert explain_counted(only_live.dump, only_live.memory, peak.step) is None

    text = SEED.read_text().replace("f32[64,16]{1,0}", "<unknown shape>")
    unknown = analysis_of_text(text)
    assert xla_peak_step(unknown.dump) is None
    assert explain_counted(unknown.dump, unknown.memory, 4) is None


@on_each_dump
def test_counted_sizes_match_the_parsed_shapes(path: Path) -> None:
    dump = analysis_of(path).dump
    for value in range(len(dump.values)):
        assert dump.logical_bytes[value] == _byte_size(dump.shape(value) or b"")
        instruction = parsed_instruction(dump, int(dump.values.name[value]))
        if instruction:
            assert dump.whole_bytes[value] == _byte_size(instruction.shape)


def _byte_size(text: bytes) -> int:
    """The bytes of a shape as the grammar reads it: eight for each element of a tuple."""
    node = next(iter(parse_hlo(text).named_children), None)
    if node and node.type == "tuple_shape":
        return 8 * len(node.children_by_field_name("element"))
    shape = parse_shape(text)
    return NONE if shape is None or shape.byte_size is None else shape.byte_size
