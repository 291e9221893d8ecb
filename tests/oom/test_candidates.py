"""Out-of-memory messages that are made from the text of real dumps, joined with these dumps."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from samples import PALLAS, SHARED_DUMPS, analysis_of, assignments, fact_of, facts, needs_shared_dumps, space_facts
from xla_lens.model.analysis import Analysis
from xla_lens.model.warrants import Bound
from xla_lens.oom.candidates import (
    MOST_CHOICES,
    Candidate,
    Choice,
    ChosenBy,
    OomJoin,
    choose_dumps,
    join_oom,
)
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.oom import read_oom_log
from xla_lens.syntax.oom_messages import DumpSum, MatchedBy, OomMessage

TPUS = [path for path in assignments() if path.parent.parent.name.startswith("tpu")]
GPUS = [path for path in assignments() if path.parent.parent.name.startswith("gpu")]
MLP = next(path for path in TPUS if path.parent.name == "mlp_train" and "module_0000" in path.name)


class Row(NamedTuple):
    """A value line of a dump, read with a regular expression."""

    id: int
    name: str
    size_bytes: int
    shape: str
    is_parameter: bool
    color: int


def rows_of(path: Path) -> list[Row]:
    """The values of a dump in HBM, the biggest first."""
    found: list[Row] = []
    header = ""
    for line in path.read_text().splitlines():
        if line.startswith("allocation "):
            header = line
        match = re.fullmatch(r" value: <(\d+) ([\w.-]+)(?:\{[\d,]*\})?[^>]*> \(size=(\d+),offset=\d+\): (.*)", line)
        if match:
            color = re.search(r", color (\d+)", header)
            is_parameter = ", parameter " in header
            found.append(
                Row(int(match[1]), match[2], int(match[3]), match[4], is_parameter, int(color[1]) if color else 0)
            )
    return sorted((row for row in found if not row.color), key=lambda row: -row.size_bytes)


def headers_of(path: Path) -> list[tuple[int, str]]:
    """The sizes of the allocations of a dump in HBM, and their headers."""
    headers = re.findall(r"^(allocation \d+: (?:0x[\da-f]+, )?size (\d+).*)$", path.read_text(), re.MULTILINE)
    elsewhere = ", color 5," if path in GPUS else ", color "
    return [(int(size), header) for header, size in headers if elsewhere not in header]


def printed(size_bytes: int, suffix: str = "") -> str:
    for unit, power in (("G", 3), ("M", 2), ("K", 1)):
        if size_bytes >= 1024**power:
            return f"{size_bytes / 1024**power:.2f}{unit}{suffix}"
    return f"{size_bytes}B"


def tpu_message(rows: Sequence[Row], needed: int = 1 << 40) -> OomMessage:
    entries = "".join(
        f"  {number}. Size: {printed(row.size_bytes)}\n     Shape: {row.shape}\n"
        f"     Unpadded size: {printed(row.size_bytes)}\n"
        f"     XLA label: {row.name} = fusion(param.1, param.2), kind=kLoop, calls=fused_computation\n"
        f"     Allocation type: HLO temp\n     ==========================\n\n"
        for number, row in enumerate(rows, 1)
    )
    return message(
        f"RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used "
        f"{printed(needed)} of 15.75G hbm. Exceeded hbm capacity by 1.00G.\n\nTotal hbm usage >= {printed(needed)}:\n"
        f"\n  Largest program allocations in hbm:\n\n{entries}"
    )


def message(text: str) -> OomMessage:
    (found,) = read_oom_log([text.encode()]).messages
    return found


def ids(analysis: Analysis, values: Sequence[int]) -> list[int]:
    return [int(analysis.dump.values.id[value]) for value in values]


@pytest.mark.parametrize("path", TPUS, ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_buffers_are_found_by_name(path: Path) -> None:
    rows, analysis = rows_of(path)[:15], analysis_of(path)
    assert len(rows) > 3
    join = join_oom(tpu_message(rows), analysis)
    assert join.found_names == len(rows)
    for row, match in zip(rows, join.buffers, strict=True):
        assert match.matched_by is MatchedBy.NAME
        assert row.id in ids(analysis, match.values)
        # Several values of one name are alike in all that the message says.
        assert {analysis.dump.label(int(analysis.dump.values.name[value]), -1) for value in match.values} == {row.name}


@pytest.mark.parametrize("path", GPUS, ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_buffers_without_names_are_found_by_op_name_or_shape(path: Path) -> None:
    """Messages of GPUs give the opcode, the op_name and a shape without its layout."""
    analysis = analysis_of(path)
    dump = analysis.dump
    rows = [row for row in rows_of(path) if row.size_bytes > 64][:15]
    text = "".join(one.read_text() for one in path.parent.glob(f"{path.name.split('-buffer-')[0]}-buffer-*.txt"))
    opcodes = dict(re.findall(r"^ from instruction: ?%([\w.-]+) = (?:\(.*?\) |\S+ )([a-z-]+)\(", text, re.MULTILINE))
    assert opcodes
    entries = ""
    for number, row in enumerate(rows, 1):
        shape = re.sub(r"\{[^}]*\}", "", row.shape)
        instruction = dump.instruction(dump.name_number(row.name.encode()))
        op_name = instruction.op_name if instruction else None
        operator = f'\t\tOperator: op_name="{op_name}"\n' if op_name and not row.is_parameter else ""
        kind = (
            f"\t\tEntry Parameter Subshape: {shape}\n"
            if row.is_parameter
            else f"\t\tXLA Label: {opcodes.get(row.name, 'fusion')}\n\t\tShape: {shape}\n"
        )
        size = f"{row.size_bytes / 1024:.1f}KiB" if row.size_bytes >= 1024 else f"{row.size_bytes}B"
        entries += f"\tBuffer {number}:\n\t\tSize: {size}\n{operator}{kind}\t\t==========================\n\n"
    found = message(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4096 bytes.\nBufferAssignment OOM Debugging.\n"
        f"Peak buffers:\n{entries}"
    )
    join = join_oom(found, analysis)
    assert len(join.buffers) == len(rows) > 1
    for row, match in zip(rows, join.buffers, strict=True):
        assert row.id in ids(analysis, match.values)
        assert match.matched_by is (MatchedBy.OP_NAME if match.op_name else MatchedBy.SHAPE)
        kinds = {bool(int(dump.allocations.kind[dump.values.allocation[value]]) & 16) for value in match.values}
        assert not row.is_parameter or kinds == {True}
        its_opcodes = {opcodes.get(dump.label(int(dump.values.name[value]), -1)) for value in match.values}
        assert row.is_parameter or row.name not in opcodes or its_opcodes == {opcodes[row.name]}


def test_unknown_and_changed_buffers_are_told_apart() -> None:
    row = rows_of(MLP)[0]
    strange = row._replace(name="fusion.987654", shape="f32[7,7]{1,0}")
    grown = row._replace(size_bytes=row.size_bytes * 3)
    found, unknown, other = join_oom(tpu_message([row, strange, grown]), analysis_of(MLP)).buffers
    assert (bool(found.values), found.is_other_size) == (True, False)
    assert (unknown.values, unknown.matched_by) == ((), None)
    assert (other.matched_by, other.is_other_size) == (MatchedBy.NAME, True)


def test_spill_slots_are_no_value() -> None:
    text = (
        "Ran out of memory in memory space vmem. Used 76.58M of 64.00M vmem. Exceeded vmem capacity by 12.58M.\n"
        "  Largest program allocations in vmem:\n  1. Size: 50.23M\n     XLA label: register allocator spill slots "
        "call depth 2\n     Allocation type: scoped\n     ==========================\n"
    )
    join = join_oom(message(text), analysis_of(MLP))
    assert (join.color, join.buffers[0].values, join.buffers[0].matched_by) == (1, (), None)


def test_kernel_that_needs_too_much_scratch_memory_is_found() -> None:
    """Its result is a tuple. What it needs is not the size of that."""
    values = next(PALLAS.parent.glob("*-buffer-assignment-values.txt")).read_text()
    instruction = re.search(r"^ from instruction: %((splash_mha\S+) = .*?\) custom-call)\(", values, re.MULTILINE)
    assert instruction
    found = message(
        f"Ran out of memory in memory space vmem while allocating on stack for %{instruction[1]}(%a). Scoped "
        "allocation with size 36.25M and limit 32.00M exceeded scoped vmem limit by 4.25M."
    )
    (match,) = join_oom(found, analysis_of(PALLAS)).buffers
    ids_of_name = {row.id for row in rows_of(PALLAS) if row.name == instruction[2]}
    assert ids_of_name
    assert set(ids(analysis_of(PALLAS), match.values)) <= ids_of_name
    assert (match.matched_by, match.is_other_size) == (MatchedBy.NAME, False)


@pytest.mark.parametrize("path", [*TPUS, *GPUS], ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_sums_are_those_of_the_headers(path: Path) -> None:
    headers = headers_of(path)
    join = join_oom(tpu_message([]), analysis_of(path))
    reserved = sum(size for size, _ in headers)
    parameters = sum(size for size, header in headers if ", parameter " in header)
    (space,) = (space for space in space_facts(fact_of(path)) if space["color"] == 0)
    assert {one: size for one, (size, _) in join.sums.items()} == {
        DumpSum.RESERVED: reserved,
        DumpSum.TEMPORARIES: sum(size for size, header in headers if header.endswith(", preallocated-temp:")),
        DumpSum.PARAMETERS: parameters,
        DumpSum.PROGRAM: reserved - parameters,
        DumpSum.OUTPUTS: sum(size for size, header in headers if ", maybe-live-out" in header),
        DumpSum.CONSTANTS: sum(size for size, header in headers if ", constant" in header),
        DumpSum.PEAK: space["peak_live_bytes"],
    }
    assert {bound for _, bound in join.sums.values()} == {Bound.EXACT}


@pytest.mark.parametrize("path", GPUS, ids=lambda path: f"{path.parent.name}-{path.name[:30]}")
def test_request_for_all_temporaries_is_recognized(path: Path) -> None:
    """GPUs allocate the temporaries of a program at once."""
    temporaries = sum(size for size, header in headers_of(path) if header.endswith(", preallocated-temp:"))
    assert temporaries
    text = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {} bytes."
    (fact,) = join_oom(message(text.format(temporaries)), analysis_of(path)).facts
    assert DumpSum.TEMPORARIES in fact.equals
    (fact,) = join_oom(message(text.format(temporaries + 1)), analysis_of(path)).facts
    assert DumpSum.TEMPORARIES not in fact.equals


# ---------------------------------------------------------------- which dump


def choose(found: OomMessage, candidates: Sequence[tuple[str | None, Path]]) -> tuple[Choice | None, list[Path]]:
    """The choice, and the dumps that were loaded for it."""
    loaded: list[Path] = []

    def load(path: Path) -> Analysis:
        loaded.append(path)
        return analysis_of(path)

    sets = [Candidate(module, {FileKind.HLO: str(path)}, partial(load, path)) for module, path in candidates]
    return choose_dumps([found], sets).get(found), loaded


def total(text: str) -> OomMessage:
    return message(f"the total memory required for HLO temporaries ({text}) exceeds available HBM (15.75G). {_MODULE}")


_MODULE = "HLO module: jit_train_step."


def test_named_module_is_chosen_and_no_other_loaded() -> None:
    other = next(path for path in TPUS if path != MLP)
    choice, loaded = choose(total("44.36G"), [("jit_f", other), ("jit_train_step", MLP)])
    assert choice
    assert (choice.candidate.files, choice.by, loaded) == ({FileKind.HLO: str(MLP)}, ChosenBy.MODULE, [MLP])
    assert choose(total("44.36G"), [("jit_f", other)]) == (None, [])


def test_of_several_dumps_of_a_module_the_number_decides() -> None:
    other = max(TPUS, key=lambda path: sum(size for size, _ in headers_of(path)))
    assert other != MLP
    candidates = [("jit_train_step", other), ("jit_train_step", MLP)]
    reserved = sum(size for size, _ in headers_of(MLP))
    choice, _ = choose(total(printed(reserved)), candidates)
    assert choice
    assert (choice.candidate.files, choice.by, choice.count) == ({FileKind.HLO: str(MLP)}, ChosenBy.NUMBER, 2)
    choice, _ = choose(total("999.00G"), candidates)
    assert choice
    assert (choice.candidate.files, choice.by) == ({FileKind.HLO: str(other)}, ChosenBy.BIGGEST)


def test_buffers_decide_where_the_message_names_no_module() -> None:
    choice, loaded = choose(tpu_message(rows_of(MLP)[:8]), [(None, path) for path in TPUS])
    assert choice
    assert (choice.candidate.files, choice.by, loaded) == ({FileKind.HLO: str(MLP)}, ChosenBy.BUFFERS, TPUS)
    strange = [row._replace(name=f"strange.{row.id}") for row in rows_of(MLP)[:8]]
    assert choose(tpu_message(strange), [("jit_f", MLP)])[0] is None


def test_failures_get_a_dump_before_warnings() -> None:
    warnings = [
        message(f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {size}.00MiB") for size in range(1, 60)
    ]
    failure = total("44.36G")
    chosen = choose_dumps([*warnings, failure], [Candidate("jit_train_step", {}, partial(analysis_of, MLP))])
    assert chosen[failure].by is ChosenBy.MODULE
    assert len(chosen) == MOST_CHOICES


# ---------------------------------------------------------------- the collection's out-of-memory set


@needs_shared_dumps
def test_temporaries_of_the_v5e_message_are_all_of_hbm() -> None:
    """libtpu 0.0.51 calls the whole of HBM "HLO temporaries"."""
    (error,) = SHARED_DUMPS.glob("tpu-v5e-oom-*/*/error_*.txt")
    found = message(error.read_text())
    (fact,) = (fact for fact in facts(SHARED_DUMPS) if "tpu-v5e-oom" in fact["file"])
    (space,) = (space for space in fact["memory_spaces"] if space["color"] == 0)
    path = SHARED_DUMPS / fact["file"]
    join: OomJoin = join_oom(found, analysis_of(path))
    (match,) = join.facts
    assert (match.name, match.meant, match.is_misnamed) == ("HLO temporaries", DumpSum.TEMPORARIES, True)
    # Both round to 44.36G.
    assert match.equals == (DumpSum.RESERVED, DumpSum.PEAK)
    assert join.sums[DumpSum.RESERVED][0] == space["reserved_bytes"] == 47633524736
    assert join.sums[DumpSum.PEAK][0] == space["peak_live_bytes"]
    assert join.sums[DumpSum.TEMPORARIES][0] == 27555742208
    capacity = found.hbm_capacity
    assert capacity
    assert capacity.size_bytes == 63 << 28
