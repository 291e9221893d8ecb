"""What findings report: one type for each problem, with the numbers and names that its message shows.

Values and instructions are labels as dumps print them: `fusion.5{1}`. Steps are steps of the schedule, allocations are
the numbers in their headers. `xla_lens.render.messages` words each type.
"""

from enum import Enum, auto
from typing import ClassVar, TypeAlias

from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.resemblance import Row
from xla_lens.model.tables.backend import SpaceId
from xla_lens.records import dataclass
from xla_lens.syntax.columns import Kind


class Cut(Enum):
    """Where a file that was cut off ends."""

    LINE = auto()
    """In the middle of a line."""
    ALLOCATIONS = auto()
    """Before the last allocations."""
    LAST_ALLOCATION = auto()
    """Before the last values of the last allocation."""
    SLICES = auto()
    """Before the last values of the allocations."""
    USED_VALUE = auto()
    """In the middle of a used value."""
    USED_VALUES = auto()
    """Before the last used values."""
    LIVE_RANGES = auto()
    """Before the live ranges."""
    PEAK_LIST = auto()
    """Before the end of the list of values that are live at the peak."""
    STACK_TRACES = auto()
    """Before the end of the stack trace breakdown."""
    REPORT_TABLES = auto()
    """Before the last rows or tables of a memory usage report."""
    MODULE = auto()
    """Before the end of the entry computation of an HLO module."""


class ReportColumn(Enum):
    """A column in the table of an allocation in a memory usage report."""

    CUMULATIVE_SIZE = auto()
    SIZE = auto()
    VALUES = auto()
    SHAPES = auto()


# ---------------------------------------------------------------- file structure


@dataclass(frozen=True, slots=True)
class EmptyFile:
    code: ClassVar[Code] = Code.SYNTAX


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    code: ClassVar[Code] = Code.SYNTAX
    reason: str


@dataclass(frozen=True, slots=True)
class NoDumpLines:
    code: ClassVar[Code] = Code.SYNTAX


@dataclass(frozen=True, slots=True)
class UnknownLines:
    code: ClassVar[Code] = Code.SYNTAX
    lines: int
    rows: tuple[Row, ...] = ()
    """The damaged rows. Empty for lines that are none, which cost nothing."""


@dataclass(frozen=True, slots=True)
class UnknownLinePart:
    code: ClassVar[Code] = Code.SYNTAX
    row: Row | None = None
    """What is damaged, None if the row means the same without that text."""


@dataclass(frozen=True, slots=True)
class SecondModule:
    code: ClassVar[Code] = Code.SYNTAX
    name: str
    """The dump file at which the second module starts."""


@dataclass(frozen=True, slots=True)
class MissingHeader:
    code: ClassVar[Code] = Code.SYNTAX
    header: str
    lines: int
    """The number of rows without the header."""


@dataclass(frozen=True, slots=True)
class MissingAllocations:
    code: ClassVar[Code] = Code.SYNTAX
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class AllocationOutOfOrder:
    code: ClassVar[Code] = Code.SYNTAX
    allocation: int
    previous: int


@dataclass(frozen=True, slots=True)
class ValueOutOfOrder:
    code: ClassVar[Code] = Code.SYNTAX
    id: int
    previous_id: int


@dataclass(frozen=True, slots=True)
class LiveRangeOutOfOrder:
    code: ClassVar[Code] = Code.SYNTAX
    value: str
    id: int
    previous: str
    previous_id: int


@dataclass(frozen=True, slots=True)
class SizesTooLarge:
    code: ClassVar[Code] = Code.SYNTAX
    sizes: int
    """How many sizes add up to more than 64 bits."""


@dataclass(frozen=True, slots=True)
class TruncatedFile:
    code: ClassVar[Code] = Code.TRUNCATED_DUMP
    cut: Cut


StructureProblem: TypeAlias = (
    EmptyFile
    | UnreadableFile
    | NoDumpLines
    | UnknownLines
    | UnknownLinePart
    | SecondModule
    | MissingHeader
    | MissingAllocations
    | AllocationOutOfOrder
    | ValueOutOfOrder
    | LiveRangeOutOfOrder
    | SizesTooLarge
    | TruncatedFile
)


