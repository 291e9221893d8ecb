"""Which instruction writes the content of a value: through loops, fusions, copies, calls and asynchronous operations.

The expected instructions were read in the HLO text by hand, and their lines in the programs that the dumps were made
from.
"""

from pathlib import Path

import pytest

from samples import SHARED_DUMPS, analysis_of, module_of, needs_shared_dumps
from xla_lens.model.attribution.bytes_by_line import bytes_by_line
from xla_lens.model.attribution.frames import Origin, origins
from xla_lens.syntax.columns import NONE


def _origin(path: Path, label: str, *, through_loops: bool = True) -> Origin:
    """The origin of the value with a label such as ``while.60{6}``."""
    dump = analysis_of(path).dump
    name, brace, index = label.partition("{")
    value = dump.value_at(
        dump.name_number(name.encode()), dump.index_number((brace + index).encode()) if brace else NONE
    )
    assert value != NONE, label
    return origins(dump, module_of(path), [value], through_loops=through_loops)[value]


def _out_of_memory() -> Path:
    return next(SHARED_DUMPS.glob("tpu-v5e-oom-*/*/*-buffer-assignment.txt"))


@needs_shared_dumps
def test_what_a_scan_stacks_belongs_to_the_line_in_its_body() -> None:
    origin = _origin(_out_of_memory(), "while.60{6}")
    assert origin.op_name == "jit(train_step)/jvp()/while/body/closed_call/mlp/reduce_precision"
    assert origin.derived
    assert origin.derived.writer == "reduce_precision.104"
    stored = origin.derived.stored
    assert stored
    assert (stored.name, stored.count, stored.shape) == (
        "bitcast_dynamic-update-slice_fusion.30",
        32,
        "bf16[4,2048,14336]",
    )
    assert origin.line
    source = (SHARED_DUMPS / "programs" / "big_programs.py").read_text().splitlines()
    assert "p['w_gate']" in source[(origin.line.line or 0) - 1]
    before = _origin(_out_of_memory(), "while.60{6}", through_loops=False)
    assert before.derived is None
    assert before.line
    assert "lax.scan" in source[(before.line.line or 0) - 1]


@needs_shared_dumps
@pytest.mark.parametrize("through_loops", [True, False])
def test_bytes_by_line_add_up_to_the_peak(through_loops: bool) -> None:
    analysis, module = analysis_of(_out_of_memory()), module_of(_out_of_memory())
    for space in analysis.memory.spaces:
        assert space.peak_step is not None
        found = bytes_by_line(analysis.dump, module, space.peak_step, space.color, through_loops=through_loops)
        assert sum(line.size_bytes for line in found.lines) == space.peak_live_bytes
        assert all(0 <= line.derived_bytes <= line.size_bytes for line in found.lines)
