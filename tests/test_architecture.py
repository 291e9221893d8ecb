"""The structure that server/ARCHITECTURE.md describes, read from the imports."""

import ast
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from samples import ROOT

_PACKAGE = ROOT / "server" / "xla_lens"

_LAYERS = ("text", "syntax", "model", "features", "render", "files", "workspace")
"""Each may import those before it. `lsp` and `cli` may import all of them, but not each other. `workspace` stands above
`files`, which reads the disk and decides nothing: it loads many sets, and decides what is kept of them.
"""

_EDGES = ("lsp", "cli")

_ONLY_IN = {
    "tree_sitter": {"syntax"},
    "tree_sitter_xla_dump": {"syntax"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "asyncio": {"lsp"},
    "argparse": {"cli"},
    "json": {"render", "cli", "lsp"},
}

_NO_INPUT_OR_OUTPUT = {"text", "syntax", "model", "features", "render"}


def _modules() -> list[Path]:
    return sorted(_PACKAGE.rglob("*.py"))


def _layer(path: Path) -> str:
    relative = path.relative_to(_PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
    return found


def _id(path: Path) -> str:
    return str(path.relative_to(_PACKAGE))


@pytest.mark.parametrize("path", _modules(), ids=_id)
def test_a_layer_imports_only_what_is_below_it(path: Path) -> None:
    layer = _layer(path)
    if layer in ("__init__", "__main__", "api"):
        return
    own = {name.split(".")[1] for name in _imports(path) if name.startswith("xla_lens.")}
    allowed = set(_LAYERS if layer in _EDGES else _LAYERS[: _LAYERS.index(layer)]) | {layer}
    if path.name == "main.py" and layer == "cli":
        allowed.add("lsp")  # to start it
    assert own <= allowed


@pytest.mark.parametrize("path", _modules(), ids=_id)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    for name in _imports(path):
        layers = _ONLY_IN.get(name.split(".")[0])
        assert layers is None or _layer(path) in layers, name


@pytest.mark.parametrize("path", _modules(), ids=_id)
def test_no_feature_imports_another(path: Path) -> None:
    if _layer(path) == "features":
        own = path.relative_to(_PACKAGE / "features").parts[0].removesuffix(".py")
        others = {name.split(".")[2] for name in _imports(path) if name.startswith("xla_lens.features.")}
        assert others <= {own}


@pytest.mark.parametrize("path", _modules(), ids=_id)
def test_no_input_or_output_below_the_edges(path: Path) -> None:
    if _layer(path) in _NO_INPUT_OR_OUTPUT:
        calls = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not calls & {"open", "print", "input"}
        assert not {name.split(".")[0] for name in _imports(path)} & {"os", "pathlib", "io", "socket", "subprocess"}


def test_wheel_contains_every_data_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    files = [path for path in _PACKAGE.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    assert [path for path in files if not any(fnmatch(path.name, pattern) for pattern in patterns)] == []


def test_each_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text()
    for requirement in project["dependencies"] + project["optional-dependencies"]["dev"]:
        name = re.split(r"[<>=]", requirement)[0]
        assert re.search(r">=.*,<", requirement), f"{name} is not pinned to a range"
        assert f"`{name}`" in text, f"{name} has no sentence in ARCHITECTURE.md"
