"""Messages about quoted instructions, parameters and the output."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    DuplicateParameter,
    InstructionProblem,
    MissingElement,
    MissingOperand,
    MissingParameter,
    OperandGap,
    OperandMismatch,
    OutputShapeMismatch,
    ParameterMismatch,
    ParameterShapeMismatch,
    QuotedOperandsMismatch,
    QuotedShapesMismatch,
    ShapeMismatch,
    SharedOperand,
    UnknownOperand,
)
from xla_lens.render.messages.words import quoted_shape
from xla_lens.render.numbers import counted


def instruction_message(problem: InstructionProblem) -> str:
    """The message of a problem with what an instruction reads or makes."""
    match problem:
        case QuotedOperandsMismatch(instruction):
            return (
                f"The dump quotes `{instruction}` with two different texts. All values of an instruction quote the "
                "same text."
            )
        case QuotedShapesMismatch(instruction):
            return (
                f"The dump quotes `{instruction}` with two different shapes. All values of an instruction quote the "
                "same text."
            )
        case SharedOperand(value, other, user, operand):
            return (
                f"Operand {operand} of `{user}` is listed as a use of both `{value}` and `{other}`. An operand is one "
                "value."
            )
        case UnknownOperand(value, user, operand, quoted_name):
            return (
                f"`{user}` reads `{quoted_name}`, which appears nowhere else in the dump. According to the used "
                f"values, its operand {operand} is `{value}`."
            )
        case MissingOperand(value, user, operand, operands):
            return f"`{value}` is listed as operand {operand} of `{user}`, which has {counted(operands, 'operand')}."
        case OperandGap(value, user, operand, missing):
            return f"`{value}` is listed as operand {operand} of `{user}`, but no value as its operand {missing}."
        case OperandMismatch(value, user, operand, quoted_name):
            return f"`{value}` is listed as operand {operand} of `{user}`, but the instruction reads `{quoted_name}`."
        case ShapeMismatch(value, shape, quoted_other):
            return (
                f"`{value}` has the shape {quoted_shape(shape)} in its allocation, but its instruction has "
                f"{quoted_shape(quoted_other)}."
            )
        case MissingElement(value, shape):
            return (
                f"`{value}` has the shape {quoted_shape(shape)} in its allocation, but its instruction has no element "
                "with that index."
            )
        case ParameterShapeMismatch(allocation, shape):
            return (
                f"The header of allocation {allocation} gives its parameter the shape {quoted_shape(shape)}, but none "
                "of its values has it."
            )
        case OutputShapeMismatch(allocation, shape):
            return (
                f"The header of allocation {allocation} gives the output the shape {quoted_shape(shape)}, but none of "
                "its values has it."
            )
        case ParameterMismatch(allocation, parameter, index):
            return (
                f"Allocation {allocation} is marked as parameter {parameter} at index {index}, but holds no value of "
                f"`parameter({parameter})` at that index."
            )
        case DuplicateParameter(allocation, first, parameter, index):
            return (
                f"Allocations {first} and {allocation} are both marked as parameter {parameter} at index {index}. Each "
                "is in one allocation."
            )
        case MissingParameter(allocation, parameter, missing):
            return (
                f"Allocation {allocation} is marked as parameter {parameter}, but no allocation holds parameter "
                f"{missing}. XLA numbers parameters without gaps."
            )
    assert_never(problem)
