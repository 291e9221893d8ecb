"""The details of document symbols."""

from typing import Final

from xla_lens.model.places.outline import Counted, Symbol, SymbolKind
from xla_lens.model.tables.kinds import kind_text
from xla_lens.render.numbers import counted, human

_NOUNS: Final = {
    Counted.PART: "part",
    Counted.ALLOCATION: "allocation",
    Counted.VALUE: "value",
    Counted.INSTRUCTION: "instruction",
    Counted.LIVE_RANGE: "live range",
    Counted.COMPUTATION: "computation",
}


def symbol_detail(symbol: Symbol) -> str:
    """Return the detail beside the name: opcode, size, kind and number of children: ``fusion · 1.53 MiB``,
    ``1.53 MiB · parameter, maybe-live-out · 2 values``.
    """
    parts = ["entry"] if symbol.kind is SymbolKind.ENTRY else []
    if symbol.opcode is not None:
        parts.append(symbol.opcode)
    if symbol.size_bytes is not None:
        parts.append(human(symbol.size_bytes))
    if symbol.allocation_kind:
        parts.append(kind_text(symbol.allocation_kind))
    if symbol.count:
        shown = len(symbol.children)
        truncated = f"the {shown:,} largest of " if 0 < shown < symbol.count else ""
        parts.append(truncated + counted(symbol.count, _NOUNS[symbol.counted]))
    return " · ".join(parts)
