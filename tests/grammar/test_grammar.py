"""The grammars parse every line of real dumps, and recover from broken ones."""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from generate import generated
from samples import DUMPS, ROOT, SHARED_DUMPS, big_dumps, dump_paths, needs_shared_dumps, on_each_file
from xla_lens.syntax.tree import HLO, XLA_DUMP

_UNKNOWN = Query(XLA_DUMP, "[(unknown_line) (unknown_attribute)] @unknown")
_HLO = Query(XLA_DUMP, "[(instruction) (shape)] @hlo")

# Keeps the queries alive until the end: the binding frees the predicates of a query twice (tree-sitter 0.26.1).
_QUERIES: list[Query] = []


def _root(path: Path) -> Node:
    return Parser(XLA_DUMP).parse(path.read_bytes()).root_node


def _captured(query: Query, root: Node) -> list[Node]:
    return [node for nodes in QueryCursor(query).captures(root).values() for node in nodes]


@on_each_file
def test_every_line_is_known(path: Path) -> None:
    root = _root(path)
    assert not root.has_error
    assert not _captured(_UNKNOWN, root)


@on_each_file
def test_every_line_is_known_with_crlf(path: Path) -> None:
    text = path.read_bytes()
    with_crlf = Parser(XLA_DUMP).parse(text.replace(b"\n", b"\r\n")).root_node
    assert not _captured(_UNKNOWN, with_crlf)
    assert str(with_crlf) == str(_root(path))


@on_each_file
def test_every_instruction_and_shape_parses(path: Path) -> None:
    for node in _captured(_HLO, _root(path)):
        root = Parser(HLO).parse(node.text or b"").root_node
        assert not root.has_error, node.text
        assert root.named_child_count == 1


@needs_shared_dumps
def test_every_line_of_the_collection_is_known(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = dump_paths(SHARED_DUMPS) + dump_paths(big_dumps(tmp_path_factory.getbasetemp() / "big"))
    unknown = []
    parsed = set()
    for path in files:
        root = _root(path)
        assert not root.has_error, path
        # The error message of a program that does not fit into memory, kept beside its dumps.
        if not path.name.startswith("error"):
            unknown += [(path, node.start_point.row) for node in _captured(_UNKNOWN, root)]
        for node in _captured(_HLO, root):
            text = node.text or b""
            if text not in parsed:
                parsed.add(text)
                tree = Parser(HLO).parse(text).root_node
                assert not tree.has_error, (path, node.start_point)
    assert not unknown
    assert len(files) > 700


@needs_shared_dumps
def test_no_file_of_the_collection_has_error_nodes() -> None:
    for path in sorted(SHARED_DUMPS.rglob("*")):
        if path.is_file() and path.suffix in {".txt", ".md", ".py"}:
            assert not _root(path).has_error, path


@pytest.mark.parametrize("seed", range(3))
def test_incremental_parse_equals_fresh_parse(seed: int) -> None:
    chance = random.Random(seed)
    parser = Parser(XLA_DUMP)
    path = chance.choice(dump_paths(DUMPS))
    text = path.read_bytes()
    tree = parser.parse(text)
    for _ in range(60):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 1, 5, 80]))
        inserted = chance.choice([b"", b"x", b"\n", b"9", text[:40], b"  a: 4 bytes\n", b'"'])
        points = [_point(text, offset) for offset in (start, end)]
        text = text[:start] + inserted + text[end:]
        new_end = start + len(inserted)
        tree.edit(start, end, new_end, points[0], points[1], _point(text, new_end))
        tree = parser.parse(text, tree)
        assert str(tree.root_node) == str(parser.parse(text).root_node), (path, start, end, inserted)


def _point(text: bytes, offset: int) -> tuple[int, int]:
    return text.count(b"\n", 0, offset), offset - (text.rfind(b"\n", 0, offset) + 1)


@pytest.mark.parametrize("path", sorted((ROOT / "grammar").glob("*/queries/*.scm")), ids=lambda path: str(path.name))
def test_queries_compile(path: Path) -> None:
    language: Language = {"xla_dump": XLA_DUMP, "hlo": HLO}[path.parent.parent.name]
    query = Query(language, path.read_text())
    _QUERIES.append(query)
    assert query.capture_count


def test_highlights_cover_every_leaf() -> None:
    """Every named leaf of a real dump is highlighted."""
    query = Query(XLA_DUMP, (ROOT / "grammar/xla_dump/queries/highlights.scm").read_text())
    _QUERIES.append(query)
    for path in dump_paths(DUMPS)[::5]:
        root = _root(path)
        highlighted = {(node.start_byte, node.end_byte) for node in _captured(query, root)}
        leaves = [node for node in _leaves(root) if node.is_named and node.type not in ("instruction", "source_file")]
        assert not {node.type for node in leaves if (node.start_byte, node.end_byte) not in highlighted}


def _leaves(node: Node) -> Iterator[Node]:
    if not node.child_count:
        yield node
    for child in node.children:
        yield from _leaves(child)


@pytest.mark.skipif(
    not shutil.which("tree-sitter"), reason="needs tree-sitter: npm install --global tree-sitter-cli@0.26"
)
@pytest.mark.parametrize("folder", ["xla_dump", "hlo"])
def test_generated_parsers_are_up_to_date(folder: str, tmp_path: Path) -> None:
    copy = tmp_path / folder
    shutil.copytree(ROOT / "grammar" / folder, copy)
    for name in ("tree-sitter.json", "package.json"):
        shutil.copy(ROOT / "grammar" / name, tmp_path)
    subprocess.run(["tree-sitter", "generate"], cwd=copy, check=True)
    for name in ("parser.c", "grammar.json", "node-types.json"):
        assert (copy / "src" / name).read_text() == (ROOT / "grammar" / folder / "src" / name).read_text()


def test_what_is_generated_from_the_forms_of_lines_is_up_to_date() -> None:
    grammar = json.loads((ROOT / "grammar/xla_dump/src/grammar.json").read_text())
    stale = [path for path, text in generated(grammar).items() if (ROOT / path).read_text() != text]
    assert not stale, "stale; run: python grammar/xla_dump/generate.py"
