"""What is wrong with a dump set: facts that contradict each other, each with the places that show it.

A finding says what, in numbers and places; what a person reads is written by `xla_lens.render.messages`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from xla_lens.model.places import Place


class Code(StrEnum):
    """What kind of finding it is. Codes are stable."""

    SYNTAX = "syntax"
    TRUNCATED_DUMP = "truncated-dump"
    SLICE_OUT_OF_BOUNDS = "slice-out-of-bounds"
    OVERLAPPING_SLICES = "overlapping-slices"
    TOTAL_MISMATCH = "total-mismatch"
    DUPLICATE_VALUE = "duplicate-value"
    UNKNOWN_INSTRUCTION = "unknown-instruction"


class Severity(StrEnum):
    """How bad it is, in the words of the Language Server Protocol."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a finding, and what stands there."""

    place: Place
    what: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction. `facts` are its numbers and names, by the name that the wording knows them by."""

    code: Code
    severity: Severity
    place: Place
    facts: dict[str, int | str] = field(default_factory=dict)
    related: tuple[Related, ...] = ()
