"""What a comparison contains, as the command line understands it. Imports nothing of the model."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class DiffPart(StrEnum):
    """A part of a comparison, as `--part` names it."""

    GROUP = "group"
    LINE = "line"
    OP_NAME = "op_name"
    OPCODE = "opcode"
    KIND = "kind"
    VALUES = "values"
    TOTALS = "totals"


DIFF_FORMATS: Final = ("text", "markdown", "json")

DEFAULT_DIFF_TOP: Final = 10
"""Rows of each list in a comparison for people. JSON has all rows unless a limit is given."""


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What a comparison contains. `top` limits the rows of each list, None for no limit."""

    top: int | None = None
    parts: frozenset[DiffPart] = frozenset(DiffPart)