# ---------------------------------------------------------------- allocations


@dataclass(frozen=True, slots=True)
class DuplicateAllocation:
    code: ClassVar[Code] = Code.DUPLICATE_ALLOCATION
    allocation: int


@dataclass(frozen=True, slots=True)
class RenumberedAllocation:
    code: ClassVar[Code] = Code.DUPLICATE_ALLOCATION
    allocation: int
    expected: int


@dataclass(frozen=True, slots=True)
class AllocationWithoutKind:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int


@dataclass(frozen=True, slots=True)
class ExclusiveKinds:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int
    kinds: Kind


@dataclass(frozen=True, slots=True)
class OutputNotLiveOut:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int


@dataclass(frozen=True, slots=True)
class SharedReadOnlyParameter:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int
    values: int


@dataclass(frozen=True, slots=True)
class ThreadLocalLiveRange:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int


@dataclass(frozen=True, slots=True)
class SecondOutput:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int
    output: int
    """The allocation that does hold the output."""


@dataclass(frozen=True, slots=True)
class NoOutput:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT


@dataclass(frozen=True, slots=True)
class NegativeSlice:
    code: ClassVar[Code] = Code.SLICE_OUT_OF_BOUNDS
    value: str
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SliceOutOfBounds:
    code: ClassVar[Code] = Code.SLICE_OUT_OF_BOUNDS
    value: str
    offset: int
    size_bytes: int
    allocation: int
    allocation_bytes: int


@dataclass(frozen=True, slots=True)
class MisalignedSlice:
    code: ClassVar[Code] = Code.SLICE_OUT_OF_BOUNDS
    value: str
    offset: int
    alignment: int


@dataclass(frozen=True, slots=True)
class UnexpectedOffset:
    code: ClassVar[Code] = Code.SLICE_OUT_OF_BOUNDS
    value: str
    offset: int
    allocation: int


@dataclass(frozen=True, slots=True)
class OverlappingSlices:
    code: ClassVar[Code] = Code.OVERLAPPING_SLICES
    value: str
    other: str
    overlaps: int
    """The number of values that the value overlaps."""
    allocation: int
    start_byte: int
    end_byte: int
    """The first byte after the shared ones."""
    start_step: int
    end_step: int


@dataclass(frozen=True, slots=True)
class AllocationSpaceMismatch:
    code: ClassVar[Code] = Code.MEMORY_SPACE_MISMATCH
    allocation: int
    space: SpaceId
    value_space: SpaceId


@dataclass(frozen=True, slots=True)
class SliceSpaceMismatch:
    code: ClassVar[Code] = Code.MEMORY_SPACE_MISMATCH
    value: str
    space: SpaceId
    allocation: int
    allocation_space: SpaceId


@dataclass(frozen=True, slots=True)
class ReusedArena:
    code: ClassVar[Code] = Code.MEMORY_SPACE_MISMATCH
    value: str
    space: SpaceId
    allocation: int
    allocation_space: SpaceId


@dataclass(frozen=True, slots=True)
class UsedValueSpaceMismatch:
    code: ClassVar[Code] = Code.MEMORY_SPACE_MISMATCH
    value: str
    space: SpaceId
    slice_space: SpaceId


@dataclass(frozen=True, slots=True)
class LayoutSpaceMismatch:
    code: ClassVar[Code] = Code.MEMORY_SPACE_MISMATCH
    value: str
    layout_space: SpaceId
    space: SpaceId


@dataclass(frozen=True, slots=True)
class SizeBelowShape:
    code: ClassVar[Code] = Code.SIZE_BELOW_SHAPE
    value: str
    shape: str
    size_bytes: int
    shape_bytes: int


@dataclass(frozen=True, slots=True)
class TotalMismatch:
    code: ClassVar[Code] = Code.TOTAL_MISMATCH
    total_bytes: int
    reserved_bytes: int
    """The sum of the allocations."""
    allocations: int


@dataclass(frozen=True, slots=True)
class AllocationSizeMismatch:
    code: ClassVar[Code] = Code.TOTAL_MISMATCH
    allocation: int
    allocation_bytes: int
    needed_bytes: int
    """What its values occupy."""
    total_bytes: int


