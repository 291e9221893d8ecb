"""Messages about a dump and its HLO module that disagree."""

from typing import Final, assert_never

from xla_lens.model.checks.problems import (
    AliasMismatch,
    ElementShapeMismatch,
    EntryParameterNumber,
    EntryShapeMismatch,
    ForeignModule,
    LateEnd,
    LiveOutParameter,
    Malformation,
    MalformedModule,
    MissingFromModule,
    MissingFromSchedule,
    MissingPositionOf,
    MissingUse,
    ModuleParameterMismatch,
    ModuleProblem,
    ModuleShapeMismatch,
    NotLiveOut,
    PositionMismatch,
    QuoteMismatch,
    QuotePart,
    ScheduleOrder,
)
from xla_lens.render.messages.words import quoted_shape
from xla_lens.render.numbers import counted


def module_message(problem: ModuleProblem) -> str:
    """The message of a contradiction between a dump and its HLO module."""
    match problem:
        case ForeignModule(differences):
            return (
                f"The dump and the HLO module beside it differ in {differences:,} places. They are of different "
                "compilations: copy all files of one compilation."
            )
        case MissingFromModule(name):
            return f"The dump names `{name}`, which is not in the HLO module."
        case PositionMismatch(value, position, ""):
            return (
                f"`{position}` is listed as a position of `{value}`, but the HLO module does not show that value there."
            )
        case PositionMismatch(value, position, shown):
            return f"`{position}` is listed as a position of `{value}`, but by the HLO module it shows `{shown}`."
        case MissingPositionOf(name, missing):
            return f"No value of the dump lists {counted(missing, 'position')} of `{name}`."
        case MissingUse(value, user, operand):
            return f"`{user}` reads `{value}` as operand {operand}, but the value does not list that use."
        case QuoteMismatch(name, part, "", in_module):
            return f"The dump quotes `{name}` without the {_PARTS[part]} `{in_module}`, which the HLO module has."
        case QuoteMismatch(name, part, quoted, ""):
            return f"The dump quotes `{name}` with the {_PARTS[part]} `{quoted}`, which the HLO module lacks."
        case QuoteMismatch(name, part, quoted, in_module):
            return f"The dump quotes `{name}` with the {_PARTS[part]} `{quoted}`, but the HLO module has `{in_module}`."
        case MalformedModule(malformation, name, other):
            return _MALFORMED[malformation].format(name=name, other=other)
        case ModuleShapeMismatch(value, shape, ""):
            return (
                f"`{value}` has the shape {quoted_shape(shape)} in its allocation, but its instruction in the HLO "
                "module has no element with that index."
            )
        case ModuleShapeMismatch(value, shape, module_shape):
            return (
                f"`{value}` has the shape {quoted_shape(shape)} in its allocation, but "
                f"{quoted_shape(module_shape)} in the HLO module."
            )
        case ElementShapeMismatch(name, operand, shape, element_shape):
            return (
                f"`{name}` has the shape {quoted_shape(shape)} in the HLO module, but the element of `{operand}` that "
                f"it reads has {quoted_shape(element_shape)}."
            )
        case EntryShapeMismatch("", shape, _):
            return f"`entry_computation_layout` has {quoted_shape(shape)}, which the entry computation lacks."
        case EntryShapeMismatch(name, shape, instruction_shape):
            return (
                f"`entry_computation_layout` gives `{name}` the shape {quoted_shape(shape)}, but the instruction has "
                f"{quoted_shape(instruction_shape)}."
            )
        case EntryParameterNumber(name, parameter, parameters):
            return (
                f"`{name}` is parameter {parameter} of the entry computation. XLA numbers its "
                f"{counted(parameters, 'parameter')} from 0, each once."
            )
        case ScheduleOrder(name, before):
            return f"`{name}` runs after `{before}`, but comes before it in the HLO module, which is scheduled."
        case MissingFromSchedule(name):
            return f"`{name}` is missing from the schedule, which has the other instructions of its computation."
        case LateEnd(value, end_step, last_use_step):
            return f"`{value}` is live until step {end_step}, but nothing reads it after step {last_use_step}."
        case ModuleParameterMismatch(allocation, parameter, index, ""):
            return (
                f"Allocation {allocation} is marked as parameter {parameter} at index {index or '{}'}, but the entry "
                "computation has no such parameter."
            )
        case ModuleParameterMismatch(allocation, parameter, index, name):
            return (
                f"Allocation {allocation} is marked as parameter {parameter} at index {index or '{}'}, but does not "
                f"hold `{name}`, which is that parameter."
            )
        case NotLiveOut(allocation, value):
            return f"`{value}` is part of the result, but its allocation {allocation} is not marked `maybe-live-out`."
        case AliasMismatch(output, parameter, index, _, ""):
            return (
                f"Output {{{output}}} aliases parameter {parameter} at {{{index}}}, which the entry computation lacks."
            )
        case AliasMismatch(output, parameter, index, "", _):
            return (
                f"Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but the result has no such output."
            )
        case AliasMismatch(output, parameter, index, output_value, parameter_value):
            return (
                f"Output {{{output}}} aliases parameter {parameter} at {{{index}}}, but `{output_value}` and "
                f"`{parameter_value}` are not at the same place."
            )
        case LiveOutParameter(allocation, parameter, index, True):
            return (
                f"Allocation {allocation} is marked `maybe-live-out`, but in the HLO module no output aliases its "
                f"parameter {parameter} at {{{index}}}."
            )
        case LiveOutParameter(allocation, parameter, index, _):
            return (
                f"In the HLO module an output aliases parameter {parameter} at {{{index}}}, but its allocation "
                f"{allocation} is not marked `maybe-live-out`."
            )
    assert_never(problem)


_PARTS: Final = {
    QuotePart.SHAPE: "shape",
    QuotePart.OPCODE: "opcode",
    QuotePart.PARAMETER: "parameter number",
    QuotePart.OPERAND: "operand",
    QuotePart.ATTRIBUTE: "attribute",
}

_MALFORMED: Final = {
    Malformation.DUPLICATE: "The HLO module defines `{name}` twice.",
    Malformation.ROOT: "The computation `{name}` of the HLO module does not have exactly one `ROOT` instruction.",
    Malformation.ORDER: "`{name}` reads `{other}`, which the HLO module does not define before it in its computation.",
    Malformation.COMPUTATION: "`{name}` calls the computation `{other}`, which is not in the HLO module.",
}
