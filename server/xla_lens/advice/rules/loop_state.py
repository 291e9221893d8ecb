"""`loop-state`: a loop reads slices of an array, and stacks the new slices in another one.

So does `jax.lax.scan` over the layers of a model with the caches of all layers as `xs` and the new caches as `ys`. Both
are live as long as the loop runs. An array that the loop carries, and whose slices it writes over, is live once.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.op_names import is_differentiated
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.loop_outputs import loop_outputs
from xla_lens.advice.stacks import (
    COPIES,
    Stack,
    computed,
    fused_parameters,
    fused_rows,
    is_carried,
    lengths,
    row_of,
    stacks,
    users,
    value_of,
    values_of,
    way_back,
    without_shared,
)
from xla_lens.advice.subject import Subject, listed
from xla_lens.blocks.blocks import Inlines, Name, Role
from xla_lens.model.attribution.parameters import root_of
from xla_lens.model.attribution.writers import ELEMENT_INDEX, Position, Writers
from xla_lens.model.hlo.order import before_written
from xla_lens.model.memory.alive import on_same_bytes
from xla_lens.model.memory.donation import ELEMENTWISE
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


class _State(NamedTuple):
    """The array that a loop reads slices of: the value that it is before the loop, and the values that are conversions
    of it for the loop. Of an argument that has to be donated, `output` is the allocation of its new version, else NONE.
    """

    value: int
    converted: tuple[int, ...]
    output: int = NONE


def loop_state(facts: Facts) -> Iterator[Effect]:
    """Yield what loops stack if it could be written over what they read slices of, which nothing reads later."""
    writers = facts.origins.writers
    if writers is None:
        return
    # A stack that is only reduced later is no state: the loop need not make it.
    reduced = {effect.value for effect in facts.found(loop_outputs)}
    kept = (
        stack
        for stack in stacks(facts, writers)
        if stack.value not in reduced and not _is_reordered(facts, writers, stack.value)
    )
    found = {stack: state for stack in kept if (state := _state(facts, writers, stack))}
    whole = {stack: values_of(facts, writers, stack) for stack in found}
    contents = {value: stack.value for stack, values in whole.items() for value in values}
    gone = without_shared(facts, contents)
    outputs = {stack.value: (state.output,) for stack, state in found.items() if state.output != NONE}
    yield from (Effect(value, content=contents[value], outputs=outputs.get(value, ())) for value in gone)
    new = list[Piece]()
    for stack, state in found.items():
        loop = facts.start[stack.value]
        yield from (Effect(value, content=stack.value) for value in state.converted)
        # The array that the loop reads now also holds the result, so it stays until that ends or is copied.
        start, end = facts.end[state.value] + 1, _end(facts, writers, stack, state)
        if not facts.kind[state.value] & Kind.PARAMETER and start <= end:
            new.append(facts.piece(stack.value, start, end))
        new += _outside(facts, stack)
        # One slice is converted at a time.
        start = min(map(facts.start.__getitem__, whole[stack]))
        new += (Piece(start, loop, facts.size[value] // stack.layers) for value in state.converted)
    if new:
        yield Effect(NONE, tuple(new))


def _outside(facts: Facts, stack: Stack) -> Iterator[Piece]:
    """The bytes of what is computed from the result of a loop, is as large, and is in VMEM. XLA puts it there where HBM
    would be the peak, so a lower peak in the loop may bring it back.
    """
    made = (value for read in facts.reads(stack.value) for value in facts.defined_by(read.name))
    for value in made:
        if facts.dump.values.space[value] != facts.space.color and facts.size[value] >= facts.size[stack.value]:
            yield facts.piece(value, facts.start[value], facts.end[value])


def _end(facts: Facts, writers: Writers, stack: Stack, state: _State) -> int:
    """The last step at which the result of a loop needs bytes other than those of what it begins with."""
    same = {*on_same_bytes(facts.dump, state.value).tolist()}
    # What gathers its rows in another order reads all of it while that is written.
    names = (read.name for read in facts.reads(stack.value))
    in_place = (name for name in names if not _has_gather(writers, fused_rows(facts, writers, name)))
    copies = (value for name in in_place for value in facts.defined_by(name) if value in same)
    return min((facts.start[value] - 1 for value in copies), default=facts.end[stack.value])


def _is_reordered(facts: Facts, writers: Writers, value: int) -> bool:
    """Whether a TPU gathers rows of a result in another order, as those of the caches of a beam search: it then makes
    an array of that in any case.
    """
    names = [read.name for read in facts.reads_of_content(value)] if facts.dump.backend is Backend.TPU else []
    # It may take the rows as slices.
    is_named_so = any(_GATHER.search(facts.op_name(name) or "") for name in names)
    return is_named_so or any(_has_gather(writers, fused_rows(facts, writers, name)) for name in names)


def _has_gather(writers: Writers, rows: Iterable[int]) -> bool:
    return any(writers.read(row).own.opcode == b"gather" for row in rows)


def _state(facts: Facts, writers: Writers, stack: Stack) -> _State | None:
    """What a stack is the new version of: an array that the same loop reads in slices. None without any, or if it is
    needed later. A loop that is differentiated saves what it carries in each iteration.
    """
    op_name = facts.op_name(facts.name[stack.value])
    if op_name is None or is_differentiated(op_name) or not _begins_empty(writers, stack):
        return None
    for row in writers.module.instructions_of(writers.module.computation_of(stack.root)):
        element = _element(writers, stack, row)
        slices = _slices(writers, row, ()) if element != NONE else None
        state = _before(facts, writers, stack, element) if slices else None
        # A cache may also be shifted, or written at places that another argument tells.
        is_new = state is not None and facts.updated.get(stack.value) == state.value
        if slices and (is_new or _is_update(writers, stack, slices)):
            if _stored_by(writers, stack, slices) - {stack.element}:
                return None
            if state is None or not facts.kind[state.value] & Kind.PARAMETER:
                return state
            # An argument has a layout of its own, so XLA would copy it.
            return None if _layouts_differ(facts, stack.value, state.value) else state
    return None


def _begins_empty(writers: Writers, stack: Stack) -> bool:
    """Whether the initial content of a stack does not matter: `scan` begins with zeros, or XLA with an empty buffer."""
    begin = computed(writers, writers.operand(Position(stack.row, ()), 0, (stack.element,)))
    own = writers.read(begin.row).own if begin else None
    return own is not None and (own.opcode in (b"broadcast", b"constant") or own.has_text(_EMPTY_BUFFER))


def _element(writers: Writers, stack: Stack, row: int) -> int:
    """The number of the element of what the loop carries that an instruction takes out, if it has the lengths of a
    stack and the loop does not change it. Else NONE.
    """
    own = writers.read(row).own
    match = ELEMENT_INDEX.search(own.text, own.operands_end, own.end)
    if own.opcode != b"get-tuple-element" or not match or lengths(writers, row) != stack.lengths:
        return NONE
    element = integer(match[1])
    is_passed_on = is_carried(writers, Position(row, ()), element) and is_carried(
        writers, Position(stack.root, (element,)), element
    )
    return element if is_passed_on and element != stack.element else NONE


def _slices(writers: Writers, row: int, callers: tuple[int, ...]) -> list[Position] | None:
    """The instructions that take a slice out of an array, None if something else reads it."""
    found, module = list[Position](), writers.module
    for user in users(writers, row):
        read = writers.read(user)
        numbers = [number for number, name in enumerate(read.operands) if name == module.name(row)]
        if read.own.opcode == b"dynamic-slice" and numbers == [0]:
            found.append(Position(user, (), callers))
        elif read.own.opcode in (b"fusion", b"async-start"):
            # In a damaged module, a fusion may call itself.
            if user in callers:
                return None
            for inner in fused_parameters(writers, user, numbers):
                slices = _slices(writers, inner, (*callers, user))
                if slices is None:
                    return None
                found += slices
        elif read.own.opcode != b"tuple":
            return None
    return found


def _is_update(writers: Writers, stack: Stack, slices: list[Position]) -> bool:
    """Whether what a loop stores is computed element by element from the slice with the same number."""
    wanted = {position.row for position in slices if _numbers(writers, position, 1) == _numbers_of(writers, stack)}
    waiting, passed = [stack.update], set[Position]()
    for position in waiting:
        for before in way_back(writers, position):
            if before in passed or len(passed) > _MOST_STEPS:
                break
            passed.add(before)
            read = writers.read(before.row)
            if before.row in wanted:
                return True
            if read.own.opcode in ELEMENTWISE and read.own.opcode not in COPIES:
                operands = range(len(read.operands))
            else:
                operands = range(1 if read.own.opcode in _PASSING else 0)
            found = (writers.operand(before, number, ()) for number in operands)
            waiting += filter(None, found)
    return False


def _numbers_of(writers: Writers, stack: Stack) -> frozenset[bytes | tuple[int, ...]]:
    return _signature(writers, stack.number)


def _numbers(writers: Writers, position: Position, operand: int) -> frozenset[bytes | tuple[int, ...]]:
    return _signature(writers, writers.operand(position, operand, ()))


def _signature(writers: Writers, position: Position | None) -> frozenset[bytes | tuple[int, ...]]:
    """What the number of a slice is computed from: elements of what the loop carries, and whether it counts down."""
    found, waiting = set[bytes | tuple[int, ...]](), [position]
    for each in waiting:
        begin = computed(writers, each)
        if begin is None or len(waiting) > _MOST_STEPS:
            return frozenset((b"unknown",))
        own, operands = writers.read(begin.row).own, writers.read(begin.row).operands
        if own.opcode == b"parameter":
            found.add(begin.index)
        elif own.opcode in ELEMENTWISE:
            found.update((own.opcode,) if own.opcode in (b"subtract", b"negate", b"multiply") else ())
            waiting += (writers.operand(begin, number, ()) for number in range(len(operands)))
        elif own.opcode != b"constant":
            found.add(own.opcode)
    return frozenset(found)


def _stored_by(writers: Writers, stack: Stack, slices: list[Position]) -> set[int]:
    """The elements of what the loop carries that are stacks, and are stored by an instruction that reads one of some
    slices itself. If it reads a slice of another stack, XLA would copy all of that before writing over it.
    """
    rows = {(*position.callers, position.row)[0] for position in slices}
    ways = ([*way_back(writers, Position(stack.root, (number,)))] for number in range(stack.elements))
    return {
        number
        for number, way in enumerate(ways)
        if way and way[0].row in rows and writers.read(way[-1].row).own.opcode == b"dynamic-update-slice"
    }


def _before(facts: Facts, writers: Writers, stack: Stack, element: int) -> _State | None:
    """The array of which a loop reads slices before the loop, None if something needs it later."""
    way = way_back(writers, writers.operand(Position(stack.row, ()), 0, (element,)))
    values = [value_of(facts, writers, position) for position in way if not position.callers]
    loop = facts.start[stack.value]
    if not values or NONE in values or facts.dimensions(values[-1]) != facts.dimensions(stack.value):
        return None
    if any(read.step > loop for value in values for read in facts.reads(value)):
        return None
    *converted, value = values
    kind = facts.kind[value] & int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT)
    if not all(map(facts.is_computed, converted)):
        return None
    if kind == Kind.PARAMETER:
        # An argument that is not donated has to stay as it is, unless the stack is its new version, and nothing else
        # reads it that the loop need not wait for.
        argument = row_of(facts, writers, value)
        output, allocation_of = facts.new_version(value), facts.dump.values.allocation
        allocation = allocation_of.item(stack.value)
        is_new = output != NONE and allocation_of.item(output) == allocation
        is_new = is_new and argument in before_written(writers.module, {argument: stack.row}).read
        return _State(value, tuple(converted), allocation) if is_new else None
    # So has a result that is another one.
    return _State(value, tuple(converted)) if kind != Kind.MAYBE_LIVE_OUT else None


def _layouts_differ(facts: Facts, value: int, other: int) -> bool:
    shapes = [parse_shape(facts.dump.shape(each) or b"") for each in (value, other)]
    return len({shape.minor_to_major for shape in shapes if shape}) > 1


_GATHER: Final = lazy_pattern(r"/gather$")
_EMPTY_BUFFER: Final = b'custom_call_target="AllocateBuffer"'

_PASSING: Final = frozenset((b"dynamic-update-slice", b"pad", b"reshape", b"scatter", b"transpose"))
"""Instructions whose elements are those of their first operand, moved, or with others written over."""

_MOST_STEPS: Final = 300
"""Maximum number of instructions between what a loop reads and what it stores."""


def _what(subject: Subject) -> Inlines:
    shape = Name(subject.groups[0].shape, role=Role.SHAPE)
    donated = (", and donate ", *listed(subject.donated)) if subject.donated else ()
    return ("Carry ", shape, " through the loop that updates it", *subject.in_function, *donated)


def _snippet(subject: Subject) -> str:
    code = "state = jax.lax.dynamic_update_index_in_dim(state, new, layer, 0)  # in the carry, not in xs and ys"
    roots = tuple(dict.fromkeys(map(root_of, subject.donated)))
    return f"{code}; and donate_argnames={roots!r}, if nothing uses them after the call" if roots else code


ROW: Final = RuleRow(rule=Rule.LOOP_STATE, find=loop_state, what=_what, snippet=_snippet)
