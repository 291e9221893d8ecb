"""What a comparison contains, as the command line understands it. Imports nothing of the model."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction


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


DIFF_FORMATS: Final = ("text", "markdown", "json", "html")

DEFAULT_DIFF_TOP: Final = 10
"""Rows of each list in a comparison for people. JSON has all rows unless a limit is given."""


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What a comparison contains. `top` limits the rows of each list, None for no limit."""

    top: int | None = None
    parts: frozenset[DiffPart] = frozenset(DiffPart)


@dataclass(frozen=True, slots=True)
class Increase:
    """How much a number of bytes may grow: by `limit_bytes`, or by `limit_percent` of what it was. `space` is the
    memory space and `text` the limit as the user wrote them; a `space` of None means the default one.
    """

    text: str
    space: str | None
    limit_bytes: int | None
    limit_percent: "Fraction | None"

    def is_exceeded(self, old_bytes: int, new_bytes: int) -> bool:
        """Whether a number grew by more than is allowed."""
        if self.limit_bytes is not None:
            return new_bytes - old_bytes > self.limit_bytes
        return 100 * (new_bytes - old_bytes) > (self.limit_percent or 0) * old_bytes
