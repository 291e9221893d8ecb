"""What findings report: a table of all problems, each with its code, its facts and its message.

Values and instructions are labels as dumps print them: `fusion.5{1}`. Steps are steps of the schedule, allocations are
the numbers in their headers. `xla_lens.render.messages` fills facts into messages and says how it words each of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, TypeAlias

from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.resemblance import Row
from xla_lens.model.tables.backend import SpaceId
from xla_lens.syntax.columns import Kind


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


class QuotePart(StrEnum):
    """What differs between a quoted instruction and the one in the module."""

    SHAPE = "shape"
    OPCODE = "opcode"
    PARAMETER = "parameter number"
    OPERAND = "operand"
    ATTRIBUTE = "attribute"


Fact: TypeAlias = int | str | Kind | Row | SpaceId | tuple[int, int] | tuple[Row, ...] | None


def _row(
    code: Code, facts: str, message: str, /, **if_empty: str
) -> tuple[Code, str, str, tuple[tuple[str, str], ...]]:
    """A row of the table: a code, the names of facts, the message, and the messages that replace it if a fact is empty,
    0 or false. The first that applies counts.
    """
    return code, facts, message, tuple(if_empty.items())


class Problem(Enum):
    """What can be wrong with a dump set."""

    # ------------------------------------------------------------ file structure

    EMPTY_FILE = _row(Code.SYNTAX, "", "The file is empty.")
    UNREADABLE_FILE = _row(Code.SYNTAX, "reason", "This file {reason}.")
    NO_DUMP_LINES = _row(Code.SYNTAX, "", "No line of this file belongs to an XLA memory dump.")
    UNKNOWN_LINES = _row(
        Code.SYNTAX,
        "lines rows",
        "{lines:This line of the dump is|These # lines of the dump are} damaged. {lines:It is|They are} cut off or "
        "{lines:was|were} edited, and what {lines:it|they} said is missing.",
        rows=(
            "{lines:This line does|These # lines do} not belong to a dump: another program or a newer release of XLA "
            "printed {lines:it|them}. Nothing is missing without {lines:it|them}."
        ),
    )
    UNKNOWN_LINE_PART = _row(
        Code.SYNTAX,
        "row",
        "This part of the line is damaged. It was edited, and what it said is missing.",
        row="XLA Lens does not know this part of the line, and reads the rest. A newer release of XLA printed it.",
    )
    SECOND_MODULE = _row(
        Code.SYNTAX,
        "name",
        "`{name}` belongs to a second module. Of a file with the name of a dump file, editors show the first module; "
        "`xla-lens report` shows all. With `--xla_dump_to=DIR`, each has files of its own.",
    )
    MISSING_HEADER = _row(
        Code.SYNTAX,
        "header more",
        "The header `{header}` is missing before this line and {more:,} more of its kind.",
        more="The header `{header}` is missing before this line.",
    )
    MISSING_ALLOCATION = _row(
        Code.SYNTAX,
        "allocation",
        "Allocation {allocation} is missing before this one. XLA numbers allocations without gaps.",
    )
    MISSING_ALLOCATIONS = _row(
        Code.SYNTAX,
        "first last",
        "Allocations {first}\N{EN DASH}{last} are missing before this one. XLA numbers allocations without gaps.",
    )
    ALLOCATION_OUT_OF_ORDER = _row(
        Code.SYNTAX,
        "allocation previous",
        "Allocation {allocation} follows allocation {previous}. XLA prints allocations in ascending order.",
    )
    VALUE_OUT_OF_ORDER = _row(
        Code.SYNTAX,
        "id previous_id",
        "Value {id} follows value {previous_id}. XLA prints values in ascending order of their ids.",
    )
    LIVE_RANGE_OUT_OF_ORDER = _row(
        Code.SYNTAX,
        "value id previous previous_id",
        "`{value}` (value {id}) follows `{previous}` (value {previous_id}). XLA prints live ranges in ascending order "
        "of value ids.",
    )
    SIZES_TOO_LARGE = _row(
        Code.SYNTAX,
        "sizes",
        "These {sizes:,} sizes add up to more than 64 bits can hold, of which this one is the largest. No device has "
        "that much memory, so sums of them are not shown.",
    )
    TRUNCATED_FILE = _row(
        Code.TRUNCATED_DUMP, "cut", "The file ends {cut}. It was cut off, so other results for this dump may be wrong."
    )

    # ------------------------------------------------------------ allocations

    DUPLICATE_ALLOCATION = _row(
        Code.DUPLICATE_ALLOCATION, "allocation", "Allocation {allocation} is defined twice. XLA uses each number once."
    )
    RENUMBERED_ALLOCATION = _row(
        Code.DUPLICATE_ALLOCATION,
        "allocation expected",
        "Allocation {allocation} stands where allocation {expected} belongs. XLA numbers them without gaps.",
    )
    ALLOCATION_WITHOUT_KIND = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation",
        "Allocation {allocation} has no kind. XLA marks each allocation as `parameter`, `output`, `maybe-live-out`, "
        "`constant`, `thread-local` or `preallocated-temp`.",
    )
    EXCLUSIVE_KINDS = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation kinds",
        "Allocation {allocation} is marked {kinds:kinds}. `constant`, `thread-local` and `preallocated-temp` exclude "
        "all other kinds.",
    )
    OUTPUT_NOT_LIVE_OUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation",
        "Allocation {allocation} holds the output but is not marked `maybe-live-out`. The output is live at the end "
        "of the program.",
    )
    SHARED_READ_ONLY_PARAMETER = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation values",
        "Allocation {allocation} holds {values:,} values, although it is a parameter that is not marked "
        "`maybe-live-out`. XLA overwrites a parameter only if it was donated to an output.",
    )
    THREAD_LOCAL_LIVE_RANGE = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation",
        "Allocation {allocation} is thread-local but holds values with live ranges. Thread-local values are not "
        "scheduled.",
    )
    SECOND_OUTPUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation output",
        "Allocation {allocation} has an output shape, and so has allocation {output}. A program has one output: "
        "several results are elements of one tuple.",
    )
    NO_OUTPUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "",
        "No allocation has an output shape. One allocation holds the result of the program.",
    )
    NEGATIVE_SLICE = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "value offset size_bytes",
        "`{value}` has size {size_bytes:,} and offset {offset:,}. Neither can be negative.",
    )
    SLICE_OUT_OF_BOUNDS = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "value end allocation allocation_bytes",
        "`{value}` ends at byte {end:,}, but allocation {allocation} has {allocation_bytes:bytes}. A value outside of "
        "its allocation overwrites other memory.",
    )
    MISALIGNED_SLICE = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "value offset alignment",
        "`{value}` starts at offset {offset:,}. XLA aligns values to {alignment} bytes or more.",
    )
    UNEXPECTED_OFFSET = _row(
        Code.SLICE_OUT_OF_BOUNDS,
        "value offset allocation",
        "`{value}` starts at offset {offset:,} of allocation {allocation}, which is not a preallocated-temp. In all "
        "other allocations values start at offset 0.",
    )
    OVERLAPPING_SLICES = _row(
        Code.OVERLAPPING_SLICES,
        "value other others allocation shared_bytes shared_steps",
        "`{value}` and `{other}` overlap: both are live at {shared_steps:steps} and occupy {shared_bytes:byte range} "
        "of allocation {allocation}. Writing one overwrites the other. `{value}` also overlaps {others:# other "
        "value|# other values}.",
        others=(
            "`{value}` and `{other}` overlap: both are live at {shared_steps:steps} and occupy {shared_bytes:byte "
            "range} of allocation {allocation}. Writing one overwrites the other."
        ),
    )
    ALLOCATION_SPACE_MISMATCH = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "allocation space value_space",
        "Allocation {allocation} is in {space:space}, but its values are in {value_space:space}.",
    )
    SLICE_SPACE_MISMATCH = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "value space allocation allocation_space",
        "`{value}` is in {space:space}, but allocation {allocation} is in {allocation_space:space}. A value is in the "
        "memory space of its allocation.",
    )
    REUSED_ARENA = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "value space allocation allocation_space",
        "`{value}` is in {space:space}, but allocation {allocation} is in {allocation_space:space}. XLA releases of "
        "2026 reuse arenas in this way.",
    )
    USED_VALUE_SPACE_MISMATCH = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "value space slice_space",
        "`{value}` is in {space:space} here, but in {slice_space:space} in its allocation.",
    )
    LAYOUT_SPACE_MISMATCH = _row(
        Code.MEMORY_SPACE_MISMATCH,
        "value layout_space space",
        "The layout of `{value}` is for {layout_space:space}, but the value is in {space:space}.",
    )
    SIZE_BELOW_SHAPE = _row(
        Code.SIZE_BELOW_SHAPE,
        "value shape size_bytes shape_bytes",
        "`{value}` has {size_bytes:bytes}, but its shape {shape:shape} needs {shape_bytes:bytes}. Padding can only "
        "add bytes.",
    )
    TOTAL_MISMATCH = _row(
        Code.TOTAL_MISMATCH,
        "printed_bytes reserved_bytes difference_bytes allocations",
        "The printed total is {printed_bytes:bytes}, but the {allocations:# allocation|# allocations} add up to "
        "{reserved_bytes:bytes}, {difference_bytes:less or more}.",
    )
    ALLOCATION_SIZE_MISMATCH = _row(
        Code.TOTAL_MISMATCH,
        "allocation allocation_bytes needed_bytes total_bytes",
        "Allocation {allocation} has {allocation_bytes:bytes}, but its values need {needed_bytes:bytes}. With that "
        "size, all allocations add up to the printed total of {total_bytes:bytes}.",
    )
    HUMAN_SIZE_MISMATCH = _row(
        Code.HUMAN_SIZE_MISMATCH,
        "size_bytes printed expected",
        "{size_bytes:bytes} are {expected}, but the dump prints {printed}.",
    )

    # ------------------------------------------------------------ values

    DUPLICATE_VALUE = _row(
        Code.DUPLICATE_VALUE, "id name", "`{name}` (value {id}) is listed twice. Each id belongs to one value."
    )
    DUPLICATE_VALUE_ID = _row(
        Code.DUPLICATE_VALUE,
        "id name first_name",
        "`{first_name}` and `{name}` have the same id, {id}. Each id belongs to one value.",
    )
    SLICE_NAME_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "id name used_name",
        "Value {id} is named `{name}` in its allocation, but `{used_name}` in the used values, which define it.",
    )
    SLICE_ID_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "name id used_id",
        "`{name}` has id {id} in its allocation, but id {used_id} in the used values.",
    )
    PHI_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "name is_phi_in_allocation",
        "`{name}` is marked `(phi)` in its allocation, but is not in the used values.",
        is_phi_in_allocation="`{name}` is not marked `(phi)` in its allocation, but is in the used values.",
    )
    FOREIGN_QUOTE = _row(
        Code.UNDEFINED_VALUE,
        "name quoted_name",
        "`{name}` quotes the instruction `{quoted_name}`. A value quotes the instruction that defines it.",
    )
    DEFINITION_MISMATCH = _row(
        Code.UNDEFINED_VALUE,
        "name position",
        "The first position of `{name}` is `{position}`. A value's first position is the instruction that defines it "
        "and has its name.",
    )
    MISSING_POSITION = _row(
        Code.UNDEFINED_VALUE,
        "name",
        "`{name}` has no position. A value has at least that of the instruction that defines it.",
    )
    VIEW = _row(
        Code.UNASSIGNED_VALUE,
        "name",
        "`{name}` has no allocation. It is an address into another buffer and has no bytes of its own.",
    )
    UNDEFINED_LIVE_RANGE = _row(
        Code.UNDEFINED_VALUE, "name", "`{name}` has a live range, but the dump has no value of this name and index."
    )
    MISSING_QUOTE = _row(Code.SYNTAX, "value", "`{value}` quotes no instruction, unlike the other values of the dump.")
    REPEATED_QUOTE = _row(Code.SYNTAX, "value", "`{value}` quotes its instruction twice.")
    FOREIGN_USED_VALUES = _row(
        Code.UNDEFINED_VALUE,
        "missing total",
        "This file belongs to another dump: {missing:,} of its {total:,} used values are in no allocation.",
    )
    FOREIGN_LIVE_RANGES = _row(
        Code.UNDEFINED_VALUE,
        "missing total",
        "This file belongs to another dump: {missing:,} of its {total:,} live ranges are of unknown values.",
    )
    FOREIGN_SLICES = _row(
        Code.UNDEFINED_VALUE,
        "name others",
        "`{name}`{others:| and # other value| and # other values} of the allocations are missing from the used "
        "values. The files belong to different dumps.",
    )
    UNDEFINED_VALUE = _row(
        Code.UNDEFINED_VALUE, "id name", "`{name}` (value {id}) is in an allocation, but missing from the used values."
    )
    USED_NAME_MISMATCH = _row(
        Code.UNASSIGNED_VALUE,
        "id name slice_name",
        "Value {id} is named `{name}` in the used values, but `{slice_name}` in its allocation and in its first "
        "position.",
    )
    UNASSIGNED_VALUES = _row(
        Code.UNASSIGNED_VALUE,
        "name others",
        "`{name}`{others:| and # other used value| and # other used values} are in no allocation. The files belong to "
        "different dumps.",
    )
    UNASSIGNED_VALUE = _row(
        Code.UNASSIGNED_VALUE,
        "id name",
        "`{name}` (value {id}) is in no allocation. Each used value occupies bytes of one allocation.",
    )
    REPEATED_POSITION = _row(
        Code.DUPLICATE_POSITION, "value position", "`{value}` lists the position `{position}` twice."
    )
    SHARED_POSITION = _row(
        Code.DUPLICATE_POSITION,
        "position value other",
        "`{position}` is a position of both `{value}` and `{other}`. A position holds one value.",
    )
    DUPLICATE_USE = _row(
        Code.DUPLICATE_USE, "value user operand", "`{value}` lists its use as operand {operand} of `{user}` twice."
    )

    # ------------------------------------------------------------ instructions and parameters

    QUOTED_OPERANDS_MISMATCH = _row(
        Code.OPERAND_MISMATCH,
        "instruction",
        "The dump quotes `{instruction}` with two different texts. All values of an instruction quote the same text.",
    )
    SHARED_OPERAND = _row(
        Code.OPERAND_MISMATCH,
        "value other user operand",
        "Operand {operand} of `{user}` is listed as a use of both `{value}` and `{other}`. An operand is one value.",
    )
    UNKNOWN_OPERAND = _row(
        Code.OPERAND_MISMATCH,
        "value user operand quoted_name",
        "`{user}` reads `{quoted_name}`, which appears nowhere else in the dump. According to the used values, its "
        "operand {operand} is `{value}`.",
    )
    OPERAND_GAP = _row(
        Code.OPERAND_MISMATCH,
        "value user operand missing",
        "`{value}` is listed as operand {operand} of `{user}`, but no value as its operand {missing}.",
    )
    MISSING_OPERAND = _row(
        Code.OPERAND_MISMATCH,
        "value user operand operands",
        "`{value}` is listed as operand {operand} of `{user}`, which has {operands:# operand|# operands}.",
    )
    OPERAND_MISMATCH = _row(
        Code.OPERAND_MISMATCH,
        "value user operand quoted_name",
        "`{value}` is listed as operand {operand} of `{user}`, but the instruction reads `{quoted_name}`.",
    )
    QUOTED_SHAPES_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "instruction",
        "The dump quotes `{instruction}` with two different shapes. All values of an instruction quote the same text.",
    )
    SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "value shape quoted_shape",
        "`{value}` has the shape {shape:shape} in its allocation, but its instruction has {quoted_shape:shape}.",
    )
    MISSING_ELEMENT = _row(
        Code.SHAPE_MISMATCH,
        "value shape",
        "`{value}` has the shape {shape:shape} in its allocation, but its instruction has no element with that index.",
    )
    PARAMETER_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "allocation shape",
        "The header of allocation {allocation} gives its parameter the shape {shape:shape}, but none of its values "
        "has it.",
    )
    OUTPUT_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "allocation shape",
        "The header of allocation {allocation} gives the output the shape {shape:shape}, but none of its values has "
        "it.",
    )
    PARAMETER_MISMATCH = _row(
        Code.PARAMETER_MISMATCH,
        "allocation parameter index",
        "Allocation {allocation} is marked as parameter {parameter} at index {index}, but holds no value of "
        "`parameter({parameter})` at that index.",
    )
    DUPLICATE_PARAMETER = _row(
        Code.PARAMETER_MISMATCH,
        "allocation first parameter index",
        "Allocations {first} and {allocation} are both marked as parameter {parameter} at index {index}. Each is in "
        "one allocation.",
    )
    MISSING_PARAMETER = _row(
        Code.PARAMETER_MISMATCH,
        "allocation parameter missing",
        "Allocation {allocation} is marked as parameter {parameter}, but no allocation holds parameter {missing}. XLA "
        "numbers parameters without gaps.",
    )

    # ------------------------------------------------------------ schedule and live ranges

    MAX_MISMATCH = _row(
        Code.SCHEDULE_MISMATCH,
        "maximum instructions",
        "The header prints `max {maximum}`, but the schedule has {instructions:# instruction|# instructions}. `max` "
        "is their number.",
    )
    STEPS_OUT_OF_ORDER = _row(
        Code.SCHEDULE_MISMATCH,
        "name step row rows",
        "`{name}` has step {step}, but is listed where step {row} belongs. {rows:# row|# rows} are out of order.",
    )
    SCHEDULED_TWICE = _row(
        Code.SCHEDULE_MISMATCH, "name steps", "`{name}` is scheduled twice, {steps:at steps}. An instruction runs once."
    )
    MISSING_STEP = _row(
        Code.SCHEDULE_MISMATCH, "missing step name", "Step {missing} is missing before step {step} (`{name}`)."
    )
    WRONG_STEP = _row(
        Code.SCHEDULE_MISMATCH,
        "name step expected",
        "`{name}` has step {step}, but is listed where step {expected} belongs.",
    )
    SWAPPED_INSTRUCTIONS = _row(
        Code.SCHEDULE_MISMATCH,
        "name step other other_step",
        "`{name}` (step {step}) and `{other}` (step {other_step}) are swapped: their live ranges and uses fit each "
        "other's step.",
    )
    MISNAMED_INSTRUCTION = _row(
        Code.UNKNOWN_INSTRUCTION,
        "name missing_name mentions",
        "`{name}` appears nowhere else in the dump, and `{missing_name}`, which becomes live at this step and has "
        "{mentions:# mention|# mentions}, is not scheduled. One of the names is wrong.",
    )
    UNSCHEDULED_INSTRUCTION = _row(
        Code.UNKNOWN_INSTRUCTION,
        "name mentions",
        "`{name}` defines, passes on or reads a value in {mentions:# line|# lines}, but is not in the instruction "
        "sequence.",
    )
    BACKWARD_LIVE_RANGE = _row(
        Code.INVALID_LIVE_RANGE,
        "value start_step end_step",
        "The live range of `{value}` ends at step {end_step}, before it starts at step {start_step}.",
    )
    INVALID_LIVE_RANGE = _row(
        Code.INVALID_LIVE_RANGE,
        "value steps scheduled",
        "`{value}` is live at {steps:steps}, but the schedule has {scheduled:steps}.",
    )
    DUPLICATE_LIVE_RANGE = _row(Code.DUPLICATE_LIVE_RANGE, "value", "`{value}` has two live ranges. A value has one.")
    MISSING_LIVE_RANGE = _row(
        Code.MISSING_LIVE_RANGE,
        "value step",
        "`{value}` has no live range, although its instruction is scheduled at step {step}. Live bytes and peaks do "
        "not count it.",
    )
    WRONG_START = _row(
        Code.LIVE_RANGE_START,
        "value start_step step",
        "`{value}` is live from step {start_step}, but its instruction runs at step {step}.",
    )
    PARAMETER_START = _row(
        Code.LIVE_RANGE_START,
        "value start_step",
        "`{value}` is live from step {start_step}, but a read-only parameter is live from step 0.",
    )
    EARLY_END = _row(
        Code.LIVE_RANGE_END,
        "value end_step use_step user",
        "`{value}` is live until step {end_step}, but `{user}` reads it at step {use_step}.",
    )
    PARAMETER_END = _row(
        Code.LIVE_RANGE_END,
        "value end_step last_step",
        "`{value}` is live until step {end_step}, but a read-only parameter is live until the last step, {last_step}.",
    )

    # ------------------------------------------------------------ printed peak

    PEAK_STEP_MISMATCH = _row(
        Code.PEAK_STEP_MISMATCH,
        "step expected_step",
        "The peak is printed at step {step}, but XLA's rule gives step {expected_step}: the first step at which the "
        "shapes of all values live there or one step before have the largest sum.",
    )
    PEAK_VALUES_MISSING = _row(
        Code.PEAK_LIST_MISMATCH,
        "value others step",
        "`{value}`{others: is| and # other value are| and # other values are} live at step {step}, but missing from "
        "this list.",
    )
    PEAK_VALUE_NOT_LIVE = _row(
        Code.PEAK_LIST_MISMATCH, "value step", "`{value}` is in this list, but is not live at step {step}."
    )
    PEAK_VALUE_TWICE = _row(Code.PEAK_LIST_MISMATCH, "value", "`{value}` is in this list twice.")
    PEAK_VALUE_SIZE = _row(
        Code.PEAK_LIST_MISMATCH,
        "value size_bytes shape_bytes",
        "`{value}` is listed with {size_bytes:bytes}, but its shape has {shape_bytes:bytes}.",
    )
    PEAK_OUT_OF_ORDER = _row(
        Code.PEAK_LIST_MISMATCH,
        "value is_by_size",
        "`{value}` is out of order. XLA prints this list by size, name and index.",
        is_by_size="`{value}` is out of order. XLA prints this list in the order of the live ranges.",
    )
    CUMULATIVE_MISMATCH = _row(
        Code.CUMULATIVE_MISMATCH,
        "cumulative_bytes expected_bytes",
        "The cumulative size is {cumulative_bytes:bytes}, but the rows up to here add up to {expected_bytes:bytes}.",
    )
    STACK_TRACE_TOTAL = _row(
        Code.STACK_TRACE_MISMATCH,
        "printed_bytes expected_bytes is_sum_of_frames",
        "The breakdown is of {printed_bytes:bytes}, but its frames add up to {expected_bytes:bytes}.",
        is_sum_of_frames=(
            "The breakdown is of {printed_bytes:bytes}, but the list of the peak adds up to {expected_bytes:bytes}."
        ),
    )
    FRAME_TOTAL = _row(
        Code.STACK_TRACE_MISMATCH,
        "frame total_bytes expected_bytes",
        "`{frame}` has a total of {total_bytes:bytes}, but it and the frames below add up to {expected_bytes:bytes}.",
    )
    FRAME_REMAINING = _row(
        Code.STACK_TRACE_MISMATCH,
        "frame current_bytes remaining_bytes expected_bytes",
        "After the {current_bytes:bytes} of `{frame}`, {expected_bytes:bytes} remain, but the dump prints "
        "{remaining_bytes:,}.",
    )
    PEAK_UNDERSTATED = _row(
        Code.PEAK_UNDERSTATED,
        "space step live_bytes peak_step peak_and_live_bytes instruction",
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
        "differences",
        "The memory usage report and the allocations differ in {differences:,} places. They are of different "
        "compilations: copy all files of one compilation.",
    )
    REPORT_TOTAL = _row(
        Code.REPORT_MISMATCH,
        "printed_bytes reserved_bytes",
        "The report prints a total of {printed_bytes:bytes}, but the allocations add up to {reserved_bytes:bytes}.",
    )
    REPORT_SPACE_TOTAL = _row(
        Code.REPORT_MISMATCH,
        "space printed_bytes reserved_bytes",
        "The report prints a total of {printed_bytes:bytes} for {space:space}, but its allocations add up to "
        "{reserved_bytes:bytes}.",
    )
    REPORT_SPACE_ORDER = _row(
        Code.REPORT_MISMATCH, "space expected", "The report lists {space:space} in the place of {expected:space}."
    )
    REPORT_SPACE_UNUSED = _row(
        Code.REPORT_MISMATCH,
        "space spaces",
        "The report lists {space:space}, but the allocations are in {spaces:# memory space|# memory spaces}.",
    )
    REPORT_ALLOCATION_ORDER = _row(
        Code.REPORT_MISMATCH,
        "allocation expected",
        "The report lists allocation {allocation} in the place of allocation {expected}. The largest allocations come "
        "first.",
    )
    REPORT_ALLOCATION_UNKNOWN = _row(
        Code.REPORT_MISMATCH,
        "allocation allocations",
        "The report lists allocation {allocation} after all {allocations:# allocation|# allocations} of the buffer "
        "assignment.",
    )
    REPORT_HEADER = _row(
        Code.REPORT_MISMATCH,
        "allocation expected",
        "The header of allocation {allocation} is not that of the buffer assignment: `{expected}`",
    )
    REPORT_CUMULATIVE = _row(
        Code.REPORT_MISMATCH,
        "printed expected",
        "The allocations up to here add up to {expected}, but the report prints {printed}.",
    )
    REPORT_REMAINING = _row(
        Code.REPORT_MISMATCH,
        "printed expected",
        "The allocations below add up to {expected}, but the report prints {printed}.",
    )
    REPORT_OFFSET_UNUSED = _row(
        Code.REPORT_MISMATCH,
        "allocation offset",
        "The report lists offset {offset:,} of allocation {allocation}, but no value starts there.",
    )
    REPORT_OFFSET_TWICE = _row(
        Code.REPORT_MISMATCH, "allocation offset", "The table of allocation {allocation} lists offset {offset:,} twice."
    )
    REPORT_ROW_ORDER = _row(
        Code.REPORT_MISMATCH,
        "allocation",
        "This row is out of order. In the table of allocation {allocation}, the largest sizes come first.",
    )
    REPORT_ROW_COUNT = _row(
        Code.REPORT_MISMATCH,
        "allocation printed offsets",
        "The table of allocation {allocation} has {printed:# offset|# offsets}, but its values start at {offsets:,}.",
    )
    REPORT_ROW_CUMULATIVE = _row(
        Code.REPORT_MISMATCH,
        "allocation offset printed expected",
        "The rows of allocation {allocation} up to here add up to {expected}, but the report prints {printed}.",
    )
    REPORT_ROW_SIZE = _row(
        Code.REPORT_MISMATCH,
        "allocation offset printed expected",
        "The largest value at offset {offset:,} of allocation {allocation} has {expected}, but the report prints "
        "{printed}.",
    )
    REPORT_ROW_VALUES = _row(
        Code.REPORT_MISMATCH,
        "allocation offset printed expected",
        "The number of values at offset {offset:,} of allocation {allocation} is {expected}, but the report prints "
        "{printed}.",
    )
    REPORT_ROW_SHAPES = _row(
        Code.REPORT_MISMATCH,
        "allocation offset printed expected",
        "The values at offset {offset:,} of allocation {allocation} have the shapes {expected:shape}, but the report "
        "prints {printed:shape}.",
    )

    # ------------------------------------------------------------ the HLO module

    FOREIGN_MODULE = _row(
        Code.MODULE_MISMATCH,
        "differences",
        "The dump and the HLO module beside it differ in {differences:,} places. They are of different compilations: "
        "copy all files of one compilation.",
    )
    MISSING_FROM_MODULE = _row(
        Code.UNKNOWN_INSTRUCTION, "name", "The dump names `{name}`, which is not in the HLO module."
    )
    POSITION_MISMATCH = _row(
        Code.POSITION_MISMATCH,
        "value position shown",
        "`{position}` is listed as a position of `{value}`, but by the HLO module it shows `{shown}`.",
        shown="`{position}` is listed as a position of `{value}`, but the HLO module does not show that value there.",
    )
    MISSING_POSITION_OF = _row(
        Code.POSITION_MISMATCH,
        "name missing",
        "No value of the dump lists {missing:# position|# positions} of `{name}`.",
    )
    MISSING_USE = _row(
        Code.OPERAND_MISMATCH,
        "value user operand",
        "`{user}` reads `{value}` as operand {operand}, but the value does not list that use.",
    )
    MODULE_NAME_TWICE = _row(Code.MODULE_MISMATCH, "name", "The HLO module defines `{name}` twice.")
    MODULE_ROOT = _row(
        Code.MODULE_MISMATCH,
        "name",
        "The computation `{name}` of the HLO module does not have exactly one `ROOT` instruction.",
    )
    MODULE_ORDER = _row(
        Code.MODULE_MISMATCH,
        "name other",
        "`{name}` reads `{other}`, which the HLO module does not define before it in its computation.",
    )
    MODULE_COMPUTATION = _row(
        Code.MODULE_MISMATCH, "name other", "`{name}` calls the computation `{other}`, which is not in the HLO module."
    )
    QUOTE_MISMATCH = _row(
        Code.MODULE_MISMATCH,
        "name part quoted in_module",
        "The dump quotes `{name}` with the {part} `{quoted}`, but the HLO module has `{in_module}`.",
        quoted="The dump quotes `{name}` without the {part} `{in_module}`, which the HLO module has.",
        in_module="The dump quotes `{name}` with the {part} `{quoted}`, which the HLO module lacks.",
    )
    MODULE_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "value shape module_shape",
        "`{value}` has the shape {shape:shape} in its allocation, but {module_shape:shape} in the HLO module.",
        module_shape=(
            "`{value}` has the shape {shape:shape} in its allocation, but its instruction in the HLO module has no "
            "element with that index."
        ),
    )
    ELEMENT_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "name operand shape element_shape",
        "`{name}` has the shape {shape:shape} in the HLO module, but the element of `{operand}` that it reads has "
        "{element_shape:shape}.",
    )
    ENTRY_SHAPE_MISMATCH = _row(
        Code.SHAPE_MISMATCH,
        "name shape instruction_shape",
        "`entry_computation_layout` gives `{name}` the shape {shape:shape}, but the instruction has "
        "{instruction_shape:shape}.",
        name="`entry_computation_layout` has {shape:shape}, which the entry computation lacks.",
    )
    ENTRY_PARAMETER_NUMBER = _row(
        Code.PARAMETER_MISMATCH,
        "name parameter parameters",
        "`{name}` is parameter {parameter} of the entry computation. XLA numbers its {parameters:# parameter|# "
        "parameters} from 0, each once.",
    )
    SCHEDULE_ORDER = _row(
        Code.SCHEDULE_MISMATCH,
        "name before",
        "`{name}` runs after `{before}`, but comes before it in the HLO module, which is scheduled.",
    )
    MISSING_FROM_SCHEDULE = _row(
        Code.SCHEDULE_MISMATCH,
        "name",
        "`{name}` is missing from the schedule, which has the other instructions of its computation.",
    )
    LATE_END = _row(
        Code.LIVE_RANGE_END,
        "value end_step last_use_step",
        "`{value}` is live until step {end_step}, but nothing reads it after step {last_use_step}.",
    )
    MODULE_PARAMETER_MISMATCH = _row(
        Code.PARAMETER_MISMATCH,
        "allocation parameter index name",
        "Allocation {allocation} is marked as parameter {parameter} at index {index}, but does not hold `{name}`, "
        "which is that parameter.",
        name=(
            "Allocation {allocation} is marked as parameter {parameter} at index {index}, but the entry computation "
            "has no such parameter."
        ),
    )
    NOT_LIVE_OUT = _row(
        Code.ALLOCATION_KIND_CONFLICT,
        "allocation value",
        "`{value}` is part of the result, but its allocation {allocation} is not marked `maybe-live-out`.",
    )
    ALIAS_MISMATCH = _row(
        Code.MODULE_MISMATCH,
        "output parameter index output_value parameter_value",
        "Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but `{output_value}` and "
        "`{parameter_value}` are not at the same place.",
        parameter_value=(
            "Output {{{output}}} aliases parameter {parameter} at {{{index}}}, which the entry computation lacks."
        ),
        output_value=(
            "Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but the result has no such output."
        ),
    )
    LIVE_OUT_PARAMETER = _row(
        Code.MODULE_MISMATCH,
        "allocation parameter index lives_out",
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
        "space size_bytes limit_bytes",
        "The program needs {size_bytes:size} of {space:space name}, more than the limit of {limit_bytes:limit}. This "
        "is the largest allocation.",
    )
    PEAK_ABOVE_LIMIT = _row(
        Code.MAX_PEAK,
        "space size_bytes peak_step limit_bytes",
        "{size_bytes:size} of {space:space name} are live at step {peak_step}, more than the limit of "
        "{limit_bytes:limit}.",
    )
    MEMORY_UNKNOWN = _row(
        Code.MAX_MEMORY,
        "limit_bytes is_partial",
        "The needed bytes cannot be compared with the limit of {limit_bytes:limit}: the dump is incomplete or "
        "contradicts itself.",
        is_partial=(
            "The needed bytes cannot be compared with the limit of {limit_bytes:limit}: the dump has no allocations."
        ),
    )
    PEAK_UNKNOWN = _row(
        Code.MAX_PEAK,
        "limit_bytes is_partial",
        "The peak cannot be compared with the limit of {limit_bytes:limit}: the dump is incomplete or contradicts "
        "itself.",
        is_partial=(
            "The peak cannot be compared with the limit of {limit_bytes:limit}: the dump has no live ranges or no "
            "allocations."
        ),
    )

    def __init__(self, code: Code, facts: str, message: str, if_empty: tuple[tuple[str, str], ...]) -> None:
        self.code, self.message, self.if_empty = code, message, if_empty
        self.fact_names = facts.split()

    def __call__(self, *facts: Fact, **named: Fact) -> "Occurrence":
        """Return an occurrence of the problem with its facts, in the order of their names in the table."""
        by_name = dict(zip(self.fact_names, facts, strict=False)) | named
        if len(facts) + len(named) != len(self.fact_names) or by_name.keys() != set(self.fact_names):
            raise TypeError(f"{self.name} has the facts {', '.join(self.fact_names)}")
        return Occurrence(self, by_name)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A problem and the facts of one place where it occurs."""

    kind: Problem
    facts: Mapping[str, Any]
