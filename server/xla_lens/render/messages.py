"""What findings say: the numbers, the rule, and what it usually means."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from xla_lens.model.findings import Code, Finding
from xla_lens.render.numbers import counted, human, shortened, space_name

_Facts: TypeAlias = Mapping[str, int | str]

_WIDEST_SHAPE: Final = 80


def message(finding: Finding) -> str:
    """The message of a finding, plain text on one line."""
    return _MESSAGES[finding.code](finding.facts)


def related_message(what: str) -> str:
    """What stands at a related place of a finding."""
    return _RELATED[what]


_RELATED: Final = {
    "allocation": "The allocation",
    "before": "What is before it",
    "displaced": "Also out of place",
    "first": "The first time",
    "instruction": "The instruction, as the dump quotes it",
    "live range": "Live at that step",
    "mention": "Also mentioned here",
    "other name": "What the other list says",
    "output": "The allocation of the output",
    "overlapped": "Shares bytes with it",
    "peak": "The true peak",
    "slice": "The value in its allocation",
    "step": "The step",
    "swapped": "The other one",
    "total": "The total",
}


def _syntax(facts: _Facts) -> str:
    match facts["what"]:
        case "empty":
            return "The file is empty."
        case "nothing":
            return "Nothing in this file is part of a dump."
        case "part":
            return "This part of the line is unknown: edited, or from a newer release of XLA."
        case "order":
            return f"Number {facts['after']} stands after {facts['before']}. XLA prints them in ascending order."
        case "again":
            return f"`{facts['header']}` stands here a second time. A dump has it once."
        case "module":
            return (
                f"{facts['name']} belongs to another module than what is before. Only the first module in a "
                "file is read: save each to a file of its own."
            )
        case "header":
            lines = int(facts["lines"])
            subject = "This line stands" if lines == 1 else f"This line and {lines - 1:,} more of its kind stand"
            return f"{subject} without a header before: `{facts['header']}` is missing."
        case "allocations":
            first, last = int(facts["first"]), int(facts["last"])
            subject = f"Allocation {first} is" if first == last else f"Allocations {first} to {last} are"
            return f"{subject} missing before this one. XLA numbers allocations without gaps."
        case _:
            lines = int(facts["lines"])
            subject = "This line is" if lines == 1 else f"These {lines:,} lines are"
            return f"{subject} no part of a dump: cut off, edited, or printed by something else."


def _truncated(facts: _Facts) -> str:
    missing = {
        "line": "in the middle of a line",
        "allocations": "before the total, which is the sum of all allocations, is reached",
        "slices": "before the last values of the allocations, which the used values tell of",
        "value": "in the middle of a value",
        "values": "before the last values, of which the buffer assignment tells",
        "live ranges": "before the live ranges",
        "stack traces": "in the middle of the stack traces",
        "peak": "before all that is live at the peak is listed",
        "tables": "in the middle of the tables",
    }[str(facts["what"])]
    return f"The file ends {missing}: cut off, so that what is told here may be wrong."


# ---------------------------------------------------------------- allocations


def _duplicate_allocation(facts: _Facts) -> str:
    return f"Allocation {facts['index']} is here a second time. XLA numbers allocations 0, 1, 2 ..., each once."


def _allocation_kind_conflict(facts: _Facts) -> str:
    rule = {
        "none": "is for nothing. Each is a parameter, an output, a constant, thread-local, or a preallocated-temp",
        "excluded": "is for two things that exclude each other. A preallocated-temp, a constant and a thread-local "
        "allocation is nothing else",
        "output": "has the output's shape, but is not maybe-live-out. The output is always live at the end",
        "parameter": "holds other values than its parameter, but is not maybe-live-out. A parameter's memory may only "
        "be written to if it was donated to an output",
        "ranges": "is thread-local, but holds values with live ranges. Thread-local values are in no schedule",
        "outputs": "has an output's shape, and another allocation has one as well. There is one output: several "
        "results are elements of one tuple",
        "no output": "and all others have no output's shape. One of them holds the result of the program",
    }[str(facts["what"])]
    return f"Allocation {facts['index']} {rule}."


def _slice_out_of_bounds(facts: _Facts) -> str:
    offset, size = int(facts["offset"]), int(facts["size_bytes"])
    if size < 0 or offset < 0:
        return f"{facts['value']} has a negative size or offset."
    if facts["what"] == "moved":
        return (
            f"{facts['value']} is at offset {offset:,} of allocation {facts['allocation']}, which is no "
            "preallocated-temp. In all others, values are at offset 0."
        )
    return (
        f"{facts['value']} takes bytes {offset:,} to {offset + size:,} of allocation {facts['allocation']}, "
        f"which has {facts['allocation_bytes']:,}. A value always lies inside of its allocation."
    )


def _overlapping_slices(facts: _Facts) -> str:
    more = int(facts["others"]) - 1
    others = f"{facts['other']} and {counted(more, 'other value')}" if more else str(facts["other"])
    return (
        f"{facts['value']} shares bytes {facts['start_byte']:,} to {facts['end_byte']:,} of allocation "
        f"{facts['allocation']} with {others} while both are live, from step {facts['start_step']} to "
        f"{facts['end_step']}. One would overwrite the other."
    )


def _memory_space_mismatch(facts: _Facts) -> str:
    color, expected = int(facts["color"]), int(facts["expected"])
    space, other = (f"memory space {number} ({space_name(number)})" for number in (color, expected))
    match facts["what"]:
        case "allocation":
            return f"Allocation {facts['allocation']} says {space}, but the values in it are of {other}."
        case "row":
            return (
                f"{facts['value']} says {space}, but allocation {facts['allocation']} is in {other}. A value is in "
                "the memory space of its allocation."
            )
        case "used":
            return f"{facts['value']} says {space} here, but {other} in its allocation."
        case _:
            return f"The layout of {facts['value']} says {space}, but the value is in {other}."


def _size_below_shape(facts: _Facts) -> str:
    return (
        f"{facts['value']} has {facts['size_bytes']:,} bytes, but its shape {_shape(facts['shape'])} needs "
        f"{facts['shape_bytes']:,}. Padding may add bytes, nothing takes any away."
    )


def _total_mismatch(facts: _Facts) -> str:
    total, reserved = int(facts["total_bytes"]), int(facts["reserved_bytes"])
    return (
        f"The total is {total:,} bytes, but the {counted(int(facts['allocations']), 'allocation')} add "
        f"up to {reserved:,}: {human(abs(total - reserved))} {'less' if reserved < total else 'more'} than the "
        "total."
    )


def _human_size_mismatch(facts: _Facts) -> str:
    return f"{facts['total_bytes']:,} bytes are {facts['expected']}, not {facts['printed']}."


# ---------------------------------------------------------------- values


def _duplicate_value(facts: _Facts) -> str:
    first = f"; the first time it is {facts['first']}" if facts["first"] != facts["name"] else ""
    return f"Value {facts['id']} ({facts['name']}) is here a second time{first}. An id has one place only."


def _undefined_value(facts: _Facts) -> str:
    match facts["what"]:
        case "name":
            return (
                f"Value {facts['id']} is called {facts['name']} here, but {facts['other']} among the used values, "
                "where it is defined."
            )
        case "id":
            return f"{facts['name']} has the id {facts['id']} here, but {facts['other']} among the used values."
        case "definition":
            return (
                f"The first position of {facts['name']} is {facts['other']}. A value's first position is the "
                "instruction that defines it, whose name it has."
            )
        case "no definition":
            return f"{facts['name']} has no position. A value has at least that of the instruction that defines it."
        case "live range":
            return f"{facts['name']} has a live range, but there is no value of that name and index."
        case "other dump":
            return (
                f"{facts['name']} and {counted(int(facts['missing']) - 1, 'other value')} of the allocations are not "
                "among the used values: the two files are of different dumps."
            )
        case _:
            return f"{facts['name']} (value {facts['id']}) is in an allocation, but not among the used values."


def _unassigned_value(facts: _Facts) -> str:
    match facts["what"]:
        case "name":
            return (
                f"Value {facts['id']} is called {facts['name']} here, but {facts['other']} in its allocation and where "
                "it is defined."
            )
        case "other dump":
            return (
                f"{facts['name']} and {counted(int(facts['missing']) - 1, 'other used value')} are in no allocation: "
                "the two files are of different dumps."
            )
        case _:
            return f"{facts['name']} (value {facts['id']}) is in no allocation. Each used value has its place in one."


def _duplicate_position(facts: _Facts) -> str:
    if facts["is_same"]:
        return f"{facts['value']} has the position {facts['position']} twice."
    return (
        f"{facts['position']} is a position of {facts['value']} here, but of {facts['other']}, too. What an "
        "instruction shows at an index is one value."
    )


def _duplicate_use(facts: _Facts) -> str:
    return f"That {facts['user']} reads {facts['value']} as operand {facts['operand']} stands here a second time."


def _operand_mismatch(facts: _Facts) -> str:
    user, operand, value = facts["user"], facts["operand"], facts["value"]
    match facts["what"]:
        case "twice":
            return f"Operand {operand} of {user} is {value} here, but {facts['other']}, too. An operand is one value."
        case "unknown":
            return f"{user} reads something here that is nowhere else in the dump. Its operand {operand} is {value}."
        case "none":
            return f"{user} has no operand {operand}: it reads {counted(int(facts['operands']), 'operand')}."
        case _:
            return f"Operand {operand} of {user} is {facts['read']}, which does not show {value}."


def _shape_mismatch(facts: _Facts) -> str:
    shape = _shape(facts["shape"])
    match facts["what"]:
        case "parameter":
            return f"Allocation {facts['allocation']} says that its parameter is {shape}, but holds no value of it."
        case "output":
            return f"Allocation {facts['allocation']} says that the output is {shape}, but holds no value of it."
        case "index":
            return f"{facts['value']} has the shape {shape}, but its instruction has no element of that index."
        case _:
            return (
                f"{facts['value']} has the shape {shape} in its allocation, but its instruction makes "
                f"{_shape(facts['expected'])}."
            )


def _parameter_mismatch(facts: _Facts) -> str:
    subject = f"Allocation {facts['allocation']} is said to be parameter {facts['parameter']} at {facts['index']}"
    match facts["what"]:
        case "twice":
            return f"{subject}, but another is that as well."
        case "gap":
            return f"{subject}, but there is no parameter {facts['missing']}. Parameters are numbered 0, 1, 2 ..."
        case _:
            return f"{subject}, but the value in it is not made by parameter({facts['parameter']}) at that index."


# ---------------------------------------------------------------- steps


def _schedule_mismatch(facts: _Facts) -> str:
    match facts["what"]:
        case "max":
            return (
                f"The header says max {facts['maximum']}, but {counted(int(facts['steps']), 'instruction')} "
                "are scheduled. `max` is their number."
            )
        case "order":
            return (
                f"{facts['name']} has step {facts['step']}, but stands where {facts['row']} belongs: "
                f"{counted(int(facts['displaced']), 'row')} are out of order."
            )
        case "twice":
            return f"{facts['name']} is scheduled a second time. An instruction runs at one step."
        case "back":
            return f"Step {facts['step']} ({facts['name']}) stands where {facts['expected']} belongs."
        case "gap":
            return f"Step {facts['expected']} is missing before step {facts['step']} ({facts['name']})."
        case "number":
            return f"{facts['name']} has step {facts['step']}, where {facts['expected']} belongs."
        case _:
            return (
                f"{facts['name']} and {facts['other']} stand at each other's step: the live ranges and uses "
                "of their values say so."
            )


def _unknown_instruction(facts: _Facts) -> str:
    mentions = counted(int(facts["mentions"]), "mention")
    if facts["what"] == "schedule":
        return (
            f"{facts['name']} has to do with nothing, and {facts['other']}, whose value starts at this step, is not "
            f"scheduled ({mentions}): one name stands for the other."
        )
    return (
        f"{facts['name']} is not in the instruction sequence, though it defines, shows or reads a value "
        f"({mentions}). Only instructions that are there do."
    )


def _invalid_live_range(facts: _Facts) -> str:
    start, end, last = int(facts["start_step"]), int(facts["end_step"]), int(facts["last_step"])
    if start > end:
        return f"{facts['value']} is live from step {start} to {end}: the end is before the start."
    return f"{facts['value']} is live from step {start} to {end}, but the steps are 0 to {last}."


def _duplicate_live_range(facts: _Facts) -> str:
    return f"{facts['value']} has a second live range here. A value has one."


def _missing_live_range(facts: _Facts) -> str:
    return f"{facts['value']} has no live range, though its instruction is scheduled."


def _live_range_start(facts: _Facts) -> str:
    if facts["what"] == "parameter":
        return (
            f"{facts['value']} starts at step {facts['start_step']}. A parameter that is read only is live from 0 on."
        )
    return (
        f"{facts['value']} is live from step {facts['start_step']} on, but {facts['instruction']}, which makes it, runs "
        f"at step {facts['step']}."
    )


def _live_range_end(facts: _Facts) -> str:
    if facts["what"] == "parameter":
        return (
            f"{facts['value']} ends at step {facts['end_step']}. A parameter that is read only is live until the end, "
            f"{facts['last_step']}."
        )
    return (
        f"{facts['value']} is live until step {facts['end_step']}, but {facts['instruction']} still reads it at step "
        f"{facts['step']}."
    )


# ---------------------------------------------------------------- the peak and the report


def _peak_step_mismatch(facts: _Facts) -> str:
    return (
        f"The peak is printed at step {facts['step']}, but XLA's rule gives step {facts['expected']}: the first at "
        "which the whole shapes of all values live there or one step before add up to the most."
    )


def _peak_list_mismatch(facts: _Facts) -> str:
    match facts["what"]:
        case "missing":
            more = int(facts["missing"]) - 1
            others = f" and {counted(more, 'other')}" if more else ""
            return f"{facts['value']}{others} is live at step {facts['step']}, but not in this list."
        case "extra" if facts["is_twice"]:
            return f"{facts['value']} is in this list a second time."
        case "extra":
            return f"{facts['value']} is in this list, but not live at step {facts['step']}."
        case "size":
            return f"{facts['value']} is listed with {facts['size_bytes']:,} bytes, but its shape has {facts['expected']:,}."
        case _:
            return f"{facts['value']} is out of order: the list is sorted."


def _cumulative_mismatch(facts: _Facts) -> str:
    return f"The sizes up to here add up to {facts['expected']:,} bytes, not {facts['cumulative_bytes']:,}."


def _stack_trace_mismatch(facts: _Facts) -> str:
    match facts["what"]:
        case "header":
            return f"The breakdown is of {facts['size_bytes']:,} bytes, but what is listed adds up to {facts['expected']:,}."
        case "total":
            return (
                f"{facts['frame']} has a total of {facts['total_bytes']:,} bytes, but it and what is below add up to "
                f"{facts['expected']:,}."
            )
        case _:
            return (
                f"After {facts['frame']}, with {facts['current_bytes']:,} bytes, {facts['expected']:,} remain, not "
                f"{facts['remaining_bytes']:,}."
            )


def _peak_understated(facts: _Facts) -> str:
    live, peak = int(facts["live_bytes"]), int(facts["peak_bytes"])
    instruction = f" ({facts['instruction']})" if facts["instruction"] else ""
    return (
        f"This is not the peak: {human(live)} of the default memory space are live at step {facts['step']}, but "
        f"{human(peak)} at step {facts['peak_step']}{instruction}. XLA adds up shapes to find the step, not places."
    )


def _report_mismatch(facts: _Facts) -> str:
    what = str(facts["what"])
    match what:
        case "total":
            return f"The report says {facts['printed']:,} bytes, but the allocations add up to {facts['expected']:,}."
        case "space":
            return (
                f"The report says {facts['printed']:,} bytes for memory space {facts['color']}, but its allocations add "
                f"up to {facts['expected']:,}."
            )
        case "unknown":
            return f"The report tells of allocation {facts['allocation']}, but the buffer assignment has none of that number."
        case "twice":
            return f"Allocation {facts['allocation']} is in this list a second time."
        case "header":
            return f"The buffer assignment says else of allocation {facts['allocation']}: `{facts['expected']}`"
        case "cumulative" | "rest":
            name = "up to here" if what == "cumulative" else "that are smaller"
            return f"The allocations {name} add up to {facts['expected']}, not {facts['printed']}."
        case "offset":
            return f"No value of allocation {facts['allocation']} is at offset {facts['offset']:,}."
        case "offset twice":
            return f"Offset {facts['offset']:,} is in this table a second time."
        case "order":
            return "This row is out of order: the biggest come first."
    name = {
        "size": "biggest value at offset {offset:,} has",
        "sum": "sizes up to here add up to",
        "values": "number of values at offset {offset:,} is",
        "shapes": "values at offset {offset:,} are",
    }[what].format(**facts)
    return f"The {name} {_shape(facts['expected'])}, not {_shape(facts['printed'])}: allocation {facts['allocation']} says so."


def _shape(text: int | str) -> str:
    return shortened(str(text), _WIDEST_SHAPE)


_MESSAGES: Final[dict[Code, Callable[[_Facts], str]]] = {
    Code.SYNTAX: _syntax,
    Code.TRUNCATED_DUMP: _truncated,
    Code.DUPLICATE_ALLOCATION: _duplicate_allocation,
    Code.ALLOCATION_KIND_CONFLICT: _allocation_kind_conflict,
    Code.SLICE_OUT_OF_BOUNDS: _slice_out_of_bounds,
    Code.OVERLAPPING_SLICES: _overlapping_slices,
    Code.MEMORY_SPACE_MISMATCH: _memory_space_mismatch,
    Code.SIZE_BELOW_SHAPE: _size_below_shape,
    Code.TOTAL_MISMATCH: _total_mismatch,
    Code.HUMAN_SIZE_MISMATCH: _human_size_mismatch,
    Code.DUPLICATE_VALUE: _duplicate_value,
    Code.UNDEFINED_VALUE: _undefined_value,
    Code.UNASSIGNED_VALUE: _unassigned_value,
    Code.DUPLICATE_POSITION: _duplicate_position,
    Code.DUPLICATE_USE: _duplicate_use,
    Code.OPERAND_MISMATCH: _operand_mismatch,
    Code.SHAPE_MISMATCH: _shape_mismatch,
    Code.PARAMETER_MISMATCH: _parameter_mismatch,
    Code.SCHEDULE_MISMATCH: _schedule_mismatch,
    Code.UNKNOWN_INSTRUCTION: _unknown_instruction,
    Code.INVALID_LIVE_RANGE: _invalid_live_range,
    Code.DUPLICATE_LIVE_RANGE: _duplicate_live_range,
    Code.MISSING_LIVE_RANGE: _missing_live_range,
    Code.LIVE_RANGE_START: _live_range_start,
    Code.LIVE_RANGE_END: _live_range_end,
    Code.PEAK_STEP_MISMATCH: _peak_step_mismatch,
    Code.PEAK_LIST_MISMATCH: _peak_list_mismatch,
    Code.CUMULATIVE_MISMATCH: _cumulative_mismatch,
    Code.STACK_TRACE_MISMATCH: _stack_trace_mismatch,
    Code.PEAK_UNDERSTATED: _peak_understated,
    Code.REPORT_MISMATCH: _report_mismatch,
}
