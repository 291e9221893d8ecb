"""The codes and severities of findings."""

from enum import StrEnum


class Code(StrEnum):
    """The rule that a finding reports. Codes are stable: users select and ignore findings by them."""

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
    POSITION_MISMATCH = "position-mismatch"
    MODULE_MISMATCH = "module-mismatch"
    MAX_PEAK = "max-peak"
    MAX_MEMORY = "max-memory"


class Severity(StrEnum):
    """How severe a finding is, in the terms of the Language Server Protocol."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"

    @property
    def is_alarm(self) -> bool:
        """Whether the dump is wrong, or may be: an error or a warning."""
        return self in (Severity.ERROR, Severity.WARNING)
