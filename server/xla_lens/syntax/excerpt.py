"""Some lines of a dump, parsed where they are looked at.

No tree of a whole file is kept. The scanner tells of each line by itself of what kind it is, so that some lines parse
as they do within the whole file, in the time that they take. Three things are about more than a line and are seen to
here: the text of an instruction, which is left out and looked at for itself; a name of the stack trace over several
lines; and on standard output, which file a line belongs to.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_columns import FileColumns
from xla_lens.syntax.hlo.grammar import REFERENCE
from xla_lens.syntax.hlo.instruction_scan import instruction_head
from xla_lens.syntax.tree import XLA_DUMP, parse_parts

LOOKED_AT: Final = 4096
"""In how many bytes from the start of an instruction names, keys and strings are looked for. The longest instructions
have 120,000.
"""


class Part(NamedTuple):
    """Some bytes of a file. `kind` is what the grammars call them. What has no name there is called by its words, in
    quotation marks, and is meant without the punctuation around.
    """

    # A line may have a dozen: a dataclass takes more than twice as long to make.

    kind: str
    start: int
    end: int


def leaves(data: bytes, columns: FileColumns, start: int, end: int) -> list[Part]:
    """The smallest parts of the lines of a file that bytes `start` to `end` are on, in the order of the text; those of
    lines that belong to them, too. A name has the index that is attached to it, and within an instruction its `%`.
    """
    start, end = _whole_rows(data, columns, start, end)
    instructions = _instructions(columns, start, end)
    found = _leaves_below(parse_parts(data, _parsed(data, columns, start, end, instructions)))
    for instruction in instructions:
        found += _leaves_of_instruction(data, *instruction)
    return sorted(found, key=lambda part: part.start)


def parts_at(data: bytes, columns: FileColumns, offset: int) -> list[Part]:
    """The parts of a line that a byte of a file is in, from the smallest on; a place right behind a word counts as the
    word.
    """
    start, end = _whole_rows(data, columns, offset, offset)
    for instruction_start, instruction_end in _instructions(columns, start, end):
        start = max(start, instruction_end) if instruction_end <= offset else start
        end = min(end, instruction_start) if instruction_start >= offset else end
    root = parse_parts(data, _parsed(data, columns, start, end, []))
    found = [leaf for leaf in _leaves_below(root) if leaf.start <= offset <= leaf.end][-1:]
    is_behind = bool(data[offset - 1 : offset].strip()) and not data[offset : offset + 1].strip()
    around = found[0][1:] if found else (offset - is_behind, offset - is_behind + 1)
    node = root.descendant_for_byte_range(*around)
    while node is not None and node.parent is not None:
        found.append(Part(node.type, node.start_byte, node.end_byte))
        node = node.parent
    return found


def _whole_rows(data: bytes, columns: FileColumns, start: int, end: int) -> tuple[int, int]:
    """The lines that some bytes are on, and those that belong to them."""
    traces = columns.stack_traces
    first, last = (int(row) - 1 for row in traces.start.searchsorted((start, end), "right"))
    if first >= 0 and start <= traces.end[first]:
        start = int(traces.start[first])
    if last >= 0:
        end = max(end, int(traces.end[last]))
    line_end = data.find(b"\n", end)
    return data.rfind(b"\n", 0, start) + 1, line_end if line_end >= 0 else len(data)


def _instructions(columns: FileColumns, start: int, end: int) -> list[tuple[int, int]]:
    """The texts of instructions that some bytes are about, in the order of the file."""
    used = columns.used_values
    first, last = used.start.searchsorted((start, end), "right")
    rows = slice(max(0, int(first) - 1), int(last))
    spans = zip(used.instruction_start[rows].tolist(), used.instruction_end[rows].tolist(), strict=True)
    return [span for span in spans if span[0] != NONE and start <= span[1] and span[0] <= end]


def _parsed(
    data: bytes, columns: FileColumns, start: int, end: int, instructions: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """What is to be parsed for the lines from `start` to `end`."""
    yield from _marker(data, columns, start)
    for instruction_start, instruction_end in instructions:
        yield start, instruction_start
        start = instruction_end
    yield start, end


_MARKER: Final = b"*** "
_HEAD: Final = 4096


def _marker(data: bytes, columns: FileColumns, start: int) -> Iterator[tuple[int, int]]:
    """Where several files stand one after another, the marker of the one that a byte belongs to. Within the parts of a
    dump there are none.
    """
    sections = columns.sections
    if _MARKER in data[:_HEAD] and not ((sections.start <= start) & (start <= sections.end)).any():
        place = data.rfind(b"\n" + _MARKER, 0, start) + 1
        if place or data.startswith(_MARKER):
            # The last line may have no end.
            yield place, data.find(b"\n", place, start) + 1 or start


_NOTHING: Final = ("", 0, 0)
_WORDS: Final = re.compile(r"[\w*].*[\w*]|\w")


def _kind(number: int) -> tuple[str, int, int]:
    """What a part is called, and how many of its bytes before and after the words are none; nothing for punctuation."""
    name = XLA_DUMP.node_kind_for_id(number) or ""
    if XLA_DUMP.node_kind_is_named(number):
        # Its rule begins with the blank before.
        return name, int(name == "space_name"), 0
    words = _WORDS.search(name)
    return (f'"{words[0]}"', words.start(), len(name) - words.end()) if words else _NOTHING


_KINDS: Final = {number: _kind(number) for number in range(XLA_DUMP.node_kind_count)}


def _leaves_below(root: Node) -> list[Part]:
    cursor = root.walk()
    found: list[Part] = []
    while True:
        if cursor.goto_first_child():
            continue
        node = cursor.node
        assert node is not None, "a cursor always stands at a node"
        kind, before, after = _KINDS.get(node.kind_id, _NOTHING)
        if kind:
            start, end = node.start_byte + before, node.end_byte - after
            if kind == "index" and found and found[-1].kind == "name" and found[-1].end == start:
                found[-1] = Part("name", found[-1].start, end)
            elif start < end:
                found.append(Part(kind, start, end))
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


_LEAF: Final = re.compile(
    REFERENCE.pattern + rb'|[ {](?P<key>[A-Za-z_][A-Za-z0-9_.-]*+)=(?P<string>"(?:[^"\\%]|\\.)*+")?', re.DOTALL
)


def _leaves_of_instruction(data: bytes, start: int, end: int) -> Iterator[Part]:
    """Names, the shape, the opcode, keys and the strings after them, found without a tree. Of a string with names in it
    these are found instead: backend configurations quote instructions.
    """
    last = start + LOOKED_AT
    head = instruction_head(data, start, end)
    if head:
        opcode_end = head.operands_start - len(b"(")
        name = REFERENCE.match(data, start)
        if name:
            yield Part("name", name.start(), name.end())
        yield Part("shape", head.shape_start, head.shape_end)
        yield Part("opcode", opcode_end - len(head.opcode), opcode_end)
        start = head.operands_start
    for match in _LEAF.finditer(data, start, end):
        if match.start() >= last:
            break
        if match[1]:
            yield Part("name", *match.span())
        else:
            yield Part("key", *match.span("key"))
        if match["string"]:
            yield Part("string", *match.span("string"))
