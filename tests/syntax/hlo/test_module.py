"""The columns of HLO modules match the grammar."""

import itertools
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tree_sitter import Node, Parser, Query, QueryCursor

from fuzzing.texts import damaged
from samples import DUMPS, SHARED_DUMPS, modules, needs_shared_dumps, never
from xla_lens.disk.loading import load_module
from xla_lens.disk.sets import find_set
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.module import ModuleColumns, read_module
from xla_lens.syntax.tree import HLO, Cancelled
from xla_lens.text.document import Document, IsCancelled

_NODES = Query(HLO, "[(instruction) (computation) (file_name) (function_name) (file_location) (stack_frame)] @node")


def _modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*after_optimizations.txt"))


def _grammar_rows(text: bytes) -> dict[str, list[tuple[object, ...]]]:
    """Return the starts and contents of the nodes that the grammar finds, by type."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for node in QueryCursor(_NODES).captures(Parser(HLO).parse(text).root_node).get("node", []):
        found.setdefault(node.type, []).append((node.start_byte, *_contents(node, text)))
    return {kind: sorted(rows) for kind, rows in found.items()}


def _contents(node: Node, text: bytes) -> tuple[object, ...]:
    match node.type:
        case "instruction":
            return node.end_byte, _name(node, text), any(child.type == "root" for child in node.children)
        case "computation":
            return _name(node, text), any(child.type == "entry" for child in node.children)
        case "file_name" | "function_name":
            return _number(node, "id", text), _text(node.child_by_field_name("name"), text)
        case "file_location":
            fields = ("id", "file_name_id", "function_name_id", "line", "column")
            return tuple(_number(node, field, text) for field in fields)
    return tuple(_number(node, field, text) for field in ("id", "file_location_id", "parent_frame_id"))


def _text(node: Node | None, text: bytes) -> bytes:
    return text[node.start_byte : node.end_byte] if node else b""


def _name(node: Node, text: bytes) -> bytes:
    return _text(node.child_by_field_name("name"), text).removeprefix(b"%")


def _number(node: Node, field: str, text: bytes) -> int:
    return int(_text(node.child_by_field_name(field), text) or NONE)


def _column_rows(columns: ModuleColumns, text: bytes) -> dict[str, list[tuple[object, ...]]]:
    made, called = columns.instructions, columns.computations
    names = (text[start:end] for start, end in zip(made.name_start, made.name_end, strict=True))
    instructions = zip(made.start.tolist(), made.end.tolist(), names, made.is_root.tolist(), strict=True)
    names = (text[start:end] for start, end in zip(called.name_start, called.name_end, strict=True))
    computations = zip(called.start.tolist(), names, called.is_entry.astype(bool).tolist(), strict=True)
    found: dict[str, list[tuple[object, ...]]] = {"instruction": [*instructions], "computation": [*computations]}
    for kind, strings in (("file_name", columns.file_names), ("function_name", columns.function_names)):
        spans = zip(strings.start.tolist(), strings.end.tolist(), strings.id.tolist(), strict=True)
        # The row begins with the id; the column has the start of the string behind it.
        found[kind] = [(text.rindex(b"\n", 0, start) + 1, number, text[start:end]) for start, end, number in spans]
    places, frames = columns.file_locations, columns.stack_frames
    rows: Any = (places.start, places.id, places.file_name_id, places.function_name_id, places.line, places.column)
    found["file_location"] = list(zip(*(column.tolist() for column in rows), strict=True))
    rows = (frames.start, frames.id, frames.file_location_id, frames.parent_frame_id)
    found["stack_frame"] = list(zip(*(column.tolist() for column in rows), strict=True))
    return {kind: sorted(rows) for kind, rows in found.items() if rows}


def _check(text: bytes) -> None:
    assert _column_rows(read_module(Document(text), never), text) == _grammar_rows(text)


@pytest.mark.parametrize("path", _modules(DUMPS), ids=lambda path: str(path.relative_to(DUMPS)))
def test_columns_match_the_grammar(path: Path) -> None:
    text = path.read_bytes()
    _check(text)
    _check(text.replace(b"\n", b"\r\n"))


@needs_shared_dumps
def test_columns_of_all_modules_match_the_grammar() -> None:
    paths = _modules(SHARED_DUMPS)
    assert len(paths) > 250
    for path in paths:
        _check(path.read_bytes())


def test_instructions_belong_to_the_computation_around_them() -> None:
    for path in _modules(DUMPS):
        columns = read_module(Document(path.read_bytes()), never)
        computations, instructions = columns.computations, columns.instructions
        ends = computations.instruction_count.cumsum()
        assert ends[-1] == len(instructions)
        assert (computations.first_instruction == ends - computations.instruction_count).all()
        of = np.repeat(np.arange(len(computations)), computations.instruction_count)
        assert ((computations.start[of] < instructions.start) & (instructions.end <= computations.end[of])).all()


def test_damaged_modules_give_columns_within_their_text() -> None:
    chance = random.Random(0)
    for path in _modules(DUMPS):
        text = path.read_bytes()
        for _ in range(20):
            broken = damaged(chance, text, text)
            columns = read_module(Document(broken), never)
            for table in (columns.instructions, columns.computations):
                assert ((table.start >= 0) & (table.start <= table.end) & (table.end <= len(broken))).all()


def test_reading_a_module_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        read_module(Document(b"HloModule f\n"), lambda: True)


def test_each_step_of_loading_a_module_can_be_cancelled() -> None:
    files = find_set(modules()[0])

    def load(is_cancelled: IsCancelled) -> None:
        loaded = load_module(files, {}, None, is_cancelled)
        assert loaded
        assert loaded.module
        loaded.module.prepare(is_cancelled)

    checks = itertools.count()
    load(lambda: next(checks) < 0)
    total = next(checks)
    assert total > 3
    for last in range(total):
        checks = itertools.count()
        with pytest.raises(Cancelled):
            load(partial(lambda checks, last: next(checks) == last, checks, last))