@dataclass(frozen=True, slots=True)
class HumanSizeMismatch:
    code: ClassVar[Code] = Code.HUMAN_SIZE_MISMATCH
    size_bytes: int
    printed: str
    expected: str


AllocationProblem: TypeAlias = (
    DuplicateAllocation
    | RenumberedAllocation
    | AllocationWithoutKind
    | ExclusiveKinds
    | OutputNotLiveOut
    | SharedReadOnlyParameter
    | ThreadLocalLiveRange
    | SecondOutput
    | NoOutput
    | NegativeSlice
    | SliceOutOfBounds
    | MisalignedSlice
    | UnexpectedOffset
    | OverlappingSlices
    | AllocationSpaceMismatch
    | SliceSpaceMismatch
    | ReusedArena
    | UsedValueSpaceMismatch
    | LayoutSpaceMismatch
    | SizeBelowShape
    | TotalMismatch
    | AllocationSizeMismatch
    | HumanSizeMismatch
)


# ---------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class DuplicateValue:
    code: ClassVar[Code] = Code.DUPLICATE_VALUE
    id: int
    name: str
    first_name: str


@dataclass(frozen=True, slots=True)
class SliceNameMismatch:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    id: int
    name: str
    used_name: str


@dataclass(frozen=True, slots=True)
class SliceIdMismatch:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str
    id: int
    used_id: int


@dataclass(frozen=True, slots=True)
class PhiMismatch:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str
    is_phi_in_allocation: bool


@dataclass(frozen=True, slots=True)
class ForeignQuote:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str
    quoted_name: str


@dataclass(frozen=True, slots=True)
class DefinitionMismatch:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str
    position: str


@dataclass(frozen=True, slots=True)
class MissingPosition:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str


@dataclass(frozen=True, slots=True)
class View:
    code: ClassVar[Code] = Code.UNASSIGNED_VALUE
    name: str


@dataclass(frozen=True, slots=True)
class UndefinedLiveRange:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str


@dataclass(frozen=True, slots=True)
class MissingQuote:
    code: ClassVar[Code] = Code.SYNTAX
    value: str


@dataclass(frozen=True, slots=True)
class RepeatedQuote:
    code: ClassVar[Code] = Code.SYNTAX
    value: str


@dataclass(frozen=True, slots=True)
class ForeignUsedValues:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    missing: int
    """The number of used values that are in no allocation."""
    total: int


@dataclass(frozen=True, slots=True)
class ForeignLiveRanges:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    missing: int
    """The number of live ranges of unknown values."""
    total: int


@dataclass(frozen=True, slots=True)
class ForeignSlices:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    name: str
    missing: int


@dataclass(frozen=True, slots=True)
class UndefinedValue:
    code: ClassVar[Code] = Code.UNDEFINED_VALUE
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class UsedNameMismatch:
    code: ClassVar[Code] = Code.UNASSIGNED_VALUE
    id: int
    name: str
    slice_name: str


@dataclass(frozen=True, slots=True)
class UnassignedValues:
    code: ClassVar[Code] = Code.UNASSIGNED_VALUE
    name: str
    missing: int


@dataclass(frozen=True, slots=True)
class UnassignedValue:
    code: ClassVar[Code] = Code.UNASSIGNED_VALUE
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class RepeatedPosition:
    code: ClassVar[Code] = Code.DUPLICATE_POSITION
    value: str
    position: str


@dataclass(frozen=True, slots=True)
class SharedPosition:
    code: ClassVar[Code] = Code.DUPLICATE_POSITION
    position: str
    value: str
    other: str


@dataclass(frozen=True, slots=True)
class DuplicateUse:
    code: ClassVar[Code] = Code.DUPLICATE_USE
    value: str
    user: str
    operand: str
    """As the dump prints it: `0 {1}`."""


ValueProblem: TypeAlias = (
    DuplicateValue
    | SliceNameMismatch
    | SliceIdMismatch
    | PhiMismatch
    | ForeignQuote
    | MissingQuote
    | RepeatedQuote
    | DefinitionMismatch
    | MissingPosition
    | View
    | UndefinedLiveRange
    | ForeignUsedValues
    | ForeignLiveRanges
    | ForeignSlices
    | UndefinedValue
    | UsedNameMismatch
    | UnassignedValues
    | UnassignedValue
    | RepeatedPosition
    | SharedPosition
    | DuplicateUse
)


