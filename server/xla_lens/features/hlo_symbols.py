"""The outline of an HLO module: its computations with their instructions.

An outline has a limit. The entry stands first, whatever there is besides. Of the others the biggest stay: those whose
values take the most bytes, then those with the most instructions; the same goes for instructions. What stays is in the
order of the text, and where some are left out it is said.
"""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.hlo_module import HloModule
from xla_lens.model.outline import Counted, Symbol, SymbolKind
from xla_lens.syntax.columns import NONE, Column


def hlo_symbols(dump: DumpSet, module: HloModule, limit: int) -> list[Symbol]:
    """The outline of a module: `limit` computations at most, as many instructions of the entry, and as many of all the
    others together. Nothing where there are no computations.
    """
    table, sizes = module.columns.computations, _made_bytes(dump, module)
    if not len(table):
        return []
    sums = np.concatenate((np.zeros(1, np.int64), np.maximum(sizes, 0).cumsum()))
    bytes_inside = sums[table.first_instruction + table.instruction_count] - sums[table.first_instruction]
    order = np.lexsort((-table.instruction_count, -bytes_inside, 1 - table.is_entry))[:limit].tolist()
    children: dict[int, tuple[Symbol, ...]] = {}
    left = limit
    for row in order:
        is_entry = bool(table.is_entry[row])
        children[row] = tuple(_instructions(module, row, sizes, limit if is_entry else left))
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


def _made_bytes(dump: DumpSet, module: HloModule) -> Column:
    """For each instruction the bytes of the values that it makes, NONE if it makes none."""
    names, values = dump.values.name, np.flatnonzero(dump.values.size_bytes != NONE)
    found = np.full(len(module.columns.instructions), NONE)
    sizes = np.zeros(len(dump.names), np.int64)
    np.add.at(sizes, names[values], dump.values.size_bytes[values])
    for name in np.unique(names[values]).tolist():
        row = module.instruction(dump.names[name])
        if row != NONE:
            found[row] = sizes[name]
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
    """The instructions of a computation whose values are the biggest, in the order of the text."""
    rows = module.instructions_of(computation)
    biggest = np.sort(np.argsort(-sizes[rows.start : rows.stop], kind="stable")[:limit]) + rows.start
    for row in biggest.tolist():
        (start, end), name, head = module.span(row), module.place(row), module.head(row)
        yield Symbol(
            module.name(row).decode("utf-8", "replace"),
            SymbolKind.INSTRUCTION,
            *(start, end, name.start, name.end),
            size_bytes=int(sizes[row]) if sizes[row] != NONE else None,
            opcode=head.opcode.decode() if head else None,
        )
