"""The details of call hierarchy items."""

from xla_lens.features.call_hierarchy import Item
from xla_lens.model.tables.kinds import kind_text
from xla_lens.render.numbers import counted, human


def item_detail(item: Item) -> str:
    """Return the detail of an item: size, allocation and live range: ``4.0 KiB · allocation 2, temp · live 4–5``."""
    parts = [] if item.value_count == 1 else [counted(item.value_count, "value") if item.value_count else "no value"]
    if item.size_bytes is not None:
        parts.append(human(item.size_bytes))
    if item.allocation is not None:
        kind = kind_text(item.kind) if item.kind else ""
        parts.append(f"allocation {item.allocation}" + (f", {kind}" if kind else ""))
    if item.live_range is not None:
        parts.append(f"live {item.live_range[0]}–{item.live_range[1]}")
    return " · ".join(parts)
