"""The HLO grammar parses whole modules, and recovers from broken ones."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree_sitter import Node, Parser, Query, QueryCursor

from samples import DUMPS, ROOT, SHARED_DUMPS, damaged, needs_shared_dumps
from xla_lens.syntax.tree import HLO

# Keeps the queries alive until the end: the binding frees the predicates of a query twice (tree-sitter 0.26.1).
_QUERIES = {path.stem: Query(HLO, path.read_text()) for path in sorted((ROOT / "grammar/hlo/queries").glob("*.scm"))}
_PARTS = Query(HLO, "[(instruction) (computation)] @part")

_INSTRUCTION = re.compile(rb"^  (?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
_COMPUTATION = re.compile(rb"^(?:ENTRY )?%?[\w.-]+ (?:\(.*\) -> .* )?\{\r?$", re.MULTILINE)


def _modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*after_optimizations.txt"))


_MODULES = pytest.mark.parametrize("path", _modules(DUMPS), ids=lambda path: str(path.relative_to(DUMPS)))


def _root(text: bytes) -> Node:
    return Parser(HLO).parse(text).root_node


def _captured(query: Query, root: Node, name: str) -> list[Node]:
    return QueryCursor(query).captures(root).get(name, [])


def _starts(text: bytes) -> list[int]:
    """The offsets at which instructions and computations start, found with regular expressions."""
    found = [match.start() + 2 for match in _INSTRUCTION.finditer(text)]
    return sorted(found + [match.start() for match in _COMPUTATION.finditer(text)])


def _parts(text: bytes) -> list[int]:
    return sorted(node.start_byte for node in _captured(_PARTS, _root(text), "part"))


@_MODULES
def test_every_instruction_and_computation_is_found(path: Path) -> None:
    text = path.read_bytes()
    assert not _root(text).has_error
    assert _parts(text) == _starts(text) != []


@_MODULES
def test_every_module_parses_with_crlf(path: Path) -> None:
    text = path.read_bytes()
    assert str(_root(text.replace(b"\n", b"\r\n"))) == str(_root(text))


@needs_shared_dumps
def test_every_instruction_and_computation_of_the_collection_is_found() -> None:
    paths = _modules(SHARED_DUMPS)
    for path in paths:
        text = path.read_bytes()
        assert not _root(text).has_error, path
        assert _parts(text) == _starts(text), path
    assert len(paths) > 200


@_MODULES
def test_broken_line_does_not_affect_its_neighbors(path: Path) -> None:
    text = path.read_bytes()
    whole = set(_names(text))
    lines = text.splitlines(keepends=True)
    for number, broken in list(damaged(text))[:: max(1, len(lines) // 40)]:
        lost = {name for name in whole - set(_names(broken)) if name not in lines[number]}
        # Without its end, a computation swallows the first line of the next one, and an instruction of several lines
        # the rest of its computation.
        assert len(lost) <= (2 if lines[number].startswith(b"}") else 0), (number, lines[number], lost)


@pytest.mark.parametrize(
    "piece", [b"{", b"(", b'"', b'"a\n', b"{\n", b"[", b"a=", b"%x = f32[] ", b"HloModule ", b"\n"]
)
@pytest.mark.parametrize("before", [b"", b"HloModule a\n\n%x () -> () {\n  %y = f32[] add(), a={"])
def test_unclosed_text_parses_to_its_end(before: bytes, piece: bytes) -> None:
    text = before + piece * 20_000
    assert _root(text).end_byte == len(text)


@_MODULES
def test_tags_name_definitions_and_calls(path: Path) -> None:
    text = path.read_bytes()
    root = _root(text)
    tags = QueryCursor(_QUERIES["tags"]).captures(root)
    assert len(tags["definition.module"]) == 1
    assert len(tags["definition.function"]) == len(_COMPUTATION.findall(text))
    assert len(tags["definition.variable"]) == len(_INSTRUCTION.findall(text))
    defined = {node.text for node in tags["name"]}
    for node in tags.get("reference.call", []):
        value = node.child_by_field_name("value")
        assert value
        assert {name.text for name in _leaves(value) if name.type == "name"} <= defined
    calls = re.findall(rb", (?:calls|to_apply|body|condition)=", text)
    assert len(tags.get("reference.call", [])) >= len(calls)


@_MODULES
def test_highlights_cover_every_leaf(path: Path) -> None:
    root = _root(path.read_bytes())
    captures = QueryCursor(_QUERIES["highlights"]).captures(root).values()
    highlighted = {(node.start_byte, node.end_byte) for nodes in captures for node in nodes}
    leaves = [node for node in _leaves(root) if node.is_named and node.type != "tuple_shape"]
    assert not {node.type for node in leaves if (node.start_byte, node.end_byte) not in highlighted}


def _names(text: bytes) -> list[bytes]:
    nodes = _captured(_PARTS, _root(text), "part")
    return [name.text or b"" for node in nodes if (name := node.child_by_field_name("name"))]


def _leaves(node: Node) -> Iterator[Node]:
    if not node.child_count:
        yield node
    for child in node.children:
        yield from _leaves(child)
