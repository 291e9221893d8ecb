"""The outline of an HLO module: its computations with their instructions.

An outline over its limit keeps the entry computation, then the computations whose values take the most bytes, then
those with the most instructions. Of the instructions it keeps those whose values take the most bytes. The result is in
the order of the text, and counts include what is left out.
"""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.hlo.mentions import defined_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.outline import Counted, Symbol, SymbolKind
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction import read_instruction


def symbols(dump: DumpSet, module: HloModule, limit: int) -> list[Symbol]:
    """Return the outline of a module: at most `limit` computations, `limit` instructions of the entry, and `limit`
    instructions of all others together. Empty without computations.
    """
    table, sizes = module.columns.computations, _defined_bytes(dump, module)
    if not len(table):
        return []
    sums = np.concatenate((np.zeros(1, np.int64), np.maximum(sizes, 0).cumsum()))
    bytes_inside = sums[table.first_instruction + table.instruction_count] - sums[table.first_instruction]
    order = np.lexsort((-table.instruction_count, -bytes_inside, 1 - table.is_entry))[:limit].tolist()
    children: dict[int, tuple[Symbol, ...]] = {}
    left = limit
    for row in order:
        is_entry = bool(table.is_entry[row])
        most = limit if is_entry else left
        children[row] = tuple(_instructions(module, row, sizes, most)) if most else ()
        left -= 0 if is_entry else len(children[row])
    computations = tuple(
        _computation(module, row, children[row])
        for row in sorted(order, key=lambda row: (not table.is_entry[row], row))
    )
    start, end = module.header()
    name = module.data[start:end].decode("utf-8", "replace") or "HloModule"
    return [
        Symbol(
            name,
            SymbolKind.SECTION,
            *(0, len(module.data), start, end),
            count=len(table),
            counted=Counted.COMPUTATION,
            children=computations,
        )
    ]


def _defined_bytes(dump: DumpSet, module: HloModule) -> Column:
    """For each instruction the bytes of the values that it defines, NONE if unknown."""
    found = np.full(len(module.columns.instructions), NONE)
    sizes = defined_bytes(dump)
    made = np.flatnonzero(sizes != NONE)
    row = module.instruction_rows.rows_of([dump.names[name] for name in made.tolist()])
    found[row[row != NONE]] = sizes[made[row != NONE]]
    return found


def _computation(module: HloModule, row: int, children: tuple[Symbol, ...]) -> Symbol:
    table, (start, end), name = module.columns.computations, module.computation_span(row), module.computation_place(row)
    return Symbol(
        module.computation_name(row).decode("utf-8", "replace"),
        SymbolKind.ENTRY if table.is_entry[row] else SymbolKind.COMPUTATION,
        *(start, end, name.start, name.end),
        count=int(table.instruction_count[row]),
        counted=Counted.INSTRUCTION,
        children=children,
    )


def _instructions(module: HloModule, computation: int, sizes: Column, limit: int) -> Iterator[Symbol]:
    """The instructions of a computation with the biggest values, in the order of the text."""
    rows = module.instructions_of(computation)
    biggest = np.sort(np.argsort(-sizes[rows.start : rows.stop], kind="stable")[:limit]) + rows.start
    table, data = module.columns.instructions, module.data
    columns = (table.start, table.end, table.name_start, table.name_end, sizes)
    for start, end, name_start, name_end, size in zip(*(column[biggest].tolist() for column in columns), strict=True):
        instruction = read_instruction(data, start, end)
        yield Symbol(
            data[name_start:name_end].decode("utf-8", "replace"),
            SymbolKind.INSTRUCTION,
            *(start, end, name_start, name_end),
            size_bytes=size if size != NONE else None,
            opcode=instruction.opcode.decode() if instruction else None,
        )
