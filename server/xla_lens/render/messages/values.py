"""What findings about values say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording, shape_text
from xla_lens.render.numbers import counted


def _duplicate_value(facts: Facts) -> str:
    first = f"; the first time it is {facts['first']}" if facts["first"] != facts["name"] else ""
    return f"Value {facts['id']} ({facts['name']}) is here a second time{first}. An id has one place only."


def _undefined_value(facts: Facts) -> str:
    match facts["what"]:
        case "name":
            return (
                f"Value {facts['id']} is called {facts['name']} here, but {facts['other']} among the used values, "
                "where it is defined."
            )
        case "id":
            return f"{facts['name']} has the id {facts['id']} here, but {facts['other']} among the used values."
        case "phi":
            here, there = ("", " not") if facts["is_here"] else (" not", "")
            return f"{facts['name']} is{here} marked as `(phi)` here, but is{there} among the used values."
        case "quote":
            return f"The instruction that is quoted for {facts['name']} is {facts['other']}."
        case "definition":
            return (
                f"The first position of {facts['name']} is {facts['other']}. A value's first position is the "
                "instruction that defines it, whose name it has."
            )
        case "no definition":
            return f"{facts['name']} has no position. A value has at least that of the instruction that defines it."
        case "live range":
            return f"{facts['name']} has a live range, but there is no value of that name and index."
        case "other values" | "other live ranges":
            lines = "used values" if facts["what"] == "other values" else "live ranges"
            return (
                f"This file is of another dump than the buffer assignment: {facts['missing']:,} of its {lines} are not "
                f"in the allocations, {facts['known']:,} are."
            )
        case "other dump":
            return (
                f"{facts['name']} and {counted(int(facts['missing']) - 1, 'other value')} of the allocations are not "
                "among the used values: the two files are of different dumps."
            )
        case _:
            return f"{facts['name']} (value {facts['id']}) is in an allocation, but not among the used values."


def _unassigned_value(facts: Facts) -> str:
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


def _duplicate_position(facts: Facts) -> str:
    if facts["is_same"]:
        return f"{facts['value']} has the position {facts['position']} twice."
    return (
        f"{facts['position']} is a position of {facts['value']} here, but of {facts['other']}, too. What an "
        "instruction shows at an index is one value."
    )


def _duplicate_use(facts: Facts) -> str:
    return f"The use of {facts['value']} as operand {facts['operand']} of {facts['user']} is here a second time."


_QUOTES: Final = "{value} is quoted otherwise elsewhere. All values of a tuple quote the same instruction."


def _operand_mismatch(facts: Facts) -> str:
    if facts["what"] == "quote":
        return _QUOTES.format(**facts)
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


def _shape_mismatch(facts: Facts) -> str:
    if facts["what"] == "quote":
        return _QUOTES.format(**facts)
    shape = shape_text(facts["shape"])
    match facts["what"]:
        case "parameter":
            return f"Allocation {facts['allocation']} says that its parameter is {shape}, but no value in it is."
        case "output":
            return f"Allocation {facts['allocation']} says that the output is {shape}, but no value in it is."
        case "index":
            return f"{facts['value']} has the shape {shape}, but its instruction has no element of that index."
        case _:
            return (
                f"{facts['value']} has the shape {shape} in its allocation, but its instruction makes "
                f"{shape_text(facts['expected'])}."
            )


def _parameter_mismatch(facts: Facts) -> str:
    subject = f"Allocation {facts['allocation']} is said to be parameter {facts['parameter']} at index {facts['index']}"
    match facts["what"]:
        case "twice":
            return f"{subject}, but another is that as well."
        case "gap":
            return f"{subject}, but there is no parameter {facts['missing']}. Parameters are numbered 0, 1, 2 ..."
        case _:
            return f"{subject}, but the value in it is not made by parameter({facts['parameter']}) at that index."


WORDINGS: Final[Wording] = {
    Code.DUPLICATE_VALUE: _duplicate_value,
    Code.UNDEFINED_VALUE: _undefined_value,
    Code.UNASSIGNED_VALUE: _unassigned_value,
    Code.DUPLICATE_POSITION: _duplicate_position,
    Code.DUPLICATE_USE: _duplicate_use,
    Code.OPERAND_MISMATCH: _operand_mismatch,
    Code.SHAPE_MISMATCH: _shape_mismatch,
    Code.PARAMETER_MISMATCH: _parameter_mismatch,
}
