"""The words of texts, whatever they are of, for colours."""

from enum import IntEnum, auto
from typing import NamedTuple


class TokenType(IntEnum):
    """What a word is."""

    SECTION = auto()
    """The header of a part of the dump."""
    KEYWORD = auto()
    """A word that says what follows in the line or below: ``allocation``, ``uses:``."""
    PROPERTY = auto()
    """The name of a number or of another attribute: ``size``, ``op_name``."""
    ALLOCATION = auto()
    """The index of an allocation."""
    VALUE = auto()
    """A name that means a value, with the index that is attached to it."""
    INSTRUCTION = auto()
    """A name that means no value."""
    COMPUTATION = auto()
    STEP = auto()
    NUMBER = auto()
    """An id, a size, an offset, an index standing alone."""
    SHAPE = auto()
    OPCODE = auto()
    KIND = auto()
    """What an allocation is for; that a value is a phi."""
    STRING = auto()
    """Any text: the frames of the stack trace, strings of an instruction, the name of a file."""
    COMMENT = auto()
    """What is not for programs: the headers of a report's columns."""


class Token(NamedTuple):
    """A word, from byte `start` to `end`. `is_definition` tells that the value, allocation, instruction or
    computation is defined there; `is_live_at_peak` that the value is live at the peak of its memory space.
    """

    # A screen has thousands: a dataclass takes more than twice as long to make.

    start: int
    end: int
    type: TokenType
    is_definition: bool = False
    is_live_at_peak: bool = False
