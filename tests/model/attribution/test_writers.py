"""Which instruction writes the content of a value: through loops, fusions, copies, calls and asynchronous operations.

The expected instructions were read in the HLO text by hand, and their lines in the programs that the dumps were made
from.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import (
    SHARED_DUMPS,
    SPLIT,
    WHILE,
    analysis_of,
    assignments,
    module_of,
    module_of_text,
    needs_shared_dumps,
)
from xla_lens.disk.sets import find_set
from xla_lens.model.attribution.breakdowns import bytes_by_line
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.writers import Writers
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import Calls
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind


def _origin(path: Path, label: str, *, through_loops: bool = True) -> Origin:
    """The origin of the value with a label such as ``while.60{6}``."""
    dump = analysis_of(path).dump
    name, brace, index = label.partition("{")
    value = dump.value_at(
        dump.name_number(name.encode()), dump.index_number((brace + index).encode()) if brace else NONE
    )
    assert value != NONE, label
    return Origins(dump, module_of(path), through_loops=through_loops).of_value(value)


def _out_of_memory() -> Path:
    return next(SHARED_DUMPS.glob("tpu-v5e-oom-*/*/*-buffer-assignment.txt"))


@pytest.mark.parametrize("path", [SPLIT, WHILE], ids=lambda path: path.parent.name)
def test_only_callers_are_those_that_instructions_name(path: Path) -> None:
    module = module_of(path)
    table = module.columns.instructions
    callers: dict[int, set[int]] = {}
    for row in range(len(table)):
        for _, _, computation in module.called(table.start.item(row), table.end.item(row)):
            callers.setdefault(computation, set()).add(row)
    assert callers
    assert module.only_callers.tolist() == [
        min(rows) if len(rows := callers.get(computation, set())) == 1 else NONE
        for computation in range(len(module.columns.computations))
    ]


def test_writers_are_found_without_a_search_of_the_module_for_each_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module can have ten thousand computations, and a hundred megabytes."""
    dump = analysis_of(WHILE).dump
    origins = Origins(dump, module_of(WHILE), through_loops=True)
    monkeypatch.setattr(HloModule, "words_like", lambda *_: pytest.fail("the whole module is searched"))
    assert any(origins.of_value(value).derived for value in range(len(dump.values)))


@needs_shared_dumps
def test_what_a_scan_stacks_belongs_to_the_line_in_its_body() -> None:
    origin = _origin(_out_of_memory(), "while.60{6}")
    assert origin.op_name == "jit(train_step)/jvp()/while/body/closed_call/mlp/reduce_precision"
    assert origin.derived
    assert origin.derived.name == "reduce_precision.104"
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
def test_bytes_by_line_add_up_to_the_peak() -> None:
    analysis, module = analysis_of(_out_of_memory()), module_of(_out_of_memory())
    for space in analysis.memory.spaces:
        assert space.peak_step is not None
        found = bytes_by_line(analysis.dump, module, space.peak_step, space.color)
        assert sum(line.size_bytes for line in found.lines) == space.peak_live_bytes
        assert all(0 <= line.derived_bytes <= line.size_bytes for line in found.lines)


# ---------------------------------------------------------------- a sample, read by hand

_SETS = {
    # Three nested loops: lines 246 to 249 of the program.
    "triple": "cpu-jaxlib0.10.2/while_loops/module_0030",
    # Two nested loops, in a module without `%` whose inner loop has no metadata.
    "nested": "cpu-jaxlib0.4.30/while_loops/module_0001",
    # The same program for a GPU: a fused gemm, and copies around the loops.
    "gpu": "gpu-h100-jaxlib0.10.2/while_loops/module_0670",
    "gpu-inplace": "gpu-h100-jaxlib0.10.2/while_loops/module_1333",
    # A `dynamic-update-slice` that the program itself makes in a loop.
    "tpu-inplace": "tpu-v5p-jaxlib0.4.38-libtpu0.0.7.1/while_loops/module_0074",
    "offload": "tpu-v5e2x2-libtpu0.0.51/host_offload/module_0000",
    "same": "cpu-jaxlib0.10.2/donation/module_0006",
    "scan": "tpu-v5e-oom-libtpu0.0.51/llama3_8b_scan_L32/module_0000",
}

_READ_BY_HAND = """
triple      while.24{0}             add.5                         248
triple      while.24{1}             add.7                         246
triple      while.24{2}             mul.0                         247
triple      while.14{0}             add.6                         247
triple      while.14{1}             add.7                         246
triple      while.14{2}             mul.0                         247
triple      while{0}                add.7                         246
triple      arg_tuple.0{0}          add.7                         246
triple      arg_tuple.6{2}          mul.0                         247
triple      copy.8                  mul.0                         247
triple      copy.15                 add.5                         248
triple      copy.3                  add.5                         248
triple      copy.21                 x.1                           -
triple      copy.22                 -                             -
triple      wrapped_reduce-window   -                             -
nested      while.8{0}              add.36                        238
nested      while.8{1}              dot.3                         237
nested      while.9{0}              add.37                        237
nested      while.9{1}              add.40                        236
nested      copy.1                  dot.3                         237
nested      copy.2                  add.37                        237
nested      copy.8                  add.36                        238
nested      copy.11                 dot.3                         237
nested      copy.12                 Arg_0.1                       -
gpu         while.29{0}             add.43.1                      238
gpu         while.29{1}             dot_general.6                 237
gpu         while.30{0}             add.45.1                      237
gpu         while.30{1}             add.48.1                      236
gpu         arg_tuple.13{1}         dot_general.6                 237
gpu         arg_tuple.14{1}         add.48.1                      236
gpu         copy.1                  dot_general.6                 237
gpu         copy.11                 dot_general.6                 237
gpu         copy.17                 constant_28_0                 238
gpu-inplace while.2{0}              add.43.1                      240
gpu-inplace while.2{1}              dynamic-update-slice.6.1      240
tpu-inplace while.3{1}              dynamic-update-slice.8        240
tpu-inplace copy-start{0}           dynamic-update-slice.8        240
offload     copy-start{0}           broadcast_multiply_fusion     81
offload     copy-start.1{0}         broadcast_multiply_fusion     81
offload     copy-start.2{0}         x.1                           -
same        copy.2                  a.1                           -
same        copy.3                  a.1                           -
scan        while.60{2}             reduce_precision.107          21
scan        while.60{3}             reduce_precision.106          21
scan        while.60{4}             reduce_precision.105          21
scan        while.60{5}             reduce_precision.72.clone.3   25
scan        while.60{6}             reduce_precision.104          31
scan        while.60{7}             reduce_precision.103          31
scan        while.60{8}             add.443.clone.3               32
scan        wide.param.0{4}         convolution.108               31
scan        wide.param.0{6}         convolution.106               31
scan        wide.param.0{7}         convolution.105               21
scan        wide.param.0{8}         convolution.104               25
"""
"""The set, a value, its writer, and the line of that. The two without a writer are a constant, and a `reduce-window`
that copies nothing.
"""


