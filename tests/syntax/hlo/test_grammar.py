"""Instructions and shapes."""

import pytest

from samples import SEED, analysis_of
from xla_lens.syntax.hlo.grammar import TupleShape, name_at, parse_instruction, parse_shape


@pytest.mark.parametrize(
    ("shape", "byte_size"),
    [
        ("f32[64,16]{1,0}", 4096),
        ("f32[]", 4),
        ("pred[3]", 3),
        ("bf16[8,1]{1,0:T(8,128)(2,1)}", 16),
        ("c128[2]{0}", 32),
        ("f8e4m3fn[10]", 10),
        ("s4[3,3]{1,0}", 9),
        ("s4[3,3]{1,0:E(4)}", 5),
        ("u2[7]{0:E(2)}", 2),
        ("f32[<=64]{0}", 256),
        ("f32[?,2]", None),
        ("f32[0,7]", 0),
        ("token[]", 0),
        ("opaque[]", 8),
        ("()", 0),
        ("(f32[100], (s32[], s32[]))", 16),
        ("newtype[4]", None),
    ],
)
def test_byte_sizes_are_those_of_shape_util(shape: str, byte_size: int | None) -> None:
    parsed = parse_shape(shape.encode())
    assert (parsed.byte_size if parsed else None) == byte_size


def test_layouts() -> None:
    shape = parse_shape(b"bf16[2,1024]{1,0:T(8,128)(2,1)S(5)}")
    assert shape is not None
    assert not isinstance(shape, TupleShape)
    assert (shape.dimensions, shape.minor_to_major) == ((2, 1024), (1, 0))
    assert (shape.tiles, shape.memory_space, shape.is_split) == (((8, 128), (2, 1)), 5, False)
    split = parse_shape(b"f32[64]{0:T(128)SC(0:32)}")
    assert split is not None
    assert not isinstance(split, TupleShape)
    assert split.is_split


@pytest.mark.parametrize("text", [b"", b"<unknown shape>", b"f32[", b"f32[2]{0} f32[2]{0}", b"\xff"])
def test_what_is_no_shape_is_none(text: bytes) -> None:
    assert parse_shape(text) is None


def test_the_parts_of_an_instruction() -> None:
    text = (
        b"%dot.1 = f32[2]{0} dot(f32[4]{0} %a.1, (s32[], f32[2]) %b), lhs_contracting_dims={1}, "
        rb'metadata={op_name="jit(f)/\"q\"\n\303\251" source_file="x y.py" source_line=52 stack_frame_id=7}'
    )
    instruction = parse_instruction(text)
    assert instruction is not None
    assert (instruction.opcode, instruction.shape) == ("dot", "f32[2]{0}")
    assert [text[operand.start : operand.end] for operand in instruction.operands] == [b"%a.1", b"%b"]
    assert [operand.name for operand in instruction.operands] == [b"a.1", b"b"]
    assert instruction.op_name == 'jit(f)/"q"\né'
    assert (instruction.source_file, instruction.source_line, instruction.stack_frame_id) == ("x y.py", 52, 7)


def test_constants_have_no_operands() -> None:
    instruction = parse_instruction(b"%c = s32[2]{0} constant({1, 2})")
    assert instruction is not None
    assert instruction.operands == ()


@pytest.mark.parametrize("text", [b"", b"garbage", b"%a", b"%a =", b"f32[2]{0}"])
def test_what_is_no_instruction_is_none(text: bytes) -> None:
    assert parse_instruction(text) is None


def test_an_operand_without_a_name_is_none() -> None:
    instruction = parse_instruction(b"%a = f32[2]{0} add(f32[2]{0} %b, f32[2]{0}), metadata={}")
    assert instruction
    assert [operand.name for operand in instruction.operands] == [b"b"]


def test_the_name_at_a_byte() -> None:
    text = b"%add.1 = f32[] add(%a, %b.2), control-predecessors={%c}"
    for offset in range(len(text) + 1):
        found = name_at(text, offset)
        if found:
            assert text[found.start : found.end] == b"%" + found.name
            assert found.start <= offset <= found.end
    assert [name_at(text, text.index(name)) is not None for name in (b"%add", b"%a,", b"%b", b"%c")] == [True] * 4
    assert name_at(text, text.index(b"f32")) is None


def test_every_instruction_of_a_dump_is_read() -> None:
    dump = analysis_of(SEED).dump
    read = {dump.names[name]: dump.instruction(int(name)) for name in dump.values.name}
    opcodes = {name.decode(): instruction.opcode if instruction else None for name, instruction in read.items()}
    assert opcodes == {
        "param": "parameter",
        "param.1": "parameter",
        "negate.0": "negate",
        "tuple": "tuple",
        "cublas-gemm.1": "custom-call",
        "fusion": "fusion",
    }
