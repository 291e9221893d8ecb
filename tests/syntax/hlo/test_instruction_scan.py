"""What is read without a tree is what the grammar reads."""

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from samples import analysis_of, assignments, on_all_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.hlo.grammar import Operand, TupleShape, parse_instruction, parse_shape
from xla_lens.syntax.hlo.instruction_scan import instruction_head, op_name_of, operand_at, operand_names, tuple_elements


def _texts(dump: DumpSet, most: int) -> list[bytes]:
    """Some of the instructions that a dump quotes, each once."""
    _, rows = np.unique(dump.used_values.name, return_index=True)
    texts = [text for row in rows.tolist() if (text := dump.instruction_text(row))]
    return texts if len(texts) <= most else random.Random(0).sample(texts, most)


def _check(text: bytes) -> None:
    instruction, head = parse_instruction(text), instruction_head(text)
    assert instruction
    assert head
    assert (head.opcode.decode(), text[head.shape_start : head.shape_end].decode("utf-8")) == (
        instruction.opcode,
        instruction.shape,
    )
    assert operand_names(text) == tuple(operand.name for operand in instruction.operands)
    _check_operands(text, instruction.operands)
    assert op_name_of(text, head) == instruction.op_name
    assert _leaves(text[head.shape_start : head.shape_end]) == _parsed_leaves(instruction.shape.encode())


def _check_operands(text: bytes, operands: tuple[Operand, ...], start: int = 0, end: int | None = None) -> None:
    """The operands one by one: the first, and the last."""
    head = instruction_head(text, start, end)
    assert head
    for number in {*range(min(len(operands), 32)), *range(max(0, len(operands) - 2), len(operands))}:
        assert operand_at(text, head, number, start, end) == operands[number]
    for number in (-1, len(operands), 1 << 80):
        assert operand_at(text, head, number, start, end) is None


def _leaves(text: bytes) -> dict[bytes, object]:
    return {index: parse_shape(text[start:end]) for index, (start, end) in tuple_elements(text).items()}


def _parsed_leaves(text: bytes) -> dict[bytes, object]:
    found: dict[bytes, object] = {}

    def add(shape: object, index: tuple[int, ...]) -> None:
        if isinstance(shape, TupleShape):
            for number, element in enumerate(shape.elements):
                add(element, (*index, number))
        found[b"{%s}" % b",".join(b"%d" % number for number in index)] = shape

    add(parse_shape(text), ())
    return found


@pytest.mark.parametrize("path", assignments(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_instructions_of_real_dumps(path: Path) -> None:
    for text in _texts(analysis_of(path).dump, 300):
        _check(text)


def _check_all(analysis: Analysis) -> int:
    texts = _texts(analysis.dump, 1000)
    for text in texts:
        _check(text)
    return len(texts)


@on_all_dumps(_check_all)
def test_instructions_of_all_dumps(of_all_dumps: Mapping[str, int]) -> None:
    assert sum(of_all_dumps.values()) > 14_000


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
def test_operands(text: bytes, names: tuple[bytes, ...]) -> None:
    assert operand_names(text) == names
    instruction = parse_instruction(text)
    assert instruction
    assert names == tuple(operand.name for operand in instruction.operands)
    inside = b"%x = f32[] negate(%y)\n" + text + b"\n%x = f32[] negate(%y)"
    assert operand_names(inside, 22, 22 + len(text)) == names
    _check_operands(inside, instruction.operands, 22, 22 + len(text))


@pytest.mark.parametrize(
    ("attributes", "op_name"),
    [
        (b"", None),
        (b", metadata={}", None),
        (b', metadata={op_type="Mul" op_name="a/\\"b\\"" source_line=3}', 'a/"b"'),
        (b', metadata={source_file="x" source_line=3}', None),
        (b', backend_config={"a":{"b": 1, metadata={op_name="no"}}}', None),
        (b', frontend_attributes={a=", metadata={op_name=\\"no\\"}"}, metadata={op_name="yes"}', "yes"),
        (b', metadata={op_name="f" scheduling_name="g"}, backend_config={"n":"metadata={op_name=h}"}', "f"),
    ],
)
def test_op_names(attributes: bytes, op_name: str | None) -> None:
    text = b"%a = f32[] negate(%b)" + attributes
    head = instruction_head(text)
    assert head
    assert op_name_of(text, head) == op_name


@pytest.mark.parametrize("text", [b"", b"garbage", b"%a", b"%a =", b"f32[2]{0}", b"%a = f32[2]{0}", b"%a = add(%b)"])
def test_what_is_no_instruction_has_no_head(text: bytes) -> None:
    assert instruction_head(text) is None
    assert operand_names(text) == ()


def test_a_broken_list_of_operands_is_left_to_the_grammar() -> None:
    assert operand_names(b"%a = f32[2]{0} add(%b, %c") in ((), (b"b", b"c"))


def test_parts_of_shapes() -> None:
    shape = b"((s32[], /*index=1*/f32[2,3]{1,0:T(8,128)(2,1)S(1)}), (), b((f32[], u8[])), token[]) tuple(%a)"
    parts = {index: shape[start:end] for index, (start, end) in tuple_elements(shape).items()}
    assert parts == {
        b"{0,0}": b"s32[]",
        b"{0,1}": b"f32[2,3]{1,0:T(8,128)(2,1)S(1)}",
        b"{0}": b"(s32[], /*index=1*/f32[2,3]{1,0:T(8,128)(2,1)S(1)})",
        b"{1}": b"()",
        b"{2}": b"b((f32[], u8[]))",
        b"{3}": b"token[]",
        b"{}": shape[: shape.index(b" tuple")],
    }
    assert tuple_elements(b"f32[2]{0} add(%a)") == {b"{}": (0, 9)}
    assert tuple_elements(b"") == {}
