"""Findings, contradictions in a dump set with the places that show them, and what they report: a table of all problems,
each with its code and its message, which names its facts.

Values and instructions are labels as dumps print them: `fusion.5{1}`. Steps are steps of the schedule, allocations are
the numbers in their headers. `xla_lens.words.messages` fills facts into messages and says how it words each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from string import Formatter
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.places.places import Place


class Cut(StrEnum):
    """Where a file that was cut off ends."""

    LINE = "in the middle of a line"
    ALLOCATIONS = "before the last allocations"
    SLICES = "before the last values of the allocations, which the used values list"
    USED_VALUE = "in the middle of a used value"
    USED_VALUES = "before the last used values, which the buffer assignment lists"
    LIVE_RANGES = "before the live ranges"
    PEAK_LIST = "before the end of the list of values live at the peak"
    STACK_TRACES = "in the middle of the stack traces"
    REPORT_TABLES = "in the middle of the tables"
    MODULE = "before the end of the entry computation"


class Sizes(StrEnum):
    """What prints sizes."""

    TOTAL = "the printed total"
    PEAK = "the printed peak"
    ALLOCATIONS = "the sums of the allocations"
    REPORT = "the memory usage report"


class Lack(StrEnum):
    """Why a dump cannot be compared with a limit."""

    ALLOCATIONS = "has no allocations"
    LIVE_RANGES = "has no live ranges or no allocations"
    PARTS = "is incomplete or contradicts itself"
    KINDS = "has only a memory usage report, which does not say which buffers are thread-local"


def _row(code: Code, message: str, /, **if_empty: str) -> tuple[Code, str, tuple[tuple[str, str], ...]]:
    """A row of the table: a code, the message, and the messages that replace it if a fact is empty, 0 or false. The
    first that applies counts.
    """
    return code, message, tuple(if_empty.items())


class Problem(Enum):
    """What can be wrong with a dump set."""

    # ------------------------------------------------------------ file structure

    EMPTY_FILE = _row(Code.SYNTAX, "The file is empty.")
    UNREADABLE_FILE = _row(Code.SYNTAX, "This file {reason}.")
    NO_DUMP_LINES = _row(Code.SYNTAX, "No line of this file belongs to an XLA memory dump.")
    UNKNOWN_LINES = _row(
        Code.SYNTAX,
        "{lines:This line of the dump is|These # lines of the dump are} damaged. {lines:It is|They are} cut off or "
        "{lines:was|were} edited, and what {lines:it|they} said is missing.",
        rows=(
            "{lines:This line does|These # lines do} not belong to a dump: another program or a newer release of XLA "
            "printed {lines:it|them}. Nothing is missing without {lines:it|them}."
        ),
    )
    UNKNOWN_LINE_PART = _row(
        Code.SYNTAX,
        "This part of the line is damaged. It was edited, and what it said is missing.",
        row="XLA Lens does not know this part of the line, and reads the rest. A newer release of XLA printed it.",
    )
    SECOND_MODULE = _row(
        Code.SYNTAX,
        "`{name}` belongs to a second module. Of a file with the name of a dump file, editors show the first module; "
        "`xla-lens report` shows all. With `--xla_dump_to=DIR`, each has files of its own.",
    )
    MISSING_HEADER = _row(Code.SYNTAX, "The header `{header}` is missing before this line.")
    MISPLACED_ALLOCATION = _row(
        Code.SYNTAX,
        "Allocation {allocation} stands where allocation {expected} belongs. XLA numbers allocations without gaps.",
    )
    MISPLACED_VALUE = _row(
        Code.SYNTAX, "`{value}` (value {id}) stands below a value with a higher id. XLA lists values by id."
    )
    SIZES_TOO_LARGE = _row(
        Code.SYNTAX,
        "These {sizes:,} sizes add up to more than 64 bits can hold, of which this one is the largest. No device has "
        "that much memory, so sums of them are not shown.",
    )
    NEGATIVE_SIZES = _row(
        Code.SYNTAX,
        "The size of {size_bytes:bytes} is negative, {others:which no size can be|as is another one|as are # others}. "
        "XLA Lens does not use {parts:list}.",
    )
    TRUNCATED_FILE = _row(
        Code.TRUNCATED_DUMP, "The file ends {cut}. It was cut off, so other results for this dump may be wrong."
    )
    FOREIGN_FILE = _row(
        Code.UNDEFINED_VALUE, "This file belongs to another dump: {missing:,} of its {total:,} {rows} are {where}."
    )

    # ------------------------------------------------------------ allocations

    DUPLICATE_ALLOCATION = _row(
        Code.DUPLICATE_ALLOCATION, "Allocation {allocation} is defined twice. XLA uses each number once."
    )
    NO_KIND = _row(
        Code.ALLOCATION_KIND_CONFLICT, "Allocation {allocation} has no kind such as `parameter` or `preallocated-temp`."
    )
    OUTPUT_NOT_LIVE_OUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "Allocation {allocation} holds the output but is not marked `maybe-live-out`. The output is live at the end of "
        "the program.",
    )
    SECOND_OUTPUT = _row(
        Code.ALLOCATION_KIND_CONFLICT, "Allocation {allocation} has an output shape, and so has another one."
    )
    SLICE_OUT_OF_BOUNDS = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "`{value}` has {size_bytes:bytes} at offset {offset:,}, but allocation {allocation} has "
        "{allocation_bytes:bytes}. A value lies inside of its allocation, at a multiple of 4 bytes.",
    )
    OVERLAPPING_SLICES = _row(
        Code.OVERLAPPING_SLICES,
        "`{value}` and `{other}` overlap: both are live at {shared_steps:steps} and occupy {shared_bytes:byte range} "
        "of allocation {allocation}. Writing one overwrites the other. `{value}` also overlaps {others:# other "
        "value|# other values}.",
        others=(
            "`{value}` and `{other}` overlap: both are live at {shared_steps:steps} and occupy {shared_bytes:byte "
            "range} of allocation {allocation}. Writing one overwrites the other."
        ),
    )
    SPACE_MISMATCH = _row(Code.MEMORY_SPACE_MISMATCH, "{name} is in {space:space}, but {other} in {other_space:space}.")
    REUSED_ARENA = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "{name} is in {space:space}, but {other} in {other_space:space}. XLA reuses arenas in this way since 2026.",
    )
    SIZE_BELOW_SHAPE = _row(
        Code.SIZE_BELOW_SHAPE,
        "`{value}` has {size_bytes:bytes}, but its shape {shape:shape} needs {shape_bytes:bytes}. Padding can only "
        "add bytes.",
    )
    TOTAL_MISMATCH = _row(
        Code.TOTAL_MISMATCH,
        "The printed total is {printed_bytes:bytes}, but the {allocations:# allocation|# allocations} add up to "
        "{reserved_bytes:bytes}, {difference_bytes:less or more}.",
    )
    FOREIGN_VALUES = _row(
        Code.TOTAL_MISMATCH,
        "The list of values and the allocations differ in {differences:,} places. The two files are of different "
        "compilations: copy all files of one compilation.",
    )
    HUMAN_SIZE_MISMATCH = _row(
        Code.HUMAN_SIZE_MISMATCH, "{size_bytes:bytes} are {expected}, but the dump prints {printed}."
    )

    # ------------------------------------------------------------ values

    DUPLICATE_VALUE = _row(Code.DUPLICATE_VALUE, "The id of `{name}` is listed twice. Each id belongs to one value.")
    LISTS_DIFFER = _row(
        Code.UNDEFINED_VALUE, "The same value is `{listed}` in its allocation, but `{used}` in the used values."
    )
    DEFINITION_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "`{name}` is not its own first position. The first position of a value is the instruction that defines it.",
    )
    VIEW = _row(
        Code.UNASSIGNED_VALUE,
        "`{name}` has no allocation. It is an address into another buffer and has no bytes of its own.",
    )
    UNDEFINED_LIVE_RANGE = _row(
        Code.UNDEFINED_VALUE, "`{name}` has a live range, but the dump has no value of this name and index."
    )
    MISSING_QUOTE = _row(Code.SYNTAX, "`{value}` quotes no instruction, unlike the other values of the dump.")
    FOREIGN_QUOTE = _row(Code.UNDEFINED_VALUE, "`{value}` quotes an instruction with another name.")
    QUOTES_DIFFER = _row(
        Code.OPERAND_MISMATCH, "Two values of `{name}` quote it differently. An instruction has one text."
    )
    UNDEFINED_VALUE = _row(
        Code.UNDEFINED_VALUE, "`{name}` (value {id}) is in an allocation, but missing from the used values."
    )
    UNASSIGNED_VALUE = _row(
        Code.UNASSIGNED_VALUE,
        "`{name}` (value {id}) is in no allocation. Each used value occupies bytes of one allocation.",
    )
    DUPLICATE_POSITION = _row(
        Code.DUPLICATE_POSITION, "The position `{position}` is listed twice. A position holds one value."
    )
    DUPLICATE_USE = _row(Code.DUPLICATE_USE, "`{value}` lists its use as operand {operand} of `{user}` twice.")

    # ------------------------------------------------------------ instructions and parameters

    OPERAND_MISMATCH = _row(
        Code.OPERAND_MISMATCH,
        "`{value}` is listed as operand {operand} of `{user}`, but the instruction reads `{read}`.",
        read="`{value}` is listed as operand {operand} of `{user}`, but that operand is no value of the dump.",
    )
    SHARED_OPERAND = _row(
        Code.OPERAND_MISMATCH,
        "`{value}` is listed as operand {operand} of `{user}`, and so is `{other}`. An operand is one value.",
    )
    OPERAND_GAP = _row(
        Code.OPERAND_MISMATCH,
        "`{value}` is listed as operand {operand} of `{user}`, but no value is listed as operand {missing}.",
    )
    MISSING_USE = _row(
        Code.OPERAND_MISMATCH, "`{user}` reads `{value}` as operand {operand}, but the value does not list that use."
    )
    SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "`{name}` has the shape {shape:shape} in {place}, but {other_shape:shape} in {other_place}.",
        other_shape="`{name}` has the shape {shape:shape} in {place}, but {other_place} has no such element.",
    )
    HEADER_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "The header of allocation {allocation} gives {what} the shape {shape:shape}, but none of its values has it.",
    )
    PARAMETER_MISMATCH = _row(
        Code.PARAMETER_MISMATCH, "Allocation {allocation} is marked as parameter {parameter}, but holds another one."
    )
    PARAMETER_GAP = _row(
        Code.PARAMETER_MISMATCH,
        "Allocation {allocation} is marked as parameter {parameter}, but no allocation holds the parameter before it. "
        "XLA numbers parameters without gaps.",
    )

    # ------------------------------------------------------------ schedule and live ranges

    MAX_MISMATCH = _row(
        Code.SCHEDULE_MISMATCH,
        "The header prints `max {maximum}`, but the schedule has {instructions:# instruction|# instructions}. `max` "
        "is their number.",
    )
    WRONG_STEP = _row(
        Code.SCHEDULE_MISMATCH,
        "`{name}` has step {step}, but is listed where step {expected} belongs. XLA numbers steps without gaps.",
    )
    SWAPPED_INSTRUCTIONS = _row(
        Code.SCHEDULE_MISMATCH, "`{name}` and `{other}` are swapped: their live ranges start at each other's step."
    )
    SCHEDULED_TWICE = _row(Code.SCHEDULE_MISMATCH, "`{name}` is scheduled twice. An instruction runs once.")
    UNSCHEDULED_INSTRUCTION = _row(
        Code.UNKNOWN_INSTRUCTION,
        "`{name}` defines, passes on or reads a value, but is not in the instruction sequence.",
    )
    INVALID_LIVE_RANGE = _row(
        Code.INVALID_LIVE_RANGE,
        "`{value}` is live from step {start_step} to step {end_step}. A live range starts before it ends, and the "
        "schedule ends at step {last_step}.",
    )
    DUPLICATE_LIVE_RANGE = _row(Code.DUPLICATE_LIVE_RANGE, "`{value}` has two live ranges. A value has one.")
    MISSING_LIVE_RANGE = _row(
        Code.MISSING_LIVE_RANGE,
        "`{value}` has no live range, although its instruction is scheduled at step {step}. Live bytes and peaks do "
        "not count it.",
    )
    WRONG_START = _row(
        Code.LIVE_RANGE_START, "`{value}` is live from step {start_step}, but its instruction runs at step {step}."
    )
    SHORT_PARAMETER = _row(
        Code.LIVE_RANGE_END,
        "`{value}` is live at steps {start_step}–{end_step}, but a parameter that is not donated is live from step 0 "
        "to step {last_step}.",
    )
    EARLY_END = _row(
        Code.LIVE_RANGE_END, "`{value}` is live until step {end_step}, but `{user}` reads it at step {use_step}."
    )

    # ------------------------------------------------------------ printed peak

    PEAK_STEP_MISMATCH = _row(
        Code.PEAK_STEP_MISMATCH,
        "The peak is printed at step {step}, but XLA's rule gives step {expected_step}: the first step at which the "
        "shapes of all values live there or one step before have the largest sum.",
    )
    PEAK_VALUES_MISSING = _row(
        Code.PEAK_LIST_MISMATCH,
        "`{value}`{others: is| and # other value are| and # other values are} live at step {step}, but missing from "
        "this list.",
    )
    PEAK_VALUE_NOT_LIVE = _row(
        Code.PEAK_LIST_MISMATCH, "`{value}` is in this list, but it is either not live at step {step} or listed twice."
    )
    PEAK_VALUE_SIZE = _row(
        Code.PEAK_LIST_MISMATCH, "`{value}` is listed with {size_bytes:bytes}, but its shape has {shape_bytes:bytes}."
    )
    PEAK_OUT_OF_ORDER = _row(
        Code.PEAK_LIST_MISMATCH,
        "`{value}` is out of order. XLA prints this list by size or in the order of the live ranges.",
    )
    CUMULATIVE_MISMATCH = _row(
        Code.CUMULATIVE_MISMATCH,
        "The cumulative size is {cumulative_bytes:bytes}, but the rows up to here add up to {expected_bytes:bytes}.",
    )
    STACK_TRACE_MISMATCH = _row(
        Code.STACK_TRACE_MISMATCH,
        "The {what} is {printed_bytes:bytes}, but by the other numbers it is {expected_bytes:bytes}.",
    )
    PEAK_UNDERSTATED = _row(
        Code.PEAK_UNDERSTATED,
        "The printed peak is not the real one: {live_bytes:human} of {space:space name} are live at step {step}, but "
        "{peak_and_live_bytes:apart} at step {peak_step} (`{instruction}`). XLA adds up shapes to find the step, not "
        "allocated bytes.",
        instruction=(
            "The printed peak is not the real one: {live_bytes:human} of {space:space name} are live at step {step}, "
            "but {peak_and_live_bytes:apart} at step {peak_step}. XLA adds up shapes to find the step, not allocated "
            "bytes."
        ),
    )

    # ------------------------------------------------------------ memory usage report

    FOREIGN_REPORT = _row(
        Code.REPORT_MISMATCH,
        "The memory usage report and the allocations differ in {differences:,} places. They are of different "
        "compilations: copy all files of one compilation.",
    )
    REPORT_TOTAL = _row(
        Code.REPORT_MISMATCH,
        "The report prints a total of {printed_bytes:bytes} for {space:space}, but its allocations add up to "
        "{reserved_bytes:bytes}.",
        space=(
            "The report prints a total of {printed_bytes:bytes}, but the allocations add up to {reserved_bytes:bytes}."
        ),
    )
    REPORT_MISMATCH = _row(
        Code.REPORT_MISMATCH,
        "The report prints {printed:shape}, but by the buffer assignment it is {expected:shape}.",
        expected="The report prints {printed:shape}, which is not in the buffer assignment or is already listed.",
    )

    # ------------------------------------------------------------ the HLO module

    FOREIGN_MODULE = _row(
        Code.MODULE_MISMATCH,
        "The dump and the HLO module beside it differ in {differences:,} places. They are of different compilations: "
        "copy all files of one compilation.",
    )
    MISSING_FROM_MODULE = _row(Code.UNKNOWN_INSTRUCTION, "The dump names `{name}`, which is not in the HLO module.")
    MISSING_POSITION_OF = _row(
        Code.POSITION_MISMATCH, "No value of the dump lists {missing:# position|# positions} of `{name}`."
    )
    FOREIGN_POSITION = _row(
        Code.POSITION_MISMATCH,
        "`{value}` lists the position `{position}`, where the instruction shows `{shown}`.",
        shown="`{value}` lists the position `{position}`, but the instruction has no such element.",
    )
    DEFINED_TWICE = _row(Code.MODULE_MISMATCH, "The HLO module defines `{name}` twice.")
    NOT_ONE_ROOT = _row(
        Code.MODULE_MISMATCH,
        "The computation `{name}` has {roots:# root|# roots}. The root is the result, so there is one.",
    )
    MISSING_COMPUTATION = _row(
        Code.MODULE_MISMATCH, "The HLO module calls the computation `{name}`, but does not define it."
    )
    OUT_OF_SCHEDULE = _row(
        Code.MODULE_MISMATCH,
        "`{name}` stands above `{other}` in the HLO module, but is scheduled after it. The module is in the order of "
        "the schedule.",
    )
    QUOTE_MISMATCH = _row(Code.MODULE_MISMATCH, "The dump and the HLO module print the {part} of `{name}` differently.")
    LATE_END = _row(
        Code.LIVE_RANGE_END, "`{value}` is live until step {end_step}, but nothing reads it after step {last_use_step}."
    )
    ALIAS_MISMATCH = _row(
        Code.MODULE_MISMATCH,
        "Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but they are not at the same place.",
    )

    # ------------------------------------------------------------ limits

    MEMORY_ABOVE_LIMIT = _row(
        Code.MAX_MEMORY,
        "The program needs {size_bytes:size} of {space:space name}, more than the limit of {limit_bytes:limit}. This "
        "is the largest allocation.",
    )
    REPORT_ABOVE_LIMIT = _row(
        Code.MAX_MEMORY,
        "By its memory usage report, the program needs at least {size_bytes:size} of {space:space name}, more than the "
        "limit of {limit_bytes:limit}.",
    )
    MEMORY_UNSEEN = _row(
        Code.MAX_MEMORY,
        "The program needs {size_bytes:size} of {space:space name} in the dump, within the limit of "
        "{limit_bytes:limit}, but `{instruction}` also takes memory that no dump shows: the products inside it have "
        "{unseen_bytes:size}.",
    )
    PEAK_ABOVE_LIMIT = _row(
        Code.MAX_PEAK,
        "{size_bytes:size} of {space:space name} are live at step {peak_step}, more than the limit of "
        "{limit_bytes:limit}.",
    )
    MEMORY_UNKNOWN = _row(
        Code.MAX_MEMORY, "The needed bytes cannot be compared with the limit of {limit_bytes:limit}: the dump {lack}."
    )
    PEAK_UNKNOWN = _row(
        Code.MAX_PEAK, "The peak cannot be compared with the limit of {limit_bytes:limit}: the dump {lack}."
    )

    def __init__(self, code: Code, message: str, if_empty: tuple[tuple[str, str], ...]) -> None:
        self.code: Code = code
        self.message: str = message
        self.if_empty: tuple[tuple[str, str], ...] = if_empty
        fields = [name for text in (message, *dict(if_empty).values()) for _, name, _, _ in Formatter().parse(text)]
        self.fact_names: list[str] = list(dict.fromkeys(filter(None, (*fields, *dict(if_empty)))))

    def __call__(self, *facts: Any) -> "StatedProblem":
        """Return an occurrence of the problem with its facts, in the order in which its messages name them. Cells of
        columns become numbers, and bytes of the dump text.
        """
        return StatedProblem(self, dict(zip(self.fact_names, map(_plain, facts), strict=True)))


def _plain(fact: Any) -> Any:
    if isinstance(fact, bytes):
        return fact.decode("utf-8", "replace")
    return int(fact) if isinstance(fact, np.integer) else fact


class StatedProblem(Struct, frozen=True):
    """A problem and the facts of one place where it occurs."""

    kind: Problem
    facts: Mapping[str, Any]


# ---------------------------------------------------------------- findings


MAXIMUM_RELATED: Final = 10
"""Maximum number of related locations of one finding."""


class Relation(StrEnum):
    """How a related location is related to its finding, as editors show it."""

    OTHER_OCCURRENCE = "Other occurrence"
    """The other of two lines that repeat each other."""
    ALLOCATION = "Allocation"
    """The header of the value's allocation."""
    SLICE = "Value in its allocation"
    """The value's row in its allocation."""
    OVERLAPPED_SLICE = "Overlapping value"
    OTHER_LIST = "Same value in the other list"
    QUOTED_INSTRUCTION = "Quoted instruction"
    STEP = "Scheduled here"
    LIVE_RANGE = "Live at this step"
    """The live range of a value that is live at the peak."""
    PEAK = "Real peak"
    MODULE_INSTRUCTION = "Instruction in the HLO module"
    DIFFERENCE = "Also differs"
    OTHER_NEGATIVE = "Also negative"


class Related(Struct, frozen=True):
    """Another location that has to do with a finding."""

    place: Place
    relation: Relation


class Finding(Struct, frozen=True):
    """One problem, the place it is reported at, and the places that help to understand it."""

    severity: Severity
    place: Place
    problem: StatedProblem
    related: tuple[Related, ...] = ()

    @property
    def code(self) -> Code:
        """The code of the problem."""
        return self.problem.kind.code


Findings: TypeAlias = Iterator[Finding]
"""What a check yields."""


def of_another_compilation(found: Sequence[Finding], kind: Problem) -> Finding:
    """Replace findings by one at the place of the first: there are so many that the files are of two compilations."""
    first, *others = found
    related = tuple(Related(other.place, Relation.DIFFERENCE) for other in others[:MAXIMUM_RELATED])
    return Finding(Severity.ERROR, first.place, kind(len(found)), related)


def error(place: Place, problem: StatedProblem) -> Finding:
    """A finding for something that XLA never prints."""
    return Finding(Severity.ERROR, place, problem)
