"""The messages of findings: what is wrong, with both numbers, then what it implies.

One function for each group of problems matches all of its types, so that the type checker reports a problem without
words.
"""

from typing import assert_never

from xla_lens.model.checks.findings import Finding, Related, Relation
from xla_lens.model.checks.problems import (
    AllocationProblem,
    InstructionProblem,
    LimitProblem,
    ModuleProblem,
    PeakProblem,
    ReportProblem,
    ScheduleProblem,
    StructureProblem,
    ValueProblem,
)
from xla_lens.render.messages.allocations import allocation_message
from xla_lens.render.messages.instructions import instruction_message
from xla_lens.render.messages.limits import limit_message
from xla_lens.render.messages.module import module_message
from xla_lens.render.messages.peak import peak_message
from xla_lens.render.messages.reports import report_message
from xla_lens.render.messages.schedule import schedule_message
from xla_lens.render.messages.structure import structure_message
from xla_lens.render.messages.values import value_message


def message(finding: Finding) -> str:
    """The message of a finding: plain text on one line, with names in backticks."""
    problem = finding.problem
    if isinstance(problem, StructureProblem):
        return structure_message(problem)
    if isinstance(problem, AllocationProblem):
        return allocation_message(problem)
    if isinstance(problem, ValueProblem):
        return value_message(problem)
    if isinstance(problem, InstructionProblem):
        return instruction_message(problem)
    if isinstance(problem, ScheduleProblem):
        return schedule_message(problem)
    if isinstance(problem, PeakProblem):
        return peak_message(problem)
    if isinstance(problem, ReportProblem):
        return report_message(problem)
    if isinstance(problem, ModuleProblem):
        return module_message(problem)
    if isinstance(problem, LimitProblem):
        return limit_message(problem)
    assert_never(problem)


def related_message(related: Related) -> str:
    """What a related location shows."""
    match related.relation:
        case Relation.OTHER_OCCURRENCE:
            return "Other occurrence"
        case Relation.ALLOCATION:
            return "Allocation"
        case Relation.SLICE:
            return "Value in its allocation"
        case Relation.OVERLAPPED_SLICE:
            return "Overlapping value"
        case Relation.OUTPUT:
            return "Allocation of the output"
        case Relation.TOTAL:
            return "Printed total"
        case Relation.OTHER_LIST:
            return "Same value in the other list"
        case Relation.QUOTED_INSTRUCTION:
            return "Quoted instruction"
        case Relation.QUOTING_VALUE:
            return "Value that quotes it"
        case Relation.USE:
            return "Use of the operand"
        case Relation.STEP:
            return "Scheduled here"
        case Relation.LIVE_RANGE:
            return "Live at this step"
        case Relation.PEAK:
            return "Real peak"
        case Relation.OUT_OF_ORDER:
            return "Also out of order"
        case Relation.SWAPPED:
            return "Other swapped instruction"
        case Relation.MENTION:
            return "Also mentioned here"
        case Relation.MODULE_INSTRUCTION:
            return "Instruction in the HLO module"
        case Relation.DIFFERENCE:
            return "Also differs"
    assert_never(related.relation)
