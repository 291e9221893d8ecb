"""What is wrong with a dump set: facts that contradict each other, each with the places that show it.

A finding says what, in numbers and places; what a person reads is written by `xla_lens.render.messages`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from xla_lens.model.places.places import Place

MAXIMUM_RELATED: Final = 10
"""Places of one finding that are told; their number is among its facts."""


class Code(StrEnum):
    """What kind of finding it is. Codes are stable."""

    SYNTAX = "syntax"
    TRUNCATED_DUMP = "truncated-dump"
    DUPLICATE_ALLOCATION = "duplicate-allocation"
    ALLOCATION_KIND_CONFLICT = "allocation-kind-conflict"
    SLICE_OUT_OF_BOUNDS = "slice-out-of-bounds"
    OVERLAPPING_SLICES = "overlapping-slices"
    MEMORY_SPACE_MISMATCH = "memory-space-mismatch"
    SIZE_BELOW_SHAPE = "size-below-shape"
    TOTAL_MISMATCH = "total-mismatch"
    HUMAN_SIZE_MISMATCH = "human-size-mismatch"
    DUPLICATE_VALUE = "duplicate-value"
    UNDEFINED_VALUE = "undefined-value"
    UNASSIGNED_VALUE = "unassigned-value"
    DUPLICATE_POSITION = "duplicate-position"
    DUPLICATE_USE = "duplicate-use"
    OPERAND_MISMATCH = "operand-mismatch"
    SHAPE_MISMATCH = "shape-mismatch"
    PARAMETER_MISMATCH = "parameter-mismatch"
    SCHEDULE_MISMATCH = "schedule-mismatch"
    UNKNOWN_INSTRUCTION = "unknown-instruction"
    INVALID_LIVE_RANGE = "invalid-live-range"
    DUPLICATE_LIVE_RANGE = "duplicate-live-range"
    MISSING_LIVE_RANGE = "missing-live-range"
    LIVE_RANGE_START = "live-range-start"
    LIVE_RANGE_END = "live-range-end"
    PEAK_STEP_MISMATCH = "peak-step-mismatch"
    PEAK_LIST_MISMATCH = "peak-list-mismatch"
    CUMULATIVE_MISMATCH = "cumulative-mismatch"
    STACK_TRACE_MISMATCH = "stack-trace-mismatch"
    PEAK_UNDERSTATED = "peak-understated"
    REPORT_MISMATCH = "report-mismatch"
    MAX_PEAK = "max-peak"
    MAX_RESERVED = "max-reserved"


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


def error(code: Code, place: Place, *related: Related, **facts: int | str) -> Finding:
    """A finding that XLA never gives rise to."""
    return Finding(code, Severity.ERROR, place, facts, related)


def warning(code: Code, place: Place, *related: Related, **facts: int | str) -> Finding:
    """A finding that no dump that is known gives rise to, though XLA does not promise that."""
    return Finding(code, Severity.WARNING, place, facts, related)
