"""Call hierarchy items of HLO modules as text."""

from xla_lens.features.hlo.call_hierarchy import Item
from xla_lens.render.numbers import counted, human


def hlo_item_detail(item: Item) -> str:
    """Return the detail beside the name of an item: ``entry · 12 instructions``, ``fusion · 4.0 KiB · in main``."""
    if item.instruction_count is not None:
        return ("entry · " if item.is_entry else "") + counted(item.instruction_count, "instruction")
    parts = [item.opcode or "?"]
    if item.size_bytes is not None:
        parts.append(human(item.size_bytes))
    return " · ".join((*parts, f"in {item.computation.decode('utf-8', 'replace')}"))
