"""What findings report: a table of all problems, each with its code and its message, which names its facts.

Values and instructions are labels as dumps print them: `fusion.5{1}`. Steps are steps of the schedule, allocations are
the numbers in their headers. `xla_lens.render.messages` fills facts into messages and says how it words each of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from string import Formatter
from typing import Any

import numpy as np

from xla_lens.model.checks.codes import Code


class Cut(StrEnum):
    """Where a file that was cut off ends."""

    LINE = "in the middle of a line"
    ALLOCATIONS = "before the last allocations"
    LAST_ALLOCATION = "before the last values of the last allocation"
    SLICES = "before the last values of the allocations, which the used values list"
    USED_VALUE = "in the middle of a used value"
    USED_VALUES = "before the last used values, which the buffer assignment lists"
    LIVE_RANGES = "before the live ranges"
    PEAK_LIST = "before the end of the list of values live at the peak"
    STACK_TRACES = "in the middle of the stack traces"
    REPORT_TABLES = "in the middle of the tables"
    MODULE = "before the end of the entry computation"


class KindConflict(StrEnum):
    """Why the kinds of an allocation are wrong."""

    NO_KIND = "has no kind such as `parameter` or `preallocated-temp`"
    EXCLUSIVE = (
        "has kinds that exclude each other. `constant`, `thread-local` and `preallocated-temp` exclude all other kinds"
    )
    OUTPUT = "holds the output but is not marked `maybe-live-out`. The output is live at the end of the program"
    READ_ONLY = (
        "holds several values, although it is a parameter that is not marked `maybe-live-out`. XLA overwrites a "
        "parameter only if it was donated to an output"
    )
    THREAD_LOCAL = "is thread-local but holds values with live ranges. Thread-local values are not scheduled"
    SECOND_OUTPUT = "has an output shape, and so has another one. The results of a program are elements of one tuple"
    RESULT = "holds a part of the result in the HLO module, but is not marked `maybe-live-out`"


class Lack(StrEnum):
    """Why a dump cannot be compared with a limit."""

    ALLOCATIONS = "has no allocations"
    LIVE_RANGES = "has no live ranges or no allocations"
    PARTS = "is incomplete or contradicts itself"


class ModuleDamage(StrEnum):
    """Why an HLO module is not well-formed."""

    TWICE = "is defined twice"
    ROOT = "does not have exactly one `ROOT` instruction"
    ORDER = "reads an instruction that its computation does not define before"


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
    MISSING_HEADER = _row(
        Code.SYNTAX,
        "The header `{header}` is missing before this line and {more:,} more of its kind.",
        more="The header `{header}` is missing before this line.",
    )
    MISSING_ALLOCATION = _row(
        Code.SYNTAX,
        "Allocation {allocation} and {others:# more|# more} are missing before this one. XLA numbers allocations "
        "without gaps.",
        others="Allocation {allocation} is missing before this one. XLA numbers allocations without gaps.",
    )
    OUT_OF_ORDER = _row(Code.SYNTAX, "{row} follows {previous}. XLA prints these lines in ascending order of {order}.")
    SIZES_TOO_LARGE = _row(
        Code.SYNTAX,
        "These {sizes:,} sizes add up to more than 64 bits can hold, of which this one is the largest. No device has "
        "that much memory, so sums of them are not shown.",
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
    RENUMBERED_ALLOCATION = _row(
        Code.DUPLICATE_ALLOCATION,
        "Allocation {allocation} stands where allocation {expected} belongs. XLA numbers them without gaps.",
    )
    KIND_CONFLICT = _row(Code.ALLOCATION_KIND_CONFLICT, "Allocation {allocation} {conflict}.")
    NO_OUTPUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "No allocation has an output shape. One allocation holds the result of the program.",
    )
    SLICE_OUT_OF_BOUNDS = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "`{value}` has {size_bytes:bytes} at offset {offset:,}, but allocation {allocation} has "
        "{allocation_bytes:bytes}. A value outside of its allocation overwrites other memory.",
    )
    MISPLACED_SLICE = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "`{value}` starts at offset {offset:,} of allocation {allocation}. XLA aligns values to 4 bytes or more, and "
        "starts them at offset 0 outside of a `preallocated-temp`.",
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
        "`{value}` is in {space:space}, but allocation {allocation} is in {allocation_space:space}. XLA releases of "
        "2026 reuse arenas in this way.",
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
    ALLOCATION_SIZE_MISMATCH = _row(
        Code.TOTAL_MISMATCH,
        "Allocation {allocation} has {allocation_bytes:bytes}, but its values need {needed_bytes:bytes}. With that "
        "size, all allocations add up to the printed total of {total_bytes:bytes}.",
    )
    HUMAN_SIZE_MISMATCH = _row(
        Code.HUMAN_SIZE_MISMATCH, "{size_bytes:bytes} are {expected}, but the dump prints {printed}."
    )

    # ------------------------------------------------------------ values

    DUPLICATE_VALUE = _row(
        Code.DUPLICATE_VALUE,
        "`{first_name}` and `{name}` have the same id, {id}. Each id belongs to one value.",
        first_name="`{name}` (value {id}) is listed twice. Each id belongs to one value.",
    )
    LISTS_DIFFER = _row(
        Code.UNDEFINED_VALUE, "The same value is `{listed}` in its allocation, but `{used}` in the used values."
    )
    FOREIGN_QUOTE = _row(
        Code.UNDEFINED_VALUE,
        "`{name}` quotes the instruction `{quoted_name}`. A value quotes the instruction that defines it.",
    )
    DEFINITION_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "The first position of `{name}` is `{position}`. A value's first position is the instruction that defines it "
        "and has its name.",
        position="`{name}` has no position. A value has at least that of the instruction that defines it.",
    )
    VIEW = _row(
        Code.UNASSIGNED_VALUE,
        "`{name}` has no allocation. It is an address into another buffer and has no bytes of its own.",
    )
    UNDEFINED_LIVE_RANGE = _row(
        Code.UNDEFINED_VALUE, "`{name}` has a live range, but the dump has no value of this name and index."
    )
    MISSING_QUOTE = _row(Code.SYNTAX, "`{value}` quotes no instruction, unlike the other values of the dump.")
    UNDEFINED_VALUE = _row(
        Code.UNDEFINED_VALUE, "`{name}` (value {id}) is in an allocation, but missing from the used values."
    )
    UNASSIGNED_VALUE = _row(
        Code.UNASSIGNED_VALUE,
        "`{name}` (value {id}) is in no allocation. Each used value occupies bytes of one allocation.",
    )
    SHARED_POSITION = _row(
        Code.DUPLICATE_POSITION,
        "`{position}` is a position of both `{value}` and `{other}`. A position holds one value.",
        other="`{value}` lists the position `{position}` twice.",
    )
    DUPLICATE_USE = _row(Code.DUPLICATE_USE, "`{value}` lists its use as operand {operand} of `{user}` twice.")

    # ------------------------------------------------------------ instructions and parameters

    QUOTES_DIFFER = _row(
        Code.OPERAND_MISMATCH,
        "The dump quotes `{instruction}` with two different texts. All values of an instruction quote the same text.",
    )
    SHARED_OPERAND = _row(
        Code.OPERAND_MISMATCH,
        "Operand {operand} of `{user}` is listed as a use of both `{value}` and `{other}`. An operand is one value.",
    )
    OPERAND_MISMATCH = _row(
        Code.OPERAND_MISMATCH,
        "`{value}` is listed as operand {operand} of `{user}`, but the instruction reads `{read}`.",
        read="`{value}` is listed as operand {operand} of `{user}`, which has no such operand.",
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
        Code.PARAMETER_MISMATCH,
        "Allocation {allocation} is marked as parameter {parameter} at index {index}, but holds no value of "
        "`parameter({parameter})` at that index.",
    )
    DUPLICATE_PARAMETER = _row(
        Code.PARAMETER_MISMATCH,
        "Allocations {first} and {allocation} are both marked as parameter {parameter} at index {index}. Each is in "
        "one allocation.",
    )
    MISSING_PARAMETER = _row(
        Code.PARAMETER_MISMATCH,
        "Allocation {allocation} is marked as parameter {parameter}, but no allocation holds parameter {missing}. XLA "
        "numbers parameters without gaps.",
    )

    # ------------------------------------------------------------ schedule and live ranges

    MAX_MISMATCH = _row(
        Code.SCHEDULE_MISMATCH,
        "The header prints `max {maximum}`, but the schedule has {instructions:# instruction|# instructions}. `max` "
        "is their number.",
    )
    WRONG_STEP = _row(
        Code.SCHEDULE_MISMATCH,
        "`{name}` has step {step}, but is listed where step {expected} belongs. {others:# more row is|# more rows "
        "are} out of order.",
        others="`{name}` has step {step}, but is listed where step {expected} belongs.",
    )
    SCHEDULED_TWICE = _row(
        Code.SCHEDULE_MISMATCH, "`{name}` is scheduled twice, {steps:at steps}. An instruction runs once."
    )
    MISSING_STEP = _row(Code.SCHEDULE_MISMATCH, "Step {missing} is missing before step {step} (`{name}`).")
    SWAPPED_INSTRUCTIONS = _row(
        Code.SCHEDULE_MISMATCH,
        "`{name}` (step {step}) and `{other}` (step {other_step}) are swapped: their live ranges and uses fit each "
        "other's step.",
    )
    MISNAMED_INSTRUCTION = _row(
        Code.UNKNOWN_INSTRUCTION,
        "`{name}` appears nowhere else in the dump, and `{missing_name}`, which becomes live at this step and has "
        "{mentions:# mention|# mentions}, is not scheduled. One of the names is wrong.",
    )
    UNSCHEDULED_INSTRUCTION = _row(
        Code.UNKNOWN_INSTRUCTION,
        "`{name}` defines, passes on or reads a value in {mentions:# line|# lines}, but is not in the instruction "
        "sequence.",
    )
    INVALID_LIVE_RANGE = _row(
        Code.INVALID_LIVE_RANGE,
        "`{value}` is live from step {start_step} to step {end_step}. A live range starts before it ends, and the "
        "schedule ends at step {last_step}.",
    )
    PARAMETER_LIVE_RANGE = _row(
        Code.INVALID_LIVE_RANGE,
        "`{value}` is live at {steps:steps}, but a read-only parameter is live at {all_steps:steps}.",
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
    PEAK_VALUE_NOT_LIVE = _row(Code.PEAK_LIST_MISMATCH, "`{value}` is in this list, but is not live at step {step}.")
    PEAK_VALUE_TWICE = _row(Code.PEAK_LIST_MISMATCH, "`{value}` is in this list twice.")
    PEAK_VALUE_SIZE = _row(
        Code.PEAK_LIST_MISMATCH, "`{value}` is listed with {size_bytes:bytes}, but its shape has {shape_bytes:bytes}."
    )
    PEAK_OUT_OF_ORDER = _row(Code.PEAK_LIST_MISMATCH, "`{value}` is out of order. XLA prints this list {order}.")
    CUMULATIVE_MISMATCH = _row(
        Code.CUMULATIVE_MISMATCH,
        "The cumulative size is {cumulative_bytes:bytes}, but the rows up to here add up to {expected_bytes:bytes}.",
    )
    STACK_TRACE_MISMATCH = _row(
        Code.STACK_TRACE_MISMATCH, "The {what} is {printed_bytes:bytes}, but {rows} up to {expected_bytes:bytes}."
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
        "The report prints the {what} {printed:shape}, but by the buffer assignment it is {expected:shape}.",
        expected=(
            "The report prints the {what} {printed:shape}, which is not in the buffer assignment or is already listed."
        ),
    )

    # ------------------------------------------------------------ the HLO module

    FOREIGN_MODULE = _row(
        Code.MODULE_MISMATCH,
        "The dump and the HLO module beside it differ in {differences:,} places. They are of different compilations: "
        "copy all files of one compilation.",
    )
    MISSING_FROM_MODULE = _row(Code.UNKNOWN_INSTRUCTION, "The dump names `{name}`, which is not in the HLO module.")
    POSITION_MISMATCH = _row(
        Code.POSITION_MISMATCH,
        "`{position}` is listed as a position of `{value}`, but by the HLO module it shows `{shown}`.",
        shown="`{position}` is listed as a position of `{value}`, but the HLO module does not show that value there.",
    )
    MISSING_POSITION_OF = _row(
        Code.POSITION_MISMATCH, "No value of the dump lists {missing:# position|# positions} of `{name}`."
    )
    DAMAGED_MODULE = _row(Code.MODULE_MISMATCH, "In the HLO module, `{name}` {damage}.")
    QUOTE_MISMATCH = _row(
        Code.MODULE_MISMATCH,
        "The dump quotes `{name}` with `{quoted}`, but the HLO module has `{in_module}`.",
        quoted="The dump quotes `{name}` without `{in_module}`, which the HLO module has.",
        in_module="The dump quotes `{name}` with `{quoted}`, which the HLO module lacks.",
    )
    ENTRY_PARAMETER_NUMBER = _row(
        Code.PARAMETER_MISMATCH,
        "`{name}` is parameter {parameter} of the entry computation. XLA numbers its {parameters:# parameter|# "
        "parameters} from 0, each once.",
    )
    SCHEDULE_ORDER = _row(
        Code.SCHEDULE_MISMATCH,
        "`{name}` runs after `{before}`, but comes before it in the HLO module, which is scheduled.",
    )
    MISSING_FROM_SCHEDULE = _row(
        Code.SCHEDULE_MISMATCH,
        "`{name}` is missing from the schedule, which has the other instructions of its computation.",
    )
    LATE_END = _row(
        Code.LIVE_RANGE_END, "`{value}` is live until step {end_step}, but nothing reads it after step {last_use_step}."
    )
    ALIAS_MISMATCH = _row(
        Code.MODULE_MISMATCH,
        "Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but they are not at the same place.",
    )
    LIVE_OUT_PARAMETER = _row(
        Code.MODULE_MISMATCH,
        "Allocation {allocation} is marked `maybe-live-out`, but in the HLO module no output aliases its parameter "
        "{parameter} at {{{index}}}.",
        lives_out=(
            "In the HLO module an output aliases parameter {parameter} at {{{index}}}, but its allocation "
            "{allocation} is not marked `maybe-live-out`."
        ),
    )

    # ------------------------------------------------------------ limits

    MEMORY_ABOVE_LIMIT = _row(
        Code.MAX_MEMORY,
        "The program needs {size_bytes:size} of {space:space name}, more than the limit of {limit_bytes:limit}. This "
        "is the largest allocation.",
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

    def __call__(self, *facts: Any) -> "Occurrence":
        """Return an occurrence of the problem with its facts, in the order in which its messages name them. Cells of
        columns become numbers, and bytes of the dump text.
        """
        return Occurrence(self, dict(zip(self.fact_names, map(_plain, facts), strict=True)))


def _plain(fact: Any) -> Any:
    if isinstance(fact, bytes):
        return fact.decode("utf-8", "replace")
    return int(fact) if isinstance(fact, np.integer) else fact


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A problem and the facts of one place where it occurs."""

    kind: Problem
    facts: Mapping[str, Any]
