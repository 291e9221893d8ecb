"""Parse some lines of a dump on request.

No tree of a whole file is kept. The scanner of the grammar recognizes each line by itself, so a few lines parse as they
do within the whole file, in time proportional to their length. Three things involve more than one line and are handled
here: a quoted instruction, which is left out of the parse and read by `hlo/words.py`; a name in the stack trace that
spans lines; and, in standard output, the file that a line belongs to.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from tree_sitter import Node

from xla_lens.syntax.hlo.words import Word, instruction_words
from xla_lens.syntax.tables import FileColumns
from xla_lens.syntax.tree import XLA_DUMP, parse_parts
from xla_lens.text.document import Document, Span
from xla_lens.text.patterns import lazy_pattern


def words(document: Document, columns: FileColumns, start: int, end: int) -> list[Word]:
    """Return the words of the lines of a file that bytes `start` to `end` are on, in the order of the text, and those
    of further lines of the same row. Keywords of the format have their text in quotation marks as kind and exclude the
    punctuation around them. A name includes the index attached to it, and within an instruction its `%`.
    """
    data = document.data
    rows = [(start, end), *columns.stack_traces.touching(start, end)]
    start, end = _line_start(data, min(rows)[0]), data.find(b"\n", max(last for _, last in rows))
    end = end if end >= 0 else len(data)
    instructions = columns.used_values.touching(start, end, "instruction_start", "instruction_end")
    # Whether a line is unknown depends on the lines around it, some of which are not parsed here: the columns decide.
    unknown = columns.unknown_lines.touching(start, end)
    lines = [span for span in unknown if document.begins_line(span[0])]
    found, starts = [("unknown_line", *span) for span in lines], [span[0] for span in lines]
    for word in _words_below(parse_parts(data, _parsed(data, columns, start, end, instructions))):
        before = bisect_right(starts, word[1]) - 1
        if before >= 0 and word[1] < lines[before][1]:
            continue
        is_row = word[0] == "unknown_line" and all(word[1] != first for first, _ in unknown)
        found += _words_below(parse_parts(data, [(_line_start(data, word[1]), word[2])])) if is_row else [word]
    for instruction in instructions:
        found += instruction_words(data, *instruction)
    return sorted(found, key=itemgetter(1))


def _line_start(data: bytes, place: int) -> int:
    return data.rfind(b"\n", 0, place) + 1


def _parsed(data: bytes, columns: FileColumns, start: int, end: int, instructions: list[Span]) -> Iterator[Span]:
    """The spans to parse for the lines from `start` to `end`."""
    yield from _marker(data, columns, start)
    for instruction_start, instruction_end in instructions:
        yield start, instruction_start
        start = instruction_end
    yield start, end


_MARKER: Final = b"*** "
_HEAD: Final = 4096


def _marker(data: bytes, columns: FileColumns, start: int) -> Iterator[Span]:
    """In standard output with several files, the marker line of the file that a byte belongs to. Within a section of a
    dump no marker is needed.
    """
    sections = columns.sections
    if _MARKER in data[:_HEAD] and not ((sections.start <= start) & (start <= sections.end)).any():
        place = data.rfind(b"\n" + _MARKER, 0, start) + 1
        if place or data.startswith(_MARKER):
            # The last line may lack its line end.
            yield place, data.find(b"\n", place, start) + 1 or start


_NOTHING: Final = ("", 0, 0)
_WORDS: Final = lazy_pattern(r"[\w*].*[\w*]|\w")


def _kind(number: int) -> tuple[str, int, int]:
    """The kind of a node, and how many bytes of punctuation it has before and behind its words; empty kind for
    punctuation.
    """
    name = XLA_DUMP.node_kind_for_id(number) or ""
    if XLA_DUMP.node_kind_is_named(number):
        # Its rule starts with the blank before the name.
        return name, int(name == "space_name"), 0
    words = _WORDS.search(name)
    return (f'"{words[0]}"', words.start(), len(name) - words.end()) if words else _NOTHING


_KINDS: Final = {number: _kind(number) for number in range(XLA_DUMP.node_kind_count)}


def _words_below(root: Node) -> list[Word]:
    cursor = root.walk()
    found: list[Word] = []
    while True:
        if cursor.goto_first_child():
            continue
        node = cursor.node
        assert node is not None, "a cursor always stands at a node"
        kind, before, after = _KINDS.get(node.kind_id, _NOTHING)
        if kind:
            start, end = node.start_byte + before, node.end_byte - after
            if kind == "index" and found and found[-1][0] == "name" and found[-1][2] == start:
                found[-1] = ("name", found[-1][1], end)
            elif start < end:
                found.append((kind, start, end))
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
