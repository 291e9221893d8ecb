"""The reader of instructions gives the same results as the grammar."""

import random
from pathlib import Path

import numpy as np
import pytest
from tree_sitter import Node

from hlo_trees import parse_instruction
from samples import module_of, modules, on_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.lexical import Reference, reference_at
from xla_lens.syntax.hlo.shapes import parse_shape, subshape_spans
from xla_lens.syntax.tree import parse_hlo


def _quotes(dump: DumpSet, limit: int) -> list[bytes]:
    """Some of the instructions that a dump quotes, each once."""
    _, rows = np.unique(dump.used_values.name, return_index=True)
    texts = [text for row in rows.tolist() if (text := dump.instruction_text(row))]
    return texts if len(texts) <= limit else random.Random(0).sample(texts, limit)


def _check(text: bytes) -> None:
    parsed, read = parse_instruction(text), read_instruction(text)
    assert parsed
    assert read
    assert (read.opcode, read.shape) == (parsed.opcode, parsed.shape)
    assert text[read.opcode_start :].startswith(read.opcode + b"(")
    assert read.metadata() == parsed.metadata
    assert read.op_name == parsed.metadata.get("op_name")
    _check_operands(text, parsed.operands)
    _check_shape(read.shape)


def _check_operands(text: bytes, operands: tuple[Reference, ...], start: int = 0, end: int | None = None) -> None:
    """Compare all operands at once, and the first and the last one individually."""
    read = read_instruction(text, start, end)
    assert read
    expected = [Reference(operand.name, operand.start + start, operand.end + start) for operand in operands]
    assert [*read.operands()] == expected
    for number in {*range(min(len(operands), 32)), *range(max(0, len(operands) - 2), len(operands))}:
        assert read.operand(number) == expected[number]
    for number in (-1, len(operands), 1 << 80):
        assert read.operand(number) is None


def _check_shape(text: bytes) -> None:
    """Compare the spans of all subshapes, and what is read of each array."""
    found: dict[bytes, tuple[int, int]] = {}

    def add(node: Node | None, index: tuple[int, ...]) -> None:
        assert node
        for number, element in enumerate(node.children_by_field_name("element")):
            add(element, (*index, number))
        found[b"{%s}" % b",".join(b"%d" % number for number in index)] = node.start_byte, node.end_byte
        if node.type == "array_shape":
            _check_array(text[node.start_byte : node.end_byte], node, text)

    add(parse_hlo(text).named_children[0], ())
    assert subshape_spans(text) == found


def _check_array(shape: bytes, node: Node, text: bytes) -> None:
    read, layout = parse_shape(shape), node.child_by_field_name("layout")
    space = layout.child_by_field_name("memory_space") if layout else None
    assert read
    assert read.memory_space == int(text[space.start_byte : space.end_byte] if space else 0)
    assert len(read.tiles) == len(layout.children_by_field_name("tile") if layout else ())
    dimensions = node.child_by_field_name("dimensions")
    assert dimensions
    assert len(read.dimensions) == len(dimensions.named_children)