# ---------------------------------------------------------------- instructions and parameters


@dataclass(frozen=True, slots=True)
class QuotedOperandsMismatch:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    instruction: str


@dataclass(frozen=True, slots=True)
class SharedOperand:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    other: str
    user: str
    operand: str


@dataclass(frozen=True, slots=True)
class UnknownOperand:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    user: str
    operand: str
    quoted_name: str


@dataclass(frozen=True, slots=True)
class OperandGap:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    user: str
    operand: str
    missing: int
    """A lower operand of the user that no value lists."""


@dataclass(frozen=True, slots=True)
class MissingOperand:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    user: str
    operand: str
    operands: int
    """The number of operands of the instruction."""


@dataclass(frozen=True, slots=True)
class OperandMismatch:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    user: str
    operand: str
    quoted_name: str


@dataclass(frozen=True, slots=True)
class QuotedShapesMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    instruction: str


@dataclass(frozen=True, slots=True)
class ShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    value: str
    shape: str
    quoted_shape: str


@dataclass(frozen=True, slots=True)
class MissingElement:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    value: str
    shape: str


@dataclass(frozen=True, slots=True)
class ParameterShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    allocation: int
    shape: str


@dataclass(frozen=True, slots=True)
class OutputShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    allocation: int
    shape: str


@dataclass(frozen=True, slots=True)
class ParameterMismatch:
    code: ClassVar[Code] = Code.PARAMETER_MISMATCH
    allocation: int
    parameter: int
    index: str


@dataclass(frozen=True, slots=True)
class DuplicateParameter:
    code: ClassVar[Code] = Code.PARAMETER_MISMATCH
    allocation: int
    first: int
    """The other allocation."""
    parameter: int
    index: str


@dataclass(frozen=True, slots=True)
class MissingParameter:
    code: ClassVar[Code] = Code.PARAMETER_MISMATCH
    allocation: int
    parameter: int
    missing: int


InstructionProblem: TypeAlias = (
    QuotedOperandsMismatch
    | SharedOperand
    | UnknownOperand
    | MissingOperand
    | OperandGap
    | OperandMismatch
    | QuotedShapesMismatch
    | ShapeMismatch
    | MissingElement
    | ParameterShapeMismatch
    | OutputShapeMismatch
    | ParameterMismatch
    | DuplicateParameter
    | MissingParameter
)


# ---------------------------------------------------------------- schedule and live ranges


@dataclass(frozen=True, slots=True)
class MaxMismatch:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    maximum: int
    instructions: int


@dataclass(frozen=True, slots=True)
class StepsOutOfOrder:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str
    step: int
    row: int
    rows: int
    """The number of rows that are out of order."""


@dataclass(frozen=True, slots=True)
class ScheduledTwice:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str
    step: int
    first_step: int


@dataclass(frozen=True, slots=True)
class MissingStep:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    missing: int
    step: int
    """The step of the next row."""
    name: str


@dataclass(frozen=True, slots=True)
class WrongStep:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str
    step: int
    expected: int


@dataclass(frozen=True, slots=True)
class SwappedInstructions:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str
    step: int
    other: str
    other_step: int


@dataclass(frozen=True, slots=True)
class MisnamedInstruction:
    code: ClassVar[Code] = Code.UNKNOWN_INSTRUCTION
    name: str
    missing_name: str
    mentions: int


@dataclass(frozen=True, slots=True)
class UnscheduledInstruction:
    code: ClassVar[Code] = Code.UNKNOWN_INSTRUCTION
    name: str
    mentions: int


@dataclass(frozen=True, slots=True)
class InvalidLiveRange:
    code: ClassVar[Code] = Code.INVALID_LIVE_RANGE
    value: str
    start_step: int
    end_step: int
    last_step: int
    """The last step that a live range can have."""


@dataclass(frozen=True, slots=True)
class DuplicateLiveRange:
    code: ClassVar[Code] = Code.DUPLICATE_LIVE_RANGE
    value: str


