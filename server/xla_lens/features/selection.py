"""Selection ranges: word, row, list, block, section and file around a place."""

from collections.abc import Iterator

from xla_lens.model.places.blocks import blocks
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE, place_in
from xla_lens.syntax.excerpt import nodes_at
from xla_lens.syntax.hlo.enclosing import enclosing, nested


def selection(file: DumpFile, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of a file, smallest first. Each is within the next, the last is the
    file. A place right behind a word belongs to the word.
    """
    return nested(_around(file, offset), offset, len(file.document.data), limit)


def _around(file: DumpFile, offset: int) -> Iterator[tuple[int, int]]:
    data, used = file.document.data, file.columns.used_values
    row = place_in(used.start, offset, "right") - 1
    start, end = (int(column[row]) if row >= 0 else NONE for column in (used.instruction_start, used.instruction_end))
    if start != NONE and start <= offset <= end:
        yield from _within(data, start, end, offset)
    else:
        nodes = nodes_at(data, file.columns, offset)
        yield from ((node_start, node_end) for _, node_start, node_end in nodes)
        if nodes and nodes[0][0] == "shape":
            yield from _within(data, *nodes[0][1:], offset)
    around = blocks(file, offset, offset)
    yield from zip(around.start.tolist(), around.end.tolist(), strict=True)


def _within(data: bytes, start: int, end: int, offset: int) -> Iterator[tuple[int, int]]:
    yield start, end
    spans = enclosing(data[start:end], offset - start)
    yield from ((start + span_start, start + span_end) for span_start, span_end in spans)
