"""Semantic tokens, shared by dump files and HLO modules."""

from enum import IntEnum, auto
from typing import NamedTuple


class TokenType(IntEnum):
    """The type of a token."""

    SECTION = auto()
    """The header of a section."""
    KEYWORD = auto()
    """A word that introduces what follows: ``allocation``, ``uses:``."""
    PROPERTY = auto()
    """The name of an attribute: ``size``, ``op_name``."""
    ALLOCATION = auto()
    """The index of an allocation."""
    VALUE = auto()
    """A name that means a value, with its index."""
    INSTRUCTION = auto()
    """A name that means no value."""
    COMPUTATION = auto()
    STEP = auto()
    NUMBER = auto()
    """An id, a size, an offset, or an index without a name."""
    SHAPE = auto()
    OPCODE = auto()
    KIND = auto()
    """The kind of an allocation, or the mark of a phi value."""
    STRING = auto()
    """Other text: frames of the stack trace, strings in instructions, file names."""
    COMMENT = auto()
    """The column headers of a report."""


class Token(NamedTuple):
    """A token from byte `start` to `end`. `is_definition` is whether the token defines its value, allocation,
    instruction or computation. `is_live_at_peak` is whether the value is live at the peak of its memory space.
    """

    # A named tuple, because a screen has thousands of tokens and a dataclass takes more than twice as long to create.

    start: int
    end: int
    type: TokenType
    is_definition: bool = False
    is_live_at_peak: bool = False
