"""What findings about allocations say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording, shape_text
from xla_lens.render.numbers import counted, human, space_name


def _duplicate_allocation(facts: Facts) -> str:
    return f"Allocation {facts['index']} is here a second time. XLA numbers allocations 0, 1, 2 ..., each once."


def _allocation_kind_conflict(facts: Facts) -> str:
    rule = {
        "none": "does not say what it is for: a parameter, an output, maybe-live-out, a constant, thread-local, or a "
        "preallocated-temp",
        "excluded": "is for two things that exclude each other. A preallocated-temp, a constant and a thread-local "
        "allocation is nothing else",
        "output": "has the output's shape, but is not maybe-live-out. The output is always live at the end",
        "parameter": "holds other values than its parameter, but is not maybe-live-out. A parameter's memory may only "
        "be written to if it was donated to an output",
        "ranges": "is thread-local, but holds values with live ranges. Thread-local values are in no schedule",
        "outputs": "has an output's shape, and another allocation has one as well. There is one output: several "
        "results are elements of one tuple",
    }
    if facts["what"] == "no output":
        return "No allocation has the output's shape. One of them holds the result of the program."
    return f"Allocation {facts['index']} {rule[str(facts['what'])]}."


def _slice_out_of_bounds(facts: Facts) -> str:
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


def _overlapping_slices(facts: Facts) -> str:
    more = int(facts["others"]) - 1
    others = f"{facts['other']} and {counted(more, 'other value')}" if more else str(facts["other"])
    return (
        f"{facts['value']} shares bytes {facts['start_byte']:,} to {facts['end_byte']:,} of allocation "
        f"{facts['allocation']} with {others} while both are live, from step {facts['start_step']} to "
        f"{facts['end_step']}. One would overwrite the other."
    )


def _memory_space_mismatch(facts: Facts) -> str:
    color, expected = int(facts["color"]), int(facts["expected"])
    space, other = (f"memory space {number} ({space_name(number)})" for number in (color, expected))
    match facts["what"]:
        case "allocation":
            return f"Allocation {facts['allocation']} says {space}, but the values in it are of {other}."
        case "reuse":
            return (
                f"{facts['value']} is of {space}, but its place is in allocation {facts['allocation']} of {other}. "
                "Releases of 2026 use arenas again in this way."
            )
        case "row":
            return (
                f"{facts['value']} says {space}, but allocation {facts['allocation']} is in {other}. A value is in "
                "the memory space of its allocation."
            )
        case "used":
            return f"{facts['value']} says {space} here, but {other} in its allocation."
        case _:
            return f"The layout of {facts['value']} says {space}, but the value is in {other}."


def _size_below_shape(facts: Facts) -> str:
    return (
        f"{facts['value']} has {facts['size_bytes']:,} bytes, but its shape {shape_text(facts['shape'])} needs "
        f"{facts['shape_bytes']:,}. Padding may add bytes, nothing takes any away."
    )


def _total_mismatch(facts: Facts) -> str:
    total, reserved = int(facts["total_bytes"]), int(facts["reserved_bytes"])
    if int(facts["allocation"]) >= 0:
        size = int(facts["allocation_bytes"])
        return (
            f"Allocation {facts['allocation']} has {size:,} bytes, but the values in it need "
            f"{size + total - reserved:,}, with which all allocations add up to the total, {total:,}."
        )
    return (
        f"The total is {total:,} bytes, but the {counted(int(facts['allocations']), 'allocation')} add "
        f"up to {reserved:,}: {human(abs(total - reserved))} {'less' if reserved < total else 'more'} than the "
        "total."
    )


def _human_size_mismatch(facts: Facts) -> str:
    return f"{facts['total_bytes']:,} bytes are {facts['expected']}, not {facts['printed']}."


WORDINGS: Final[Wording] = {
    Code.DUPLICATE_ALLOCATION: _duplicate_allocation,
    Code.ALLOCATION_KIND_CONFLICT: _allocation_kind_conflict,
    Code.SLICE_OUT_OF_BOUNDS: _slice_out_of_bounds,
    Code.OVERLAPPING_SLICES: _overlapping_slices,
    Code.MEMORY_SPACE_MISMATCH: _memory_space_mismatch,
    Code.SIZE_BELOW_SHAPE: _size_below_shape,
    Code.TOTAL_MISMATCH: _total_mismatch,
    Code.HUMAN_SIZE_MISMATCH: _human_size_mismatch,
}
