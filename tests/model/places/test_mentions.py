"""The words that are mentions in each table, and that every byte of a word gives the same mention."""

import random
import re
from collections.abc import Iterator

from samples import SEED, analysis_of, on_dumps, parsed_instruction
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.mentions import mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, FileTable

_NAME = rb"[A-Za-z_][A-Za-z0-9_.-]*"
_INDEX = rb"\{[0-9,]*\}"
_VALUE = rb"(<\d+ " + _NAME + rb"(?:" + _INDEX + rb")?(?: \(phi\))?(?: @\d+)?>)"
_WORDS = {
    "slices": rb"value: " + _VALUE + rb" \(size=.*",
    "used_values": _VALUE,
    "positions": rb"(" + _NAME + rb"(?: " + _INDEX + rb")?)",
    "uses": rb"(" + _NAME + rb"), (operand \d+(?: " + _INDEX + rb")?)",
    "schedule": rb"(\d+):(" + _NAME + rb")",
    "live_ranges": rb"(" + _NAME + _INDEX + rb"):(\d+)-(\d+)",
    "peaks": rb"(Live ranges at \d+ \(peak\):)",
    "peak_buffers": rb"(" + _NAME + rb"(?:" + _INDEX + rb")?): \d+ bytes.*",
    "stack_traces": rb".*? (" + _NAME + _INDEX + rb") \(\d.*",
    "report_allocations": rb"(allocation \d+: .*)",
}
"""The rows of each table, with mentions in brackets."""


@on_dumps
def test_every_byte_of_a_word_gives_its_mention(analysis: Analysis) -> None:
    """Some words of each table."""
    count = 0
    for file, start, end in _words(analysis.dump, 12):
        word = file.document.data[start:end]
        braces = (start + place.start() for place in re.finditer(rb"[{},<>]", word))
        for offset in (start, (start + end) // 2, end, *braces):
            mention = mention_at(analysis.dump, file, offset)
            assert mention, (word, offset - start)
            assert (mention.start, mention.end) == (start, end), (word, offset - start)
        count += 1
    assert count > 10


def _words(dump: DumpSet, most: int) -> Iterator[tuple[DumpFile, int, int]]:
    for file in dump.files:
        for table, pattern in _WORDS.items():
            for start, end in _rows(getattr(file.columns, table), most):
                match = re.fullmatch(pattern, file.document.data[start:end], re.DOTALL)
                assert match or table == "stack_traces", file.document.data[start:end]
                # A stack trace ends with an op_name instead of a value if that has no calls.
                if match and (table != "stack_traces" or dump.name_number(match[1].split(b"{")[0]) != NONE):
                    yield from ((file, start + first, start + last) for first, last in match.regs[1:])
    for name in random.Random(0).sample(range(len(dump.names)), min(most, len(dump.names))):
        instruction = parsed_instruction(dump, name)
        if dump.used and instruction:
            start = int(dump.used_values.instruction_start[dump.first_quote[name]])
            yield dump.used, start, start + len(b"%" + dump.names[name])
            yield from ((dump.used, start + word.start, start + word.end) for word in instruction.operands[:most])


def _rows(table: FileTable, most: int) -> list[tuple[int, int]]:
    rows = random.Random(0).sample(range(len(table)), min(most, len(table)))
    return [(int(table.start[row]), int(table.end[row])) for row in rows]


def test_the_rest_of_a_row_means_its_value() -> None:
    analysis = analysis_of(SEED)
    (file,) = analysis.dump.files
    for row in (
        b" value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}",
        b"    cublas-gemm.1: 4096 bytes",
    ):
        line = file.document.data.index(row)
        mentions = {mention_at(analysis.dump, file, line + column) for column in range(len(row) + 1)} - {None}
        assert len(mentions) == 1
