"""Which instruction writes the content of a value: through loops, fusions, copies, calls and asynchronous operations.

The expected instructions were read in the HLO text by hand, and their lines in the programs that the dumps were made
from.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import SHARED_DUMPS, SPLIT, analysis_of, assignments, module_of, module_of_text, needs_shared_dumps
from xla_lens.files import find_set
from xla_lens.model.attribution.bytes_by_line import bytes_by_line
from xla_lens.model.attribution.frames import Origin, Origins, origins
from xla_lens.model.attribution.writers import Writers
from xla_lens.model.hlo.module import HloModule
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


# ---------------------------------------------------------------- a sample, read by hand

_TRIPLE = "cpu-jaxlib0.10.2/while_loops/module_0030*-buffer-assignment.txt"
"""Three nested loops: lines 246 to 249 of the program."""
_NESTED = "cpu-jaxlib0.4.30/while_loops/module_0001*-buffer-assignment.txt"
"""Two nested loops, in a module without `%` whose inner loop has no metadata."""
_GPU = "gpu-h100-jaxlib0.10.2/while_loops/module_0670*-buffer-assignment.txt"
"""The same program for a GPU: a fused gemm, and copies around the loops."""
_GPU_INPLACE = "gpu-h100-jaxlib0.10.2/while_loops/module_1333*-buffer-assignment.txt"
_TPU_INPLACE = "tpu-v5p-jaxlib0.4.38-libtpu0.0.7.1/while_loops/module_0074*-buffer-assignment.txt"
"""A `dynamic-update-slice` that the program itself makes in a loop."""
_OFFLOAD = "tpu-v5e2x2-libtpu0.0.51/host_offload/module_0000*-buffer-assignment.txt"
_SAME = "cpu-jaxlib0.10.2/donation/module_0006*-buffer-assignment.txt"
_SCAN = "tpu-v5e-oom-libtpu0.0.51/llama3_8b_scan_L32/module_0000*-buffer-assignment.txt"

_READ_BY_HAND = (
    (_TRIPLE, "while.24{0}", "add.5", 248),
    (_TRIPLE, "while.24{1}", "add.7", 246),
    (_TRIPLE, "while.24{2}", "mul.0", 247),
    (_TRIPLE, "while.14{0}", "add.6", 247),
    (_TRIPLE, "while.14{1}", "add.7", 246),
    (_TRIPLE, "while.14{2}", "mul.0", 247),
    (_TRIPLE, "while{0}", "add.7", 246),
    (_TRIPLE, "arg_tuple.0{0}", "add.7", 246),
    (_TRIPLE, "arg_tuple.6{2}", "mul.0", 247),
    (_TRIPLE, "copy.8", "mul.0", 247),
    (_TRIPLE, "copy.15", "add.5", 248),
    (_TRIPLE, "copy.3", "add.5", 248),
    (_TRIPLE, "copy.21", "x.1", None),
    # A constant, and a `reduce-window` that copies nothing.
    (_TRIPLE, "copy.22", None, None),
    (_TRIPLE, "wrapped_reduce-window", None, None),
    (_NESTED, "while.8{0}", "add.36", 238),
    (_NESTED, "while.8{1}", "dot.3", 237),
    (_NESTED, "while.9{0}", "add.37", 237),
    (_NESTED, "while.9{1}", "add.40", 236),
    (_NESTED, "copy.1", "dot.3", 237),
    (_NESTED, "copy.2", "add.37", 237),
    (_NESTED, "copy.8", "add.36", 238),
    (_NESTED, "copy.11", "dot.3", 237),
    (_NESTED, "copy.12", "Arg_0.1", None),
    (_GPU, "while.29{0}", "add.43.1", 238),
    (_GPU, "while.29{1}", "dot_general.6", 237),
    (_GPU, "while.30{0}", "add.45.1", 237),
    (_GPU, "while.30{1}", "add.48.1", 236),
    (_GPU, "arg_tuple.13{1}", "dot_general.6", 237),
    (_GPU, "arg_tuple.14{1}", "add.48.1", 236),
    (_GPU, "copy.1", "dot_general.6", 237),
    (_GPU, "copy.11", "dot_general.6", 237),
    (_GPU, "copy.17", "constant_28_0", 238),
    (_GPU_INPLACE, "while.2{0}", "add.43.1", 240),
    (_GPU_INPLACE, "while.2{1}", "dynamic-update-slice.6.1", 240),
    (_TPU_INPLACE, "while.3{1}", "dynamic-update-slice.8", 240),
    (_TPU_INPLACE, "copy-start{0}", "dynamic-update-slice.8", 240),
    (_OFFLOAD, "copy-start{0}", "broadcast_multiply_fusion", 81),
    (_OFFLOAD, "copy-start.1{0}", "broadcast_multiply_fusion", 81),
    (_OFFLOAD, "copy-start.2{0}", "x.1", None),
    (_SAME, "copy.2", "a.1", None),
    (_SAME, "copy.3", "a.1", None),
    (_SCAN, "while.60{2}", "reduce_precision.107", 21),
    (_SCAN, "while.60{3}", "reduce_precision.106", 21),
    (_SCAN, "while.60{4}", "reduce_precision.105", 21),
    (_SCAN, "while.60{5}", "reduce_precision.72.clone.3", 25),
    (_SCAN, "while.60{6}", "reduce_precision.104", 31),
    (_SCAN, "while.60{7}", "reduce_precision.103", 31),
    (_SCAN, "while.60{8}", "add.443.clone.3", 32),
    (_SCAN, "wide.param.0{4}", "convolution.108", 31),
    (_SCAN, "wide.param.0{6}", "convolution.106", 31),
    (_SCAN, "wide.param.0{7}", "convolution.105", 21),
    (_SCAN, "wide.param.0{8}", "convolution.104", 25),
)


@needs_shared_dumps
@pytest.mark.parametrize(("pattern", "label", "writer", "line"), _READ_BY_HAND)
def test_writers_are_those_read_by_hand(pattern: str, label: str, writer: str | None, line: int | None) -> None:
    origin = _origin(next(SHARED_DUMPS.glob(pattern)), label)
    assert (origin.derived and origin.derived.writer, origin.line and origin.line.line) == (writer, line)


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
    *(
        b"while",
        b"conditional",
        b"fusion",
        b"call",
        b"tuple",
        b"get-tuple-element",
        b"copy",
        b"copy-start",
        b"copy-done",
    ),
    *(
        b"async-start",
        b"async-update",
        b"async-done",
        b"dynamic-update-slice",
        b"dynamic-slice",
        b"bitcast",
        b"parameter",
    ),
)


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
    writers = Writers(module_of_text(text.encode()), through_loops=True)
    assert all(writers.writer(row, ()) is None for row in range(steps))
    shallow = text.replace("parameter(0)", 'parameter(0), metadata={op_name="x"}')
    found = Writers(module_of_text(shallow.encode()), through_loops=True).writer(20, ())
    assert found
    assert found.row == 0