@on_dumps
def test_quotes_match_the_grammar(analysis: Analysis) -> None:
    for text in _quotes(analysis.dump, 1000):
        _check(text)


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_lines_of_modules_match_the_grammar(path: Path) -> None:
    module = module_of(path)
    for row in range(0, len(module.columns.instructions), 1 + len(module.columns.instructions) // 300):
        start, end = module.span(row)
        read, parsed = module.instruction(row), parse_instruction(module.data[start:end])
        assert read
        assert parsed
        assert (read.name, read.opcode, read.shape) == (module.name(row), parsed.opcode, parsed.shape)
        assert read.metadata() == parsed.metadata
        _check_operands(module.data, parsed.operands, start, end)


_TYPED = b"%f.1 = f32[2]{0:T(8,128)} fusion(f32[2]{0:T(8,128)S(1)} %a.1, (f32[], (s32[], b(u8[4]{0}))) %b), kind=kLoop"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (_TYPED, (b"a.1", b"b")),
        (b"%t = (f32[]{:T(128)}, /*index=1*/s32[]) tuple(%a, /*index=1*/%b), sharding={{replicated}}", (b"a", b"b")),
        (b"%t = (b(f32[2]{0}), f32[2]{0}) custom-call(%a)", (b"a",)),
        (b"%p = f32[2]{0} parameter(3), sharding={replicated}", ()),
        (b"%c = s32[2]{0} constant({1, 2})", ()),
        (b'%c = f32[] constant("%a", %b)', ()),
        (b"%i = s32[4]{0} iota(), iota_dimension=0", ()),
        (b"%a = f32[2]{0} add(%b, null )", (b"b", b"null")),
        (b"%a = f32[2]{0} add(null , %b), calls=%c", (b"null", b"b")),
        (b"ROOT add.1 = f32[2]{0} add(f32[2]{0} arg.1, arg.2), metadata={}", (b"arg.1", b"arg.2")),
        (b"%t = ((((((f32[]))))), s32[]) tuple(((((((f32[]))))), s32[]) %x)", (b"x",)),
        (b'%k = f32[] custom-call(%a), frontend_attributes={m={\n"n":"%x)"\n}}, metadata={op_name="f"}', (b"a",)),
    ],
)
def test_operands_are_read_regardless_of_the_context(text: bytes, names: tuple[bytes, ...]) -> None:
    parsed = parse_instruction(text)
    assert parsed
    assert names == tuple(operand.name for operand in parsed.operands)
    _check_operands(text, parsed.operands)
    inside = b"%x = f32[] negate(%y)\n" + text + b"\n%x = f32[] negate(%y)"
    _check_operands(inside, parsed.operands, 22, 22 + len(text))


@pytest.mark.parametrize(
    ("attributes", "op_name"),
    [
        (b"", None),
        (b", metadata={}", None),
        (b', metadata={op_type="Mul" op_name="a/\\"b\\"" source_line=3}', 'a/"b"'),
        (b', metadata={source_file="x" source_line=3}', None),
        (rb', metadata={op_name="jit(f)/\"q\"\n\303\251" source_file="x y.py" stack_frame_id=7}', 'jit(f)/"q"\né'),
        (b', backend_config={"a":{"b": 1, metadata={op_name="no"}}}', None),
        (b', frontend_attributes={a=", metadata={op_name=\\"no\\"}"}, metadata={op_name="yes"}', "yes"),
        (b', metadata={op_name="f" scheduling_name="g"}, backend_config={"n":"metadata={op_name=h}"}', "f"),
    ],
)
def test_op_name_comes_from_the_metadata_of_the_instruction_itself(attributes: bytes, op_name: str | None) -> None:
    _check(b"%a = f32[] negate(%b)" + attributes)
    read = read_instruction(b"%a = f32[] negate(%b)" + attributes)
    assert read
    assert read.op_name == op_name


def test_only_parameters_have_a_parameter_number() -> None:
    parameter, other = read_instruction(b"%p = f32[2]{0} parameter(3)"), read_instruction(b"%c = s32[] constant(3)")
    assert parameter
    assert other
    assert (parameter.parameter_number, other.parameter_number) == (3, None)


@pytest.mark.parametrize("text", [b"", b"garbage", b"%a", b"%a =", b"f32[2]{0}", b"%a = f32[2]{0}", b"%a = add(%b)"])
def test_invalid_instruction_is_none(text: bytes) -> None:
    assert read_instruction(text) is None


def test_broken_operands_do_not_raise() -> None:
    read = read_instruction(b"%a = f32[2]{0} add(%b, %c")
    assert read
    assert [operand.name for operand in read.operands()] in ([], [b"b", b"c"])


def test_reference_at_finds_the_name_around_a_byte() -> None:
    text = b"%add.1 = f32[] add(%a, %b.2), control-predecessors={%c}"
    for offset in range(len(text) + 1):
        found = reference_at(text, offset)
        if found:
            assert text[found.start : found.end] == b"%" + found.name
            assert found.start <= offset <= found.end
    assert [reference_at(text, text.index(name)) is not None for name in (b"%add", b"%a,", b"%b", b"%c")] == [True] * 4
    assert reference_at(text, text.index(b"f32")) is None