@dataclass(frozen=True, slots=True)
class MissingLiveRange:
    code: ClassVar[Code] = Code.MISSING_LIVE_RANGE
    value: str
    step: int


@dataclass(frozen=True, slots=True)
class WrongStart:
    code: ClassVar[Code] = Code.LIVE_RANGE_START
    value: str
    start_step: int
    step: int


@dataclass(frozen=True, slots=True)
class ParameterStart:
    code: ClassVar[Code] = Code.LIVE_RANGE_START
    value: str
    start_step: int


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    code: ClassVar[Code] = Code.LIVE_RANGE_END
    value: str
    end_step: int
    use_step: int
    user: str


@dataclass(frozen=True, slots=True)
class ParameterEnd:
    code: ClassVar[Code] = Code.LIVE_RANGE_END
    value: str
    end_step: int
    last_step: int


ScheduleProblem: TypeAlias = (
    MaxMismatch
    | StepsOutOfOrder
    | ScheduledTwice
    | MissingStep
    | WrongStep
    | SwappedInstructions
    | MisnamedInstruction
    | UnscheduledInstruction
    | InvalidLiveRange
    | DuplicateLiveRange
    | MissingLiveRange
    | WrongStart
    | ParameterStart
    | EarlyEnd
    | ParameterEnd
)


# ---------------------------------------------------------------- printed peak


@dataclass(frozen=True, slots=True)
class PeakStepMismatch:
    code: ClassVar[Code] = Code.PEAK_STEP_MISMATCH
    step: int
    expected_step: int


@dataclass(frozen=True, slots=True)
class PeakValuesMissing:
    code: ClassVar[Code] = Code.PEAK_LIST_MISMATCH
    value: str
    missing: int
    """The number of such values."""
    step: int


@dataclass(frozen=True, slots=True)
class PeakValueNotLive:
    code: ClassVar[Code] = Code.PEAK_LIST_MISMATCH
    value: str
    step: int


@dataclass(frozen=True, slots=True)
class PeakValueTwice:
    code: ClassVar[Code] = Code.PEAK_LIST_MISMATCH
    value: str


@dataclass(frozen=True, slots=True)
class PeakValueSize:
    code: ClassVar[Code] = Code.PEAK_LIST_MISMATCH
    value: str
    size_bytes: int
    shape_bytes: int


@dataclass(frozen=True, slots=True)
class PeakOutOfOrder:
    code: ClassVar[Code] = Code.PEAK_LIST_MISMATCH
    value: str
    is_by_size: bool
    """Whether the list is sorted by size, or as the live ranges are."""


@dataclass(frozen=True, slots=True)
class CumulativeMismatch:
    code: ClassVar[Code] = Code.CUMULATIVE_MISMATCH
    cumulative_bytes: int
    expected_bytes: int


@dataclass(frozen=True, slots=True)
class StackTraceTotal:
    code: ClassVar[Code] = Code.STACK_TRACE_MISMATCH
    printed_bytes: int
    expected_bytes: int
    is_sum_of_frames: bool
    """Whether the expected sum is that of the frames, or of the list of the peak."""


@dataclass(frozen=True, slots=True)
class FrameTotal:
    code: ClassVar[Code] = Code.STACK_TRACE_MISMATCH
    frame: str
    total_bytes: int
    expected_bytes: int


@dataclass(frozen=True, slots=True)
class FrameRemaining:
    code: ClassVar[Code] = Code.STACK_TRACE_MISMATCH
    frame: str
    current_bytes: int
    remaining_bytes: int
    expected_bytes: int


@dataclass(frozen=True, slots=True)
class PeakUnderstated:
    code: ClassVar[Code] = Code.PEAK_UNDERSTATED
    space: SpaceId
    step: int
    live_bytes: int
    peak_step: int
    peak_bytes: int
    instruction: str
    """Empty if no instruction runs at the step of the real peak."""


PeakProblem: TypeAlias = (
    PeakStepMismatch
    | PeakValuesMissing
    | PeakValueNotLive
    | PeakValueTwice
    | PeakValueSize
    | PeakOutOfOrder
    | CumulativeMismatch
    | StackTraceTotal
    | FrameTotal
    | FrameRemaining
    | PeakUnderstated
)


