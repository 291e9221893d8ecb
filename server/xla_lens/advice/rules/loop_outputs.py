"""`loop-outputs`: a loop stacks results of which only a part or a sum is read later."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.stacks import (
    Stack,
    fused_parameters,
    fused_rows,
    lengths,
    stacks,
    users,
    value_of,
    values_of,
    way_back,
    without_shared,
)
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines, Name, Role
from xla_lens.model.attribution.writers import Position, Writers
from xla_lens.model.memory.donation import ELEMENTWISE
from xla_lens.model.memory.edits import Piece
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern

_SMALL_PART: Final = 8
"""A stack has at least this many times the bytes of what is computed from it."""


class _Reads(NamedTuple):
    """What reads a stack: the values that are copies of it, and the names of the instructions that reduce or cut it."""

    copies: tuple[int, ...]
    names: tuple[int, ...]


def loop_outputs(facts: Facts) -> Iterator[Effect]:
    """Yield the stacks of loops that are only reduced or cut later. They are gone, but for the results, which the loops
    compute.
    """
    writers = facts.origins.writers
    if writers is None:
        return
    found = {stack: reads for stack in stacks(facts, writers) if (reads := _reads(facts, writers, stack))}
    whole = {stack: {*values_of(facts, writers, stack), *reads.copies} for stack, reads in found.items()}
    gone = without_shared(facts, set().union(*whole.values()))
    # Several stacks may begin with the same array.
    contents = {value: stack.value for stack, values in whole.items() for value in values}
    new = list[Piece]()
    for stack, reads in found.items():
        start = min(facts.start[value] for value in whole[stack])
        results = {value for name in reads.names for value in facts.defined_by(name)}
        new += (Piece(start, facts.end[stack.value], facts.size[value]) for value in results)
    yield from (Effect(value, content=contents[value]) for value in gone)
    if new:
        yield Effect(NONE, tuple(new))


def _reads(facts: Facts, writers: Writers, stack: Stack) -> _Reads | None:
    """What reads a stack, None if something reads all of it, or if the backward pass does."""
    if not facts.is_computed(stack.value) or facts.is_backward(facts.op_name(facts.name[stack.value])):
        return None
    copies, names, waiting = list[int](), dict[int, None](), [stack.value]
    for value in waiting:
        for _, name in facts.reads(value):
            row = writers.module.row_of(facts.dump.names[name])
            if row == NONE or facts.is_for_backward(name):
                return None
            made = facts.defined_by(name)
            if facts.dump.opcode(name) in (b"copy", b"transpose") and all(map(facts.is_computed, made)):
                copies += made
                waiting += made
            elif _is_small(facts, stack, name) and _reduces(facts, writers, row, value):
                names[name] = None
            else:
                return None
    # No iteration can compute what needs the sum of all of them first, such as deviations from it.
    reducing = [name for name in names if not _only_cuts(facts, writers, name)]
    whole = [name for name in names if not _is_by_iteration(facts, stack, name)]
    is_chained = len(names) > 1 and any(facts.leads_to(name, reducing) for name in whole)
    is_chained = is_chained or any(_combines_with_sums(facts, stack, writers, name) for name in names)
    return _Reads(tuple(copies), tuple(names)) if names and not is_chained else None


def _combines_with_sums(facts: Facts, stack: Stack, writers: Writers, name: int) -> bool:
    """Whether a fusion computes something of a stack and of what it has reduced, as deviations from a mean."""
    reduced, other, like = set[bytes](), set[bytes](), Counter(stack.lengths)
    for row in fused_rows(facts, writers, name)[1:]:
        read = writers.read(row)
        operands = {*read.operands}
        if operands & reduced and operands & other:
            return True
        if read.own.opcode in _SUMS or operands & reduced:
            reduced.add(writers.module.name(row))
        elif operands & other or (read.own.opcode == b"parameter" and Counter(lengths(writers, row)) == like):
            other.add(writers.module.name(row))
    return False


def _only_cuts(facts: Facts, writers: Writers, name: int) -> bool:
    """Whether an instruction reduces nothing."""
    return all(writers.read(row).own.opcode not in _SUMS for row in fused_rows(facts, writers, name))


_SUMS: Final = frozenset((b"reduce", b"reduce-window"))


def _is_by_iteration(facts: Facts, stack: Stack, name: int) -> bool:
    """Whether what an instruction computes from a stack has an element for each iteration of the loop."""
    shapes = [facts.dimensions(value) for value in facts.defined_by(name)]
    is_told = stack.layers not in stack.lengths[1:]
    return is_told and all(shape and shape.lengths[:1] == (stack.layers,) for shape in shapes)


def _is_small(facts: Facts, stack: Stack, name: int) -> bool:
    made = facts.defined_by(name)
    return bool(made) and sum(facts.size[value] for value in made) * _SMALL_PART <= facts.size[stack.value]


def _reduces(facts: Facts, writers: Writers, row: int, value: int) -> bool:
    """Whether an instruction reduces or cuts a value, after computations on its elements."""
    read = writers.read(row)
    operands = [writers.operand(Position(row, ()), number, ()) for number in range(len(read.operands))]
    numbers = [
        number
        for number, operand in enumerate(operands)
        if any(value_of(facts, writers, position) == value for position in way_back(writers, operand))
    ]
    return bool(numbers) and all(_reduces_operand(writers, row, number) for number in numbers)


def _reduces_operand(writers: Writers, row: int, number: int) -> bool:
    own = writers.read(row).own
    if own.opcode != b"fusion":
        # XLA for CPUs reduces long dimensions in windows first, side by side.
        is_beside = own.opcode == b"reduce-window" and _BESIDE.search(own.text, own.operands_end, own.end) is not None
        return (own.opcode in _REDUCING or is_beside) and number == 0
    waiting = fused_parameters(writers, row, (number,))
    # What is computed on its elements must be reduced, too.
    for each in waiting:
        readers = users(writers, each)
        if not readers:
            return False
        for reader in readers:
            own, operands = writers.read(reader).own, writers.read(reader).operands
            places = [place for place, name in enumerate(operands) if name == writers.module.name(each)]
            if own.opcode in ELEMENTWISE or own.opcode in (b"reshape", b"transpose", b"bitcast"):
                waiting += [reader] * (reader not in waiting)
            elif not all(_reduces_operand(writers, reader, place) for place in places):
                return False
    return bool(waiting)


_REDUCING: Final = frozenset((b"dynamic-slice", b"reduce", b"slice"))

_BESIDE: Final = lazy_pattern(rb"window=\{size=([0-9x]+) stride=\1[ }]")
"""Windows that do not overlap."""


def _what(subject: Subject) -> Inlines:
    shape = Name(subject.groups[0].shape, role=Role.SHAPE)
    return ("Reduce or slice ", shape, " in the body of the loop that stacks it", *subject.in_function)


def _snippet(_subject: Subject) -> str:
    notes = "body returns what is read later of each iteration, such as y.sum(-1); a sum over all is added up in carry"
    return f"carry, parts = jax.lax.scan(body, carry, xs)  # {notes}"


ROW: Final = RuleRow(rule=Rule.LOOP_OUTPUTS, find=loop_outputs, what=_what, snippet=_snippet)
