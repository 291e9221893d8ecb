"""The calls that a module tells, against the programs that the dumps were made of."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, SPLIT, analysis_of, module_of, needs_shared_dumps
from xla_lens.files import NotADump
from xla_lens.model.attribution.frames import frames_of
from xla_lens.model.hlo.stack_frames import StackFrame, frame_at, is_library_file, user_frame

_HERE = "/home/user/programs/"
"""Where the programs were when they were compiled."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, range]]:
    """The functions of a program by their qualified names, with their lines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            name = prefix + ("<lambda>" if isinstance(child, ast.Lambda) else child.name)
            yield name, range(child.lineno, (child.end_lineno or child.lineno) + 1)
            yield from _scopes(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
        else:
            yield from _scopes(child, prefix)


def _is_in_program(frame: StackFrame) -> bool:
    """Whether the line that a call tells is one of the function that it tells."""
    path = SHARED_DUMPS / "programs" / frame.file.removeprefix(_HERE)
    return any(name == frame.function and frame.line in lines for name, lines in _scopes(ast.parse(path.read_text())))


@needs_shared_dumps
def test_all_calls_are_lines_of_the_functions_that_they_name() -> None:
    checked = set()
    for path in DUMPS.rglob("*-buffer-assignment.txt"):
        try:
            module = module_of(path)
        except (AssertionError, NotADump):
            continue
        for number in module.columns.file_locations.id.tolist():
            frame = frame_at(module.columns, module.data, number)
            assert frame
            if frame.file.startswith(_HERE) and (SHARED_DUMPS / "programs" / frame.file.removeprefix(_HERE)).exists():
                assert _is_in_program(frame), (path.parent.name, frame)
                checked.add(frame)
    assert len(checked) > 30


@needs_shared_dumps
def test_the_line_of_a_dot() -> None:
    dump, module = analysis_of(SPLIT).dump, module_of(SPLIT)
    frame = user_frame(frames_of(dump, module, dump.name_number(b"dot")))
    assert frame
    assert frame.function == "mlp_apply"
    assert _is_in_program(frame)
    assert frame.line
    lines = (SHARED_DUMPS / "programs" / "programs.py").read_text().splitlines()
    assert "x @ w" in lines[frame.line - 1]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/me/train.py", False),
        ("train.py", False),
        ("/home/me/.venv/lib/python3.12/site-packages/jax/_src/lax.py", True),
        ("C:\\Python\\Lib\\site-packages\\jax\\x.py", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py", True),
        ("/usr/lib/python3.11/functools.py", True),
        ("<string>", True),
    ],
)
def test_libraries(file: str, expected: bool) -> None:
    assert is_library_file(file) == expected


def test_a_parent_is_printed_as_one_more_than_its_id() -> None:
    # The protobuf of a module has the id itself, and 0 for none.
    module = module_of(SPLIT)
    assert [len(module.stack(number)) for number in range(1, 7)] == [1, 2, 3, 4, 4, 5]
    assert [frame.function for frame in module.stack(2)] == ["child", "<module>"]
    assert Path(module.stack(2)[0].file).name == "run_progs.py"
