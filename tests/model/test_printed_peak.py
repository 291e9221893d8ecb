"""XLA's own way to its peak, against the step that it prints."""

from pathlib import Path

import numpy as np
import pytest

from samples import SHARED_DUMPS, analysis_of, assignments, big_dumps, facts, needs_shared_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.printed_peak import counted_bytes, xla_peak_step
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo import parse_shape


def _first_greatest(analysis: Analysis) -> int:
    values = analysis.dump.values
    starts = np.unique(values.start_step[values.live_range != NONE]).tolist()
    counted = {step: counted_bytes(analysis.dump, step) for step in starts}
    assert None not in counted.values()
    return max(starts, key=lambda step: counted[step] or 0)


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_finds_the_printed_step(path: Path) -> None:
    analysis = analysis_of(path)
    if len(analysis.dump.peaks):
        assert xla_peak_step(analysis.dump) == analysis.dump.peaks.step[0]
        assert _first_greatest(analysis) == analysis.dump.peaks.step[0]


@needs_shared_dumps
def test_finds_the_printed_step_of_all_dumps(tmp_path_factory: pytest.TempPathFactory) -> None:
    big, printed = big_dumps(tmp_path_factory.getbasetemp() / "big"), 0
    for fact in facts(SHARED_DUMPS):
        path = SHARED_DUMPS / fact["file"]
        dump = analysis_of.__wrapped__(path if path.is_file() else big / fact["file"]).dump
        if len(dump.peaks):
            assert xla_peak_step(dump) == dump.peaks.step[0], path
            printed += 1
    assert printed


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_sizes_are_those_of_the_parsed_shapes(path: Path) -> None:
    dump = analysis_of(path).dump
    for value in range(len(dump.values)):
        text = dump.shape(value)
        shape = parse_shape(text) if text is not None else None
        size = shape.byte_size if shape else None
        assert dump.logical_bytes[value] == (NONE if size is None else size)
        instruction = dump.instruction(int(dump.values.name[value]))
        whole = parse_shape(instruction.shape.encode()) if instruction else None
        if whole:
            assert dump.whole_bytes[value] == whole.byte_size