# ---------------------------------------------------------------- memory usage report


@dataclass(frozen=True, slots=True)
class ForeignReport:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    differences: int


@dataclass(frozen=True, slots=True)
class ReportTotal:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    printed_bytes: int
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class ReportSpaceTotal:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    space: SpaceId
    printed_bytes: int
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class ReportSpaceOrder:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    space: SpaceId
    expected: SpaceId


@dataclass(frozen=True, slots=True)
class ReportSpaceUnused:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    space: SpaceId
    spaces: int
    """The number of memory spaces of the allocations."""


@dataclass(frozen=True, slots=True)
class ReportAllocationOrder:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    expected: int


@dataclass(frozen=True, slots=True)
class ReportAllocationUnknown:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    allocations: int


@dataclass(frozen=True, slots=True)
class ReportHeader:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    expected: str


@dataclass(frozen=True, slots=True)
class ReportCumulative:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    printed: str
    expected: str


@dataclass(frozen=True, slots=True)
class ReportRemaining:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    printed: str
    expected: str


@dataclass(frozen=True, slots=True)
class ReportOffsetUnused:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    offset: int


@dataclass(frozen=True, slots=True)
class ReportOffsetTwice:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    offset: int


@dataclass(frozen=True, slots=True)
class ReportRowOrder:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int


@dataclass(frozen=True, slots=True)
class ReportRowCount:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    printed: int
    offsets: int
    """The number of offsets at which values start."""


@dataclass(frozen=True, slots=True)
class ReportRowMismatch:
    code: ClassVar[Code] = Code.REPORT_MISMATCH
    allocation: int
    offset: int
    column: ReportColumn
    printed: str
    expected: str


ReportProblem: TypeAlias = (
    ForeignReport
    | ReportTotal
    | ReportSpaceTotal
    | ReportSpaceOrder
    | ReportSpaceUnused
    | ReportAllocationOrder
    | ReportAllocationUnknown
    | ReportHeader
    | ReportCumulative
    | ReportRemaining
    | ReportOffsetUnused
    | ReportOffsetTwice
    | ReportRowOrder
    | ReportRowCount
    | ReportRowMismatch
)


# ---------------------------------------------------------------- the HLO module


@dataclass(frozen=True, slots=True)
class ForeignModule:
    code: ClassVar[Code] = Code.MODULE_MISMATCH
    differences: int


@dataclass(frozen=True, slots=True)
class MissingFromModule:
    code: ClassVar[Code] = Code.UNKNOWN_INSTRUCTION
    name: str


@dataclass(frozen=True, slots=True)
class PositionMismatch:
    code: ClassVar[Code] = Code.POSITION_MISMATCH
    value: str
    position: str
    shown: str
    """The value that the position shows by the module, empty if that is unknown."""


@dataclass(frozen=True, slots=True)
class MissingPositionOf:
    code: ClassVar[Code] = Code.POSITION_MISMATCH
    name: str
    missing: int


@dataclass(frozen=True, slots=True)
class MissingUse:
    code: ClassVar[Code] = Code.OPERAND_MISMATCH
    value: str
    user: str
    operand: str


class Malformation(Enum):
    """How an HLO module contradicts itself."""

    DUPLICATE = auto()
    ROOT = auto()
    ORDER = auto()
    COMPUTATION = auto()


@dataclass(frozen=True, slots=True)
class MalformedModule:
    code: ClassVar[Code] = Code.MODULE_MISMATCH
    malformation: Malformation
    name: str
    other: str
    """The operand or the computation, empty for others."""


class QuotePart(Enum):
    """What differs between a quoted instruction and the one in the module."""

    SHAPE = auto()
    OPCODE = auto()
    PARAMETER = auto()
    OPERAND = auto()
    ATTRIBUTE = auto()


@dataclass(frozen=True, slots=True)
class QuoteMismatch:
    code: ClassVar[Code] = Code.MODULE_MISMATCH
    name: str
    part: QuotePart
    quoted: str
    """The text of the part, empty if the instruction lacks it."""
    in_module: str


