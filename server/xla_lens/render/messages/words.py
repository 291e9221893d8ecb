"""Phrases that messages share."""

from typing import Final

from xla_lens.model.tables.backend import SpaceId
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import shortened

_WIDEST_SHAPE: Final = 80


def quoted(text: str) -> str:
    """A name, or any other text of a dump, in backticks."""
    return f"`{text}`"


def quoted_shape(text: str) -> str:
    """A shape in backticks, truncated to what a message has room for."""
    return f"`{shortened(text, _WIDEST_SHAPE)}`"


def and_others(first: str, others: int, noun: str) -> str:
    """A name and the number of further things: `fusion.5` and 3 other values."""
    if not others:
        return f"`{first}`"
    return f"`{first}` and {others:,} other {noun}{'s' if others > 1 else ''}"


def steps(first: int, last: int) -> str:
    """One step or a range of steps, both ends included."""
    return f"step {first}" if first == last else f"steps {first}\N{EN DASH}{last}"


def byte_range(start: int, end: int) -> str:
    """The bytes from `start` up to, not including, `end`."""
    return f"byte {start:,}" if end == start + 1 else f"bytes {start:,}\N{EN DASH}{end - 1:,}"


def byte_count(number: int) -> str:
    """A number of bytes, not rounded."""
    return f"{number:,} byte{'' if number == 1 else 's'}"


def numbered_space(space: SpaceId) -> str:
    """The name of a memory space with its number, as that is what dumps print: VMEM (memory space 1)."""
    name, number = space_name(space), f"memory space {space.color}"
    return number if name == number else f"{name} ({number})"
