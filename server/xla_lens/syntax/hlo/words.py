"""The words of HLO text for editors, found without a syntax tree: those of a module's lines, and those of an
instruction that a dump quotes.

Only the lines in question are read, and of a long instruction only its first `MAX_WORDS_BYTES`.
"""

import re
from typing import Final, TypeAlias

from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.lexical import ARRAY_SHAPE, KEY, NAME, STRING, UNCLOSED
from xla_lens.syntax.hlo.module import ModuleColumns
from xla_lens.text.document import Document
from xla_lens.text.patterns import lazy_pattern

MAX_WORDS_BYTES: Final = 4096
"""The bytes from the start of an instruction in which words are found. The longest instructions have 120,000."""


Word: TypeAlias = tuple[str, int, int]
"""The kind of a word and its bytes in the file. The kind is the name of the word's node in the grammar if it has one.

A plain tuple, because a screen has thousands: named tuples take longer to make and stay tracked by the garbage
collector, which doubles the 98th percentile of semantic tokens.
"""


_WORD: Final = lazy_pattern(
    # Strings within the JSON of a backend configuration match without a group.
    rb"(?<=[= ])(?P<string>" + STRING + rb")|" + STRING + rb"|" + UNCLOSED + rb"|(?P<comment>/\*[^*]*+\*/)"
    rb"|(?P<name>%" + NAME + rb")"
    rb"|(?P<shape>" + ARRAY_SHAPE + rb")"
    rb"|(?P<key>" + KEY + rb")(?==)"
    rb"|(?P<bare_name>[A-Za-z_][^\s{}()\[\]\",=%:]*+)",
    re.DOTALL,
)
_LINE: Final = lazy_pattern(
    rb"[ \t]*(?:(?P<keyword>HloModule|ENTRY)[ \t]+)?(?:(?<=HloModule )(?P<module>[^\s,]+)"
    rb"|(?P<table>FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*$|(?P<number>\d+)[ \t]"
    rb"|(?P<computation>%?" + NAME + rb")[ \t]*(?=[({]))"
)
"""The start of a line of a module that is no instruction. The groups are kinds of words."""


def instruction_words(data: bytes, start: int, end: int) -> list[Word]:
    """Return the words of the instruction at bytes `start` to `end`, in the order of the text.

    Its name has the kind ``instruction``, other names have ``name``; both span their ``%`` if they have one. A
    ``bare_name`` has none and may be any word.
    """
    read = read_instruction(data, start, end)
    if read is None:
        return _words(data, start, end, start)
    name_start = read.name_start - (data[read.name_start - 1 : read.name_start] == b"%")
    return [
        *([("keyword", start, start + len(b"ROOT"))] if start < name_start else []),
        ("instruction", name_start, read.name_end),
        ("shape", read.shape_start, read.shape_end),
        ("opcode", read.opcode_start, read.operands_start - len(b"(")),
        *_words(data, read.operands_start, end, start),
    ]


def module_words(document: Document, columns: ModuleColumns, start: int, end: int) -> list[Word]:
    """Return the words of the lines of a module that bytes `start` to `end` are on, in the order of the text, with the
    kinds of `instruction_words`. The name of a computation has the kind ``computation`` where it is defined.
    """
    data, found = document.data, list[Word]()
    place, end = document.line_at(start)[0], document.line_at(end)[1]
    for first, last in (*columns.instructions.touching(place, end), (end, end)):
        for line_start, line_end in map(document.line_span, range(document.row(place), document.row(first) + 1)):
            if line_start >= place and (line := _LINE.match(data, line_start, min(line_end, first))):
                found += ((kind, *line.span(kind)) for kind in _LINE.groupindex if line[kind])
                found += _words(data, line.end(), min(line_end, first), line_start)
        if first < last:
            found += instruction_words(data, first, last)
        place = max(place, last)
    return found


def _words(data: bytes, start: int, end: int, first: int) -> list[Word]:
    """The words at bytes `start` to `end` of a line or instruction that begins at `first`."""
    found: list[Word] = []
    for match in _WORD.finditer(data, start, end):
        word_start, word_end = match.span()
        if word_start >= first + MAX_WORDS_BYTES:
            break
        if match.lastgroup:
            found.append((match.lastgroup, word_start, word_end))
    return found
