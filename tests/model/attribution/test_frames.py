"""Origins of instructions, compared with the grammar and with the programs that the dumps were made from."""

import ast
from collections.abc import Iterator
from pathlib import Path

from hlo_trees import parse_instruction
from samples import (
    DUMPS,
    SHARED_DUMPS,
    analysis_of,
    module_of,
    needs_shared_dumps,
    on_each_dump,
    parsed_instruction,
)
from xla_lens.disk.sets import NotADump
from xla_lens.model.attribution.frames import Origins, frames_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

_HERE = "/home/user/programs/"
"""The folder of the programs on the compiling machine."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, range]]:
    """The functions of a program by qualified name, with their lines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            name = prefix + ("<lambda>" if isinstance(child, ast.Lambda) else child.name)
            yield name, range(child.lineno, (child.end_lineno or child.lineno) + 1)
            yield from _scopes(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
        else:
            yield from _scopes(child, prefix)


def _is_in_program(frame: StackFrame) -> bool:
    """Whether the line of a frame lies within its function."""
    path = SHARED_DUMPS / "programs" / frame.file.removeprefix(_HERE)
    return any(name == frame.function and frame.line in lines for name, lines in _scopes(ast.parse(path.read_text())))


@needs_shared_dumps
def test_lines_of_frames_lie_within_their_functions() -> None:
    checked = set()
    for path in DUMPS.rglob("*-buffer-assignment.txt"):
        try:
            module = module_of(path)
        except (AssertionError, NotADump):
            continue
        for number in module.columns.file_locations.id.tolist():
            frame = module.file_location(number)
            assert frame
            if frame.file.startswith(_HERE) and (SHARED_DUMPS / "programs" / frame.file.removeprefix(_HERE)).exists():
                assert _is_in_program(frame), (path.parent.name, frame)
                checked.add(frame)
    assert len(checked) > 30


def _parsed_frames(dump: DumpSet, module: HloModule | None, name: int) -> tuple[StackFrame, ...]:
    """Return the stack by the metadata that the grammar reads, from the line of the module or else from the quote."""
    row = module.row_of(dump.names[name]) if module else NONE
    if module and row != NONE:
        start, end = module.span(row)
        parsed = parse_instruction(module.data[start:end])
        return module.frames(parsed.metadata if parsed else {})
    parsed = parsed_instruction(dump, name)
    metadata = parsed.metadata if parsed else {}
    if module:
        return module.frames(metadata)
    file, line = metadata.get("source_file"), metadata.get("source_line")
    return (StackFrame(file, int(line) if line else None),) if file else ()


@on_each_dump
def test_origins_match_the_grammar(path: Path) -> None:
    dump = analysis_of(path).dump
    try:
        module = module_of(path)
    except (AssertionError, NotADump):
        module = None
    names = sorted(set(dump.values.name.tolist()))
    for one in (module, None):
        origins = Origins(dump, one)
        found = {name: origins.of_name(name) for name in (*names, NONE)}
        assert (found[NONE].op_name, found[NONE].frames) == (None, ())
        for name in names[:: 1 + len(names) // 200]:
            parsed = parsed_instruction(dump, name)
            assert found[name].op_name == (parsed.metadata.get("op_name") if parsed else None)
            assert found[name].frames == _parsed_frames(dump, one, name) == frames_of(dump, one, name)
            own, line = user_frame(found[name].frames), found[name].line
            assert (own is None) == (line is None)
            assert own is None or line == StackFrame(own.file, own.line, None, own.function)
