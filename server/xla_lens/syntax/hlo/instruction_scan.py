"""The head of an instruction's text, read without a tree: its shape, its opcode and what it reads.

To parse the longest instructions takes 10 ms, most of it for attributes. What is asked of all instructions of a dump at
once is found here by looking at the head only, up to the end of the operand list, and at the metadata. The grammar is
still who decides what an instruction is: whatever is not plainly of the usual form is left to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from xla_lens.syntax.hlo.grammar import NAME, REFERENCE, Operand, parse_instruction, parsed_metadata, unquoted


@dataclass(frozen=True, slots=True)
class InstructionHead:
    """The shape is at bytes `shape_start` to `shape_end`; the operands start behind their bracket, at
    `operands_start`. All are bytes of the text that was given, not of the part that was looked at.
    """

    shape_start: int
    shape_end: int
    opcode: bytes
    operands_start: int


_BEFORE_SHAPE: Final = re.compile(rb"\s*(?:ROOT\s+)?%?" + NAME + rb"\s*=\s*(?=[a-z(])")
# A shape ends with a bracket, and inside of a shape none is before a blank. So this is the first that fits.
_AFTER_SHAPE: Final = re.compile(rb"(?<=[)\]}])\s+([a-z][a-z0-9-]*)\(")
# Up to the bracket that closes the list. Shapes of operands nest; what nests deeper is left to the grammar.
_TO_CLOSE: Final = re.compile(rb"(?:[^()]++|\((?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\))*+\)")
_WITHOUT_NAMES: Final = (b"parameter", b"constant")


def instruction_head(text: bytes, start: int = 0, end: int | None = None) -> InstructionHead | None:
    """The head of the instruction at bytes `start` to `end` of a text; None if there is none."""
    end = len(text) if end is None else end
    before = _BEFORE_SHAPE.match(text, start, end)
    if before is None:
        return None
    is_tuple = text[before.end() : before.end() + 1] == b"("
    # To look for the end of a tuple first is ten times as fast, and the longest shapes are tuples.
    near = text.find(b") ", before.end(), end) if is_tuple else before.end()
    after = _AFTER_SHAPE.search(text, near, end) if near >= 0 else None
    return InstructionHead(before.end(), after.start(), after[1], after.end()) if after else None


def operand_names(text: bytes, start: int = 0, end: int | None = None) -> tuple[bytes, ...]:
    """The names of the operands of the instruction at bytes `start` to `end` of a text, without `%`, by operand number.

    Operands that are no names (literals, the number of a parameter) are left out, as in `Instruction.operands`.
    """
    head = instruction_head(text, start, end)
    return operands_of(text, head, start, end) if head else ()


def operands_of(text: bytes, head: InstructionHead, start: int = 0, end: int | None = None) -> tuple[bytes, ...]:
    """`operand_names` where the head is known."""
    end = len(text) if end is None else end
    list_end, is_usual = _operand_list(text, head, end)
    if is_usual:
        return tuple(REFERENCE.findall(text, head.operands_start, list_end))
    return tuple(operand.name for operand in _parsed_operands(text[start:list_end]))


def operand_places(text: bytes, head: InstructionHead, start: int, end: int) -> tuple[Operand, ...]:
    """The operands as `operands_of` gives them, with the bytes of the text that they stand at."""
    list_end, is_usual = _operand_list(text, head, end)
    if is_usual:
        names = REFERENCE.finditer(text, head.operands_start, list_end)
        return tuple(Operand(name[1], name.start(), name.end()) for name in names)
    operands = _parsed_operands(text[start:list_end])
    return tuple(Operand(operand.name, operand.start + start, operand.end + start) for operand in operands)


def operands_end(text: bytes, head: InstructionHead, end: int) -> int:
    """Where the list of operands ends, its closing bracket included."""
    return _operand_list(text, head, end)[0]


def operand_at(
    text: bytes, head: InstructionHead, number: int, start: int = 0, end: int | None = None
) -> Operand | None:
    """An operand, by its number, of the instruction at bytes `start` to `end` of a text whose head is known. Its own
    bytes are counted from `start`. None if there are not that many.
    """
    end = len(text) if end is None else end
    if not 0 <= number < end - start:
        return None
    list_end, is_usual = _operand_list(text, head, end)
    if is_usual:
        match = next(islice(REFERENCE.finditer(text, head.operands_start, list_end), number, None), None)
        return Operand(match[1], match.start() - start, match.end() - start) if match else None
    operands = _parsed_operands(text[start:list_end])
    return operands[number] if number < len(operands) else None


def _operand_list(text: bytes, head: InstructionHead, end: int) -> tuple[int, bool]:
    """Where the list of operands ends, and whether each `%name` in it is an operand and there is no other. Else it is
    left to the grammar: names without `%` are of HLO modules, and of operands that are deleted, `null`.
    """
    if head.opcode in _WITHOUT_NAMES:
        return head.operands_start, True
    close = _TO_CLOSE.match(text, head.operands_start, end)
    operands = close[0] if close else b""
    is_usual = operands == b")" or (b"%" in operands and b"null" not in operands)
    return close.end() if close else end, is_usual


def _parsed_operands(text: bytes) -> tuple[Operand, ...]:
    instruction = parse_instruction(text)
    return instruction.operands if instruction else ()


_METADATA: Final = b", metadata={"
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_FIELD: Final = re.compile(rb'\s*([A-Za-z_][A-Za-z0-9_.-]*)=("(?:[^"\\]|\\.)*+"|[^\s{}()\[\]",=%]++)', re.DOTALL)


def op_name_of(text: bytes, head: InstructionHead, start: int = 0, end: int | None = None) -> str | None:
    """The `op_name` of the instruction at bytes `start` to `end` of a text whose head is known; None if it has none."""
    return next((value for name, value in metadata_of(text, head, start, end) if name == "op_name"), None)


def metadata_of(
    text: bytes, head: InstructionHead, start: int = 0, end: int | None = None
) -> Iterator[tuple[str, str]]:
    """The fields of the metadata of the instruction at bytes `start` to `end` of a text whose head is known."""
    end = len(text) if end is None else end
    place = text.find(_METADATA, head.operands_start, end)
    if place < 0:
        return
    before = text[head.operands_start : place]
    if b'"' in before:
        before = _STRING.sub(b"", before)
    if b'"' in before or before.count(b"{") != before.count(b"}"):
        # It stands in a string, or inside of a backend configuration.
        yield from parsed_metadata(text[start:end])
        return
    place += len(_METADATA)
    told: set[str] = set()
    while field := _FIELD.match(text, place, end):
        name, value = field[1].decode("utf-8", "replace"), field[2].decode("utf-8", "replace")
        told.add(name)
        yield name, unquoted(value)
        place = field.end()
    if text[place : place + 1] != b"}":
        yield from ((name, value) for name, value in parsed_metadata(text[start:end]) if name not in told)


_ARRAY: Final = rb"[a-z][a-z0-9]*\[[^\]]*+\](?:\{(?:[^{}]++|\{[^{}]*+\})*+\})?"
_SHAPE_PART: Final = re.compile(_ARRAY + rb"|b?\(|\)")


def _flat_elements(shape: bytes) -> dict[bytes, tuple[int, int]]:
    """`tuple_elements` of a tuple of arrays, which most are; nothing of other shapes."""
    found: dict[bytes, tuple[int, int]] = {}
    if not shape.startswith(b"(") or shape.startswith((b"((", b"(b(", b"()")) or b", (" in shape or b" b(" in shape:
        return found
    if b"*/(" in shape or not shape.endswith(b")"):
        return found
    start = 1
    for number, element in enumerate(shape[1:-1].split(b", ")):
        end = start + len(element)
        comment = element.find(b"*/") + 2 if element.startswith(b"/*") else 0
        found[b"{%d}" % number] = (start + comment, end)
        start = end + 2
    found[b"{}"] = (0, len(shape))
    return found


def tuple_elements(shape: bytes) -> dict[bytes, tuple[int, int]]:
    """Where in the text of a shape its parts stand, by their index: ``{}`` is the whole, ``{1,0}`` the first element of
    the second. Tuples come after their elements. What follows the shape does not matter.
    """
    found = _flat_elements(shape)
    if found:
        return found
    # The index of the part that comes next, and the starts of the tuples that are open around it.
    index: list[int] = []
    starts: list[int] = []
    # A buffer, `b(...)`, is one part, whatever is inside.
    buffer_start, buffer_depth = 0, 0
    for part in _SHAPE_PART.finditer(shape):
        text, start = part[0], part.start()
        if text == b"b(" or (buffer_depth and text == b"("):
            buffer_start = buffer_start if buffer_depth else start
            buffer_depth += 1
            continue
        if buffer_depth:
            buffer_depth -= text == b")"
            if buffer_depth or text != b")":
                continue
            start = buffer_start
        elif text == b"(":
            starts.append(start)
            index.append(0)
            continue
        elif text == b")":
            if not starts:
                break
            start = starts.pop()
            index.pop()
        found[b"{%s}" % b",".join(b"%d" % number for number in index)] = (start, part.end())
        if not index:
            break
        index[-1] += 1
    return found
