"""The facts in a hover over an HLO module: what an instruction is, what it keeps in memory, and its source line."""

from dataclasses import dataclass
from itertools import islice

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, meaning_of, references_to, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.mentions import Instruction, Target
from xla_lens.syntax.columns import NONE

MAX_ELEMENTS = 12
"""Elements of a tuple that a hover lists."""

MAX_CALLERS = 8
"""Instructions that call a computation that a hover lists."""


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """One of several values of an instruction. `allocation`, `offset` and `size_bytes` are NONE and `live` is None
    where the dump does not contain them.
    """

    label: str
    size_bytes: int
    allocation: int
    offset: int
    live: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """An instruction.

    `target` is what it is in the dump, None if the dump does not contain it; `has_dump` says whether there is a dump.
    `elements` are the first of its values if it has several, `element_count` the number of all.
    """

    name: str
    opcode: str | None
    shape: str | None
    computation: str
    has_dump: bool
    target: Target | None
    elements: tuple[ElementFacts, ...]
    element_count: int
    op_name: str | None
    frames: tuple[StackFrame, ...]


@dataclass(frozen=True, slots=True)
class ComputationFacts:
    """A computation. `callers` are the first of the instructions that call it, `caller_count` the number of all."""

    name: str
    is_entry: bool
    instructions: int
    callers: tuple[str, ...]
    caller_count: int
    root: str | None


def hover(analysis: Analysis, module: HloModule, mention: HloMention) -> InstructionFacts | ComputationFacts:
    """Return the facts about what is mentioned."""
    match mention.target:
        case HloInstruction():
            return _instruction(analysis, module, mention.target)
        case HloComputation(row):
            return _computation(module, row)


def _instruction(analysis: Analysis, module: HloModule, target: HloInstruction) -> InstructionFacts:
    dump, name, instruction = analysis.dump, module.name(target.row), module.instruction(target.row)
    metadata = module.metadata(target.row)
    values = values_of(dump, name) if not target.index else []
    meaning = meaning_of(dump, name, target.index)
    several = values if len(values) > 1 else []
    return InstructionFacts(
        name=(name + target.index).decode("utf-8", "replace"),
        opcode=instruction.opcode.decode("utf-8", "replace") if instruction else None,
        shape=instruction.shape.decode("utf-8", "replace") if instruction else None,
        computation=module.computation_name(module.computation_of(target.row)).decode("utf-8", "replace"),
        has_dump=bool(dump.files),
        target=None if isinstance(meaning, Instruction) and several else meaning,
        elements=tuple(_element(analysis, value) for value in several[:MAX_ELEMENTS]),
        element_count=len(several),
        op_name=metadata.get("op_name"),
        frames=module.frames(metadata),
    )


def _element(analysis: Analysis, value: int) -> ElementFacts:
    dump, values = analysis.dump, analysis.dump.values
    row = int(values.allocation[value])
    return ElementFacts(
        label=dump.value_label(value),
        size_bytes=int(values.size_bytes[value]),
        allocation=int(dump.allocations.index[row]) if row != NONE else NONE,
        offset=int(values.offset[value]),
        live=(int(values.start_step[value]), int(values.end_step[value])) if values.live_range[value] != NONE else None,
    )


def _computation(module: HloModule, row: int) -> ComputationFacts:
    callers: dict[int, None] = {}
    for use in references_to(module, HloComputation(row)):
        callers.setdefault(module.instruction_at(use.start))
    root = module.root(row)
    return ComputationFacts(
        name=module.computation_name(row).decode("utf-8", "replace"),
        is_entry=bool(module.columns.computations.is_entry[row]),
        instructions=len(module.instructions_of(row)),
        callers=tuple(module.name(caller).decode("utf-8", "replace") for caller in islice(callers, MAX_CALLERS)),
        caller_count=len(callers),
        root=module.name(root).decode("utf-8", "replace") if root != NONE else None,
    )
