"""Bytes by op_name, opcode and kind, compared with what the grammar reads from each instruction."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from samples import (
    SEED,
    SPLIT,
    analysis_of,
    analysis_of_text,
    assignments,
    on_dumps,
    parsed_instruction,
)
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesNode, bytes_by_op, op_name_path
from xla_lens.model.attribution.owned import owned_bytes


def _steps(analysis: Analysis) -> list[int]:
    last = analysis.dump.last_step or 0
    return [*analysis.dump.peaks.step.tolist(), *np.linspace(0, last, 4).astype(int).tolist()]


def _check_sums(node: BytesNode, owned: dict[int, int]) -> None:
    assert node.own_bytes == sum(owned[value] for value in node.values)
    assert node.size_bytes == node.own_bytes + sum(child.size_bytes for child in node.children)
    assert node.count == len(node.values) + sum(child.count for child in node.children)
    assert [child.size_bytes for child in node.children] == sorted(
        (child.size_bytes for child in node.children), reverse=True
    )
    for child in node.children:
        _check_sums(child, owned)


@on_dumps
def test_breakdowns_add_up_to_the_live_bytes(analysis: Analysis) -> None:
    for space in analysis.memory.spaces:
        for step in {*_steps(analysis), space.peak_step or 0}:
            values, owned = owned_bytes(analysis.dump, step, space.color)
            by_value = {value: size for value, size in zip(values.tolist(), owned.tolist(), strict=True) if size}
            sources = bytes_by_op(analysis.dump, None, step, space.color)
            for tree in (sources.by_op_name, sources.by_opcode, sources.by_kind, sources.by_parameter):
                assert tree.size_bytes == space.live.at(step)
                assert tree.count == len(by_value)
                _check_sums(tree, by_value)


@pytest.mark.parametrize("path", assignments()[::3], ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_breakdowns_match_the_instructions(path: Path) -> None:
    analysis = analysis_of(path)
    dump = analysis.dump
    for space in analysis.memory.spaces:
        step = space.peak_step or 0
        values, owned = owned_bytes(dump, step, space.color)
        opcodes: Counter[str | None] = Counter()
        paths: Counter[tuple[str | None, ...]] = Counter()
        for value, size in zip(values.tolist(), owned.tolist(), strict=True):
            instruction = parsed_instruction(dump, int(dump.values.name[value]))
            if size:
                opcodes[instruction.opcode.decode() if instruction else None] += size
                paths[op_name_path(instruction.metadata.get("op_name") if instruction else None)] += size
        sources = bytes_by_op(dump, None, step, space.color)
        assert {child.name: child.size_bytes for child in sources.by_opcode.children} == opcodes
        assert dict(_own(sources.by_op_name)) == paths


def _own(node: BytesNode, path: tuple[str | None, ...] = ()) -> list[tuple[tuple[str | None, ...], int]]:
    own = [(path, node.own_bytes)] if node.values else []
    return own + [row for child in node.children for row in _own(child, (*path, child.name))]


def _lines(node: BytesNode, depth: int = 0) -> list[str]:
    line = f"{'  ' * depth}{node.name} {node.size_bytes} {node.count}"
    return [line, *(row for child in node.children for row in _lines(child, depth + 1))]


def test_breakdowns_of_a_peak() -> None:
    """The expected sums were added by hand from the rows of the file."""
    sources = bytes_by_op(analysis_of(SPLIT).dump, None, 36, 0)
    assert _lines(sources.by_kind) == [
        "None 4419632 13",
        "  parameter 2549800 8",
        "  temp 1869824 3",
        "  constant 4 1",
        "  output 4 1",
    ]
    assert _lines(sources.by_op_name) == [
        "None 4419632 13",
        "  jit(train_step) 2405420 8",
        "    transpose(jvp()) 1869824 3",
        "      transpose 1605632 1",
        "      add_any 262144 1",
        "      reduce_sum 2048 1",
        "    sub 535592 4",
        "    jvp() 4 1",
        "      div 4 1",
        "  params[0][0] 1605632 1",
        "  x 401408 1",
        "  y 5120 1",
        "  params[0][1] 2048 1",
        "  None 4 1",
    ]


def test_values_without_a_quoted_instruction_have_no_path() -> None:
    text = SEED.read_text()
    start, end = text.index("Used values:"), text.index("HloLiveRange")
    analysis = analysis_of_text(text[:start] + text[end:])
    sources = bytes_by_op(analysis.dump, None, 4, 0)
    assert sources.by_op_name.size_bytes == 593920
    assert [child.name for child in sources.by_op_name.children] == [None]
    assert [child.name for child in sources.by_opcode.children] == [None]


@pytest.mark.parametrize(
    ("op_name", "path"),
    [
        (None, (None,)),
        ("", (None,)),
        ("params['w']", ("params['w']",)),
        ("params['a/b'][0]", ("params['a/b'][0]",)),
        ("jit(f)/transpose(jvp(a/b))/dot", ("jit(f)", "transpose(jvp(a/b))", "dot")),
        ("jit(f)/jvp()/btd,dhk->bthk/dot_general", ("jit(f)", "jvp()", "btd,dhk->bthk", "dot_general")),
        ("jit(f)//add/", ("jit(f)", "add")),
        ("/", ("/",)),
        ("a(b/c", ("a(b", "c")),
        ("a)/b", ("a)", "b")),
    ],
)
def test_op_name_path_splits_at_slashes_outside_of_brackets(op_name: str | None, path: tuple[str | None, ...]) -> None:
    assert op_name_path(op_name) == path


def test_op_name_path_limits_the_depth() -> None:
    parts = op_name_path("/".join("a" * 10_000))
    assert len(parts) == 64
    assert "/".join(part or "" for part in parts) == "/".join("a" * 10_000)
