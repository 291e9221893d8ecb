"""The structure that server/ARCHITECTURE.md describes, checked against the source code."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from samples import ROOT

_PACKAGE = ROOT / "server" / "xla_lens"

pytestmark = pytest.mark.xdist_group("architecture")
"""One worker parses the modules once."""

_ROOMS = (
    *("text", "syntax", "model", "words", "disk", "blocks", "advice", "oom"),
    *("report", "diff", "memory_map", "editor", "trying"),
)
"""Each room may import those before it. The edges may import all of them, but not each other."""

_EDGES = ("lsp", "cli", "capturing")

_ONLY_IN = {
    "tree_sitter": {"syntax"},
    "tree_sitter_xla_dump": {"syntax", "model"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "asyncio": {"lsp"},
    "argparse": {"cli"},
    "json": {"words", "memory_map", "editor", "report", "trying", "cli", "lsp"},
}
"""The rooms that may import a library."""

_NO_INPUT_OR_OUTPUT = {*_ROOMS} - {"disk", "trying"}


def _modules() -> list[Path]:
    return sorted(_PACKAGE.rglob("*.py"))


def _room(path: Path) -> str:
    return _room_of(_module_name(path))


def _room_of(name: str) -> str:
    """The room of a module by its name: the package that it is in, its own name at the root."""
    return [*name.split(".")[1:], "__init__"][0]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _names() -> set[str]:
    return {_module_name(path) for path in _modules()}


@cache
def _imports(path: Path) -> set[str]:
    """The modules that a file imports anywhere: at the top, under TYPE_CHECKING and in functions. `from a import b`
    imports `a.b` if that is a module of the package, else `a`.
    """
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in _names() else node.module or "" for name in names}
    return found


# ---------------------------------------------------------------- rooms

_MAY_IMPORT = {
    **{room: {*_ROOMS[: number + 1]} for number, room in enumerate(_ROOMS)},
    **{edge: {*_ROOMS, edge} for edge in _EDGES},
}
_EXCEPTIONS = {
    ("cli/commands/server.py", "lsp"): "to start it",
    ("capturing/compiling.py", "cli"): "to set flags as `xla-lens run` does",
}


def test_rooms_import_only_rooms_below_them() -> None:
    found = {
        (str(path.relative_to(_PACKAGE)), _room_of(name))
        for path in _modules()
        if _room(path) not in _AT_THE_ROOT
        for name in _imports(path)
        if name.startswith("xla_lens.") and _room_of(name) not in _MAY_IMPORT[_room(path)]
    }
    assert found == _EXCEPTIONS.keys()


_AT_THE_ROOT = {"__init__", "__main__", "api"}


def test_every_module_is_in_a_room() -> None:
    assert {_room(path) for path in _modules()} == {*_ROOMS, *_EDGES, *_AT_THE_ROOT}


def test_no_base_name_stands_in_more_than_two_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for path in _modules():
        rooms.setdefault(path.name, set()).add(_room(path))
    assert {name: found for name, found in rooms.items() if len(found) > 2 and name != "__init__.py"} == {}


def test_libraries_are_imported_only_by_their_rooms() -> None:
    for path in _modules():
        for name in _imports(path):
            assert _room(path) in _ONLY_IN.get(name.split(".")[0], {_room(path)}), (path, name)


def test_no_input_or_output_below_the_edges() -> None:
    for path in (path for path in _modules() if _room(path) in _NO_INPUT_OR_OUTPUT):
        calls = (node.func for node in ast.walk(_tree(path)) if isinstance(node, ast.Call))
        assert not {"open", "print", "input"} & {call.id for call in calls if isinstance(call, ast.Name)}, path
        libraries = {name.split(".")[0] for name in _imports(path)}
        assert not libraries & {"os", "pathlib", "io", "socket", "subprocess"}, path


# ---------------------------------------------------------------- regular expressions


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that Python evaluates while it imports a module."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _at_import(child)


def test_no_module_compiles_patterns_while_it_is_imported() -> None:
    for path in _modules():
        calls = (ast.unparse(node.func) for node in _at_import(_tree(path)) if isinstance(node, ast.Call))
        assert "re.compile" not in calls, f"{path}: use lazy_pattern of text/patterns.py"


# ---------------------------------------------------------------- cycles


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_import_cycle() -> None:
    """Not even under TYPE_CHECKING or in functions."""
    graph = {_module_name(path): _imports(path) & _names() for path in _modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(reversed(error.args[1]))}")


# ---------------------------------------------------------------- lsprotocol and pygls

_LIBRARIES = ("lsprotocol", "pygls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _uses_of_private_names(tree: ast.Module) -> Iterator[str]:
    """Where a module imports a private name of lsprotocol or pygls, or reads one from another object than `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _LIBRARIES:
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from (f"import of {name}" for name in names if _is_private(name))
        elif (
            isinstance(node, ast.Attribute)
            and _is_private(node.attr)
            and ast.unparse(node.value) not in ("self", "cls", "os")
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_no_private_name_of_a_library_is_used() -> None:
    for path in (_PACKAGE / "lsp").rglob("*.py"):
        assert not [*_uses_of_private_names(_tree(path))], path


# ---------------------------------------------------------------- the distribution


def test_no_macro_treats_constants_as_immortal() -> None:
    """The headers of Python 3.12 and 3.13 expand these macros to a return without a new reference, also for the stable
    ABI of 3.11. On Python 3.11, each call would take a reference from `None`, until the interpreter aborts.
    """
    sources = [*(ROOT / "grammar").rglob("*.[ch]")]
    assert len(sources) > 10
    found = [path for path in sources if re.search(r"\bPy_RETURN_(?:NONE|TRUE|FALSE)\b", path.read_text())]
    assert found == []


def test_wheel_contains_every_data_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    # While Python writes what it has compiled, a number follows the name.
    files = [path for path in _PACKAGE.rglob("*") if path.is_file() and not re.search(r"\.pyc?(?:\.\d+)?$", path.name)]
    assert [path for path in files if not any(fnmatch(path.name, pattern) for pattern in patterns)] == []


def test_each_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text()
    for requirement in project["dependencies"] + project["optional-dependencies"]["dev"]:
        name = re.split(r"[<>=]", requirement)[0]
        assert re.search(r">=.*,<", requirement), f"{name} is not pinned to a range"
        assert f"`{name}`" in text, f"{name} has no sentence in ARCHITECTURE.md"