@needs_shared_dumps
@pytest.mark.parametrize("row", _READ_BY_HAND.strip().split("\n"))
def test_writers_are_those_read_by_hand(row: str) -> None:
    name, label, writer, line = row.split()
    origin = _origin(next(SHARED_DUMPS.glob(f"{_SETS[name]}*-buffer-assignment.txt")), label)
    found = (origin.derived and origin.derived.name, origin.line and origin.line.line)
    assert tuple(str(one or "-") for one in found) == (writer, line)


# ---------------------------------------------------------------- what must not be claimed


def _derived(dump: DumpSet, module: HloModule) -> dict[int, Origin]:
    found = Origins(dump, module)
    return {value: origin for value in range(len(dump.values)) if (origin := found.of_value(value)).derived}


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [(rb"stack_frame_id=(\d)", rb"stack_frame_id=1\1"), (rb"(?<=[\[,])(\d)", rb"1\1"), (rb'op_name="', rb'op_name="x')],
)
def test_module_of_another_compilation_says_nothing(pattern: bytes, replacement: bytes) -> None:
    """Its instructions have the same names, but other frames, shapes or op_names."""
    analysis, module = analysis_of(SPLIT), module_of(SPLIT)
    assert _derived(analysis.dump, module)
    other = module_of_text(re.sub(pattern, replacement, module.data))
    found, own = Origins(analysis.dump, other), Origins(analysis.dump, None)
    for value in range(len(analysis.dump.values)):
        assert found.of_value(value) == own.of_value(value)


def _damaged(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Modules that are cut off, that call themselves, whose names are exchanged and whose lines are gone."""
    lines = data.splitlines(keepends=True)
    names = re.findall(rb"%?([\w.-]+) = ", data)
    computations = re.findall(rb"^(?:ENTRY )?%?([\w.-]+) (?:\(.*)?\{", data, re.MULTILINE)
    yield data[: chance.randrange(len(data))]
    yield b"".join(line for line in lines if chance.random() > 0.1)
    yield re.sub(
        rb"(body|calls|to_apply|condition)=%?[\w.-]+", lambda key: key[1] + b"=%" + chance.choice(computations), data
    )
    yield re.sub(rb"\(%?([\w.-]+)", lambda _: b"(%" + chance.choice(names), data)
    yield re.sub(rb", metadata=\{[^{}]*\}", b"", data)
    yield re.sub(rb"index=\d+", lambda _: b"index=%d" % chance.randrange(12), data)
    yield re.sub(rb"parameter\(\d+\)", lambda _: b"parameter(%d)" % chance.randrange(1 << 40), data)
    yield re.sub(rb" ([a-z-]+)\(", lambda _: b" " + chance.choice(_OPCODES) + b"(", data)
    yield data.replace(b"ROOT ", b"")


_OPCODES = (
    b"while conditional fusion call tuple get-tuple-element copy copy-start copy-done "
    b"async-start async-update async-done dynamic-update-slice dynamic-slice bitcast parameter"
).split()


@pytest.mark.parametrize("path", [path for path in assignments() if FileKind.HLO in find_set(path).paths], ids=str)
def test_damaged_modules_are_survived_and_sums_stay_exact(path: Path) -> None:
    analysis, chance = analysis_of(path), random.Random(0)
    for data in _damaged(module_of(path).data, chance):
        module = module_of_text(data)
        _derived(analysis.dump, module)
        for space in analysis.memory.spaces:
            if space.peak_step is not None:
                found = bytes_by_line(analysis.dump, module, space.peak_step, space.color)
                assert sum(line.size_bytes for line in found.lines) == space.peak_live_bytes


def test_long_ways_end() -> None:
    """Thousands of instructions without metadata, each of which reads the one before."""
    steps = 3000
    lines = ["  %a0 = f32[4]{0} parameter(0)"]
    lines += [f"  %a{row} = f32[4]{{0}} copy(%a{row - 1})" for row in range(1, steps)]
    text = "HloModule m\n\nENTRY %e (a: f32[4]) -> f32[4] {\n" + "\n".join(lines) + "\n}\n\n"
    writers = _writers(text)
    assert all(writers.writer(row, ()) is None for row in range(steps))
    shallow = text.replace("parameter(0)", 'parameter(0), metadata={op_name="x"}')
    found = _writers(shallow).writer(20, ())
    assert found
    assert found.row == 0


def _writers(text: str) -> Writers:
    module = module_of_text(text.encode())
    return Writers(module, Calls(module.frames), through_loops=True)
