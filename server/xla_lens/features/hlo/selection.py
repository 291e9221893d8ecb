"""Selection ranges in an HLO module: word, list or attribute, instruction or line, computation or table, file."""

from collections.abc import Iterator

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.enclosing import enclosing, nested


def selection(module: HloModule, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of a module, innermost first, each within the next; the last is the
    whole file. An offset right behind a word counts as the word.
    """
    return nested(_around(module, offset), offset, len(module.data), limit)


def _around(module: HloModule, offset: int) -> Iterator[tuple[int, int]]:
    document, instruction = module.file.document, module.instruction_at(offset)
    start, end = module.span(instruction) if instruction != NONE else document.line_span(document.row(offset))
    yield start, end
    spans = enclosing(module.data[start:end], min(offset, end) - start)
    yield from ((start + span_start, start + span_end) for span_start, span_end in spans)
    computation, tables = module.computation_at(offset), module.columns.stack_tables
    if computation != NONE:
        yield module.computation_span(computation)
    for row in ((tables.start <= offset) & (offset <= tables.end)).nonzero()[0].tolist():
        yield int(tables.start[row]), int(tables.end[row])