@dataclass(frozen=True, slots=True)
class ModuleShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    value: str
    shape: str
    module_shape: str
    """Empty if the instruction's shape lacks the value's index."""


@dataclass(frozen=True, slots=True)
class ElementShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    name: str
    operand: str
    shape: str
    element_shape: str


@dataclass(frozen=True, slots=True)
class EntryShapeMismatch:
    code: ClassVar[Code] = Code.SHAPE_MISMATCH
    name: str
    """The parameter or the result, empty if the entry computation lacks it."""
    shape: str
    instruction_shape: str


@dataclass(frozen=True, slots=True)
class EntryParameterNumber:
    code: ClassVar[Code] = Code.PARAMETER_MISMATCH
    name: str
    parameter: int
    parameters: int
    """The number of parameters of the entry computation."""


@dataclass(frozen=True, slots=True)
class ScheduleOrder:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str
    before: str
    """The instruction that the schedule has before it, but the module after it."""


@dataclass(frozen=True, slots=True)
class MissingFromSchedule:
    code: ClassVar[Code] = Code.SCHEDULE_MISMATCH
    name: str


@dataclass(frozen=True, slots=True)
class LateEnd:
    code: ClassVar[Code] = Code.LIVE_RANGE_END
    value: str
    end_step: int
    last_use_step: int


@dataclass(frozen=True, slots=True)
class ModuleParameterMismatch:
    code: ClassVar[Code] = Code.PARAMETER_MISMATCH
    allocation: int
    parameter: int
    index: str
    name: str
    """The parameter's instruction, empty if the entry computation lacks it."""


@dataclass(frozen=True, slots=True)
class NotLiveOut:
    code: ClassVar[Code] = Code.ALLOCATION_KIND_CONFLICT
    allocation: int
    value: str


@dataclass(frozen=True, slots=True)
class AliasMismatch:
    code: ClassVar[Code] = Code.MODULE_MISMATCH
    output: str
    parameter: int
    index: str
    output_value: str
    """Empty if the result has no such output."""
    parameter_value: str
    """Empty if the entry computation has no such parameter."""


@dataclass(frozen=True, slots=True)
class LiveOutParameter:
    code: ClassVar[Code] = Code.MODULE_MISMATCH
    allocation: int
    parameter: int
    index: str
    lives_out: bool
    """Whether the allocation is `maybe-live-out`."""


ModuleProblem: TypeAlias = (
    ForeignModule
    | MissingFromModule
    | PositionMismatch
    | MissingPositionOf
    | MissingUse
    | MalformedModule
    | QuoteMismatch
    | ModuleShapeMismatch
    | ElementShapeMismatch
    | EntryShapeMismatch
    | EntryParameterNumber
    | ScheduleOrder
    | MissingFromSchedule
    | LateEnd
    | ModuleParameterMismatch
    | NotLiveOut
    | AliasMismatch
    | LiveOutParameter
)


# ---------------------------------------------------------------- limits


@dataclass(frozen=True, slots=True)
class MemoryAboveLimit:
    code: ClassVar[Code] = Code.MAX_MEMORY
    space: SpaceId
    size_bytes: int
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class PeakAboveLimit:
    code: ClassVar[Code] = Code.MAX_PEAK
    space: SpaceId
    size_bytes: int
    peak_step: int
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryUnknown:
    code: ClassVar[Code] = Code.MAX_MEMORY
    limit_bytes: int
    is_partial: bool = False
    """Whether the dump has the facts, but lacks some or contradicts itself, so that the number is no proof."""


@dataclass(frozen=True, slots=True)
class PeakUnknown:
    code: ClassVar[Code] = Code.MAX_PEAK
    limit_bytes: int
    is_partial: bool = False
    """As in `MemoryUnknown`."""


LimitProblem: TypeAlias = MemoryAboveLimit | PeakAboveLimit | MemoryUnknown | PeakUnknown


Problem: TypeAlias = (
    StructureProblem
    | AllocationProblem
    | ValueProblem
    | InstructionProblem
    | ScheduleProblem
    | PeakProblem
    | ReportProblem
    | ModuleProblem
    | LimitProblem
)
