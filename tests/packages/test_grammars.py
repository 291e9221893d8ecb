"""The packages of the grammars in `XLA_LENS_DIST`: each binding is built and used. `make dist` runs these tests."""

import json
import os
import shutil
import subprocess
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
from tree_sitter import Language, Parser

from samples import DUMPS, ROOT, dump_paths
from tree_sitter_xla_dump import language_hlo, language_xla_dump

_DIST = Path(os.environ.get("XLA_LENS_DIST", ROOT / "dist"))
_LANGUAGES = {"xla_dump": Language(language_xla_dump()), "hlo": Language(language_hlo())}
_FILES = {"xla_dump": dump_paths(DUMPS)[::4], "hlo": sorted(DUMPS.rglob("*after_optimizations.txt"))[::4]}

packaged = pytest.mark.skipif(not (_DIST / "tree-sitter-xla.tar.gz").exists(), reason="needs packages: make dist")


def test_manifests_agree() -> None:
    folder = ROOT / "grammar"
    shared = json.loads((folder / "tree-sitter.json").read_text())["metadata"]
    node = json.loads((folder / "package.json").read_text())
    rust = tomllib.loads((folder / "Cargo.toml").read_text())["package"]
    python = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for manifest in (node, rust, python):
        assert (manifest["name"], manifest["description"]) == ("tree-sitter-xla", shared["description"])
        assert manifest["license"].strip("()") == "Apache-2.0 AND MIT"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packaged sources."""
    folder = tmp_path_factory.mktemp("grammars")
    with tarfile.open(_DIST / "tree-sitter-xla.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "tree-sitter-xla"


def _trees(grammar: str) -> str:
    """The trees of real dumps, as XLA Lens itself parses them."""
    parser = Parser(_LANGUAGES[grammar])
    assert len(_FILES[grammar]) > 4
    return "".join(f"{parser.parse(path.read_bytes()).root_node}\n" for path in _FILES[grammar])


def _run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@packaged
def test_sources_are_complete(sources: Path) -> None:
    assert "Apache License" in (sources / "LICENSE").read_text()
    assert "Max Brunsfeld" in (sources / "LICENSE.tree-sitter").read_text()
    files = {path.relative_to(sources).as_posix() for path in sources.rglob("*") if path.is_file()}
    listed = subprocess.run(["git", "ls-files", "grammar"], cwd=ROOT, capture_output=True, text=True, check=True)
    committed = {name.removeprefix("grammar/") for name in listed.stdout.split()}
    assert files == {name for name in committed if not name.startswith("python/")} | {"LICENSE"}


@packaged
def test_python_binding(tmp_path: Path) -> None:
    (archive,) = _DIST.glob("tree_sitter_xla-*.tar.gz")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", archive, "tree-sitter>=0.26.1,<0.27", cwd=tmp_path)
    program = """
import sys
from tree_sitter import Language, Parser, Query
import tree_sitter_xla
language = Language(tree_sitter_xla.LANGUAGES[sys.argv[1]]())
names = ("highlights", "injections", "folds", "tags")
queries = [Query(language, tree_sitter_xla.query(sys.argv[1], name)) for name in names]
for path in sys.argv[2:]:
    print(Parser(language).parse(open(path, "rb").read()).root_node)
sys.stdout.flush()
"""
    for grammar, files in _FILES.items():
        assert _run(python, "-I", "-c", program, grammar, *files, cwd=tmp_path) == _trees(grammar)


@packaged
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node")
def test_node_binding(sources: Path, tmp_path: Path) -> None:
    prefix = Path(_run("node", "--print", "process.execPath", cwd=tmp_path).strip()).parents[1]
    if not (prefix / "include" / "node" / "node_version.h").exists():
        pytest.skip(f"needs the C headers of Node in {prefix}/include/node: install a Node that has them")
    (tmp_path / "package.json").write_text('{"private": true}')
    archive = _run("npm", "pack", "--silent", "--pack-destination", tmp_path, cwd=sources).split()[-1]
    # Without its folder, node-gyp would download the headers.
    install = ("npm", "install", "--no-audit", "--no-fund", f"./{archive}", "tree-sitter@0.25")
    _run(*install, cwd=tmp_path, npm_config_nodedir=str(prefix))
    package = tmp_path / "node_modules" / "tree-sitter-xla"
    _run("node", "--test", package / "bindings" / "node" / "binding_test.js", cwd=tmp_path)
    assert (package / "LICENSE.tree-sitter").is_file()


@packaged
@pytest.mark.skipif(not shutil.which("cargo"), reason="needs Rust")
def test_rust_binding(sources: Path) -> None:
    if subprocess.run(["cargo", "fetch", "--quiet"], cwd=sources, capture_output=True, check=False).returncode:
        pytest.skip("needs the registry of Rust")
    _run("cargo", "test", "--quiet", cwd=sources)
    _run("cargo", "package", "--quiet", "--allow-dirty", cwd=sources)


@packaged
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node")
def test_webassembly(tmp_path: Path) -> None:
    _run("npm", "install", "--no-audit", "--no-fund", "--prefix", tmp_path, "web-tree-sitter@0.26", cwd=tmp_path)
    program = tmp_path / "parse.mjs"
    program.write_text("""
import { readFileSync } from "node:fs";
import { Language, Parser } from "web-tree-sitter";
const [wasm, ...files] = process.argv.slice(2);
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(readFileSync(wasm)));
for (const file of files) console.log(parser.parse(readFileSync(file, "utf8")).rootNode.toString());
""")
    for grammar, files in _FILES.items():
        assert _run("node", program, _DIST / f"tree-sitter-{grammar}.wasm", *files, cwd=tmp_path) == _trees(grammar)
