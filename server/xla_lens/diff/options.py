"""What a comparison contains, as the command line understands it. Imports nothing of the model."""

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    # Imports numpy, which takes 100 ms. The arguments of the command line, and so its help, need this module.
    from xla_lens.model.tables.backend import SpaceId


class DiffPart(StrEnum):
    """A part of a comparison, as `--part` names it."""

    GROUP = "group"
    LINE = "line"
    PARAMETER = "parameter"
    OP_NAME = "op_name"
    OPCODE = "opcode"
    KIND = "kind"
    VALUES = "values"
    TOTALS = "totals"


DEFAULT_DIFF_TOP: Final = 10
"""Rows of each list in a comparison for people. JSON has all rows unless a limit is given."""


class DiffOptions(NamedTuple):
    """What a comparison contains. `top` limits the rows of each list, None for no limit."""

    top: int | None = None
    parts: frozenset[DiffPart] = frozenset(DiffPart)


class Increase(NamedTuple):
    """How much a number of bytes of some memory spaces may grow: by `limit_bytes`, or by `limit_percent` of what it
    was. `text` is the limit as the user wrote it. No `spaces` mean the default one.
    """

    text: str
    spaces: "frozenset[SpaceId]"
    limit_bytes: int | None
    limit_percent: Fraction | None

    def is_exceeded(self, old_bytes: int, new_bytes: int) -> bool:
        """Whether a number grew by more than is allowed."""
        if self.limit_bytes is not None:
            return new_bytes - old_bytes > self.limit_bytes
        return 100 * (new_bytes - old_bytes) > (self.limit_percent or 0) * old_bytes
