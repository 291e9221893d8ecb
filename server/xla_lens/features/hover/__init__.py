"""The facts in hovers over a value, an allocation, a step, an instruction or the printed peak.

`xla_lens.render.hover` words them.
"""

from xla_lens.features.hover.allocations import allocation_facts
from xla_lens.features.hover.facts import Hover, InstructionFacts
from xla_lens.features.hover.steps import peak_facts, step_facts
from xla_lens.features.hover.values import value_facts
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Peak, Step, Value
from xla_lens.syntax.columns import NONE


def hover(analysis: Analysis, module: HloModule | None, mention: Mention) -> Hover:
    """Return the facts about a mention."""
    match mention.target:
        case Value(row):
            return value_facts(analysis, module, row, mention.name)
        case Allocation(row):
            return allocation_facts(analysis, row)
        case Step(step):
            return step_facts(analysis, step)
        case Instruction(name):
            dump = analysis.dump
            step = int(dump.schedule.step[dump.schedule_row_of_name[name]])
            return InstructionFacts(dump.label(name, NONE), step, dump.missing)
        case Peak(row):
            return peak_facts(analysis, row)
