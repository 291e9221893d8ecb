"""What loops stack and what they take slices of: the `ys` and the `xs` of `jax.lax.scan`.

A loop that stacks results carries an array with a slice for each iteration, which its body writes with a
`dynamic-update-slice`. An array of which each iteration reads a slice is carried, too, but the body only passes it on.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from xla_lens.advice.facts import Facts
from xla_lens.model.attribution.writers import ELEMENT_INDEX, Position, Writers
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


class Stack(NamedTuple):
    """What a loop stacks: its result `value`, a row of `DumpSet.values`. It is the element `element` of all `elements`
    that the loop `row` of the module carries, and has `lengths`. `root` is the root of the body. An iteration stores
    `update` in the slice `number`.
    """

    value: int
    row: int
    element: int
    elements: int
    lengths: tuple[int | None, ...]
    root: int
    update: Position
    number: Position

    @property
    def layers(self) -> int:
        """The number of slices."""
        return self.lengths[0] or 1


def stacks(facts: Facts, writers: Writers) -> Iterator[Stack]:
    """Yield what loops stack, one slice in each iteration."""
    dump = facts.dump
    for value in facts.candidates if writers.module.has_loops else ():
        if facts.opcode(value) == b"while":
            index = index_path(dump, dump.values.index.item(value))
            row = row_of(facts, writers, value)
            if row != NONE and len(index) == 1 and (stack := _stack(facts, writers, value, row, index[0])):
                yield stack


def _stack(facts: Facts, writers: Writers, value: int, row: int, element: int) -> Stack | None:
    root, shape = _root_of_body(writers, row), facts.dimensions(value)
    stored = _stored(writers, root, element)
    if stored is None or shape is None:
        return None
    target, update = (writers.operand(stored, operand, ()) for operand in range(2))
    if update is None or not is_carried(writers, target, element):
        return None
    whole, part, elements = lengths(writers, stored.row), lengths(writers, update.row), len(writers.read(root).operands)
    if not whole or not part or len(whole) != len(part):
        return None
    # A GPU may have the dimension of the slices last, as the same bytes, if something adds them up.
    layer = next((place for place, (one, other) in enumerate(zip(whole, part, strict=True)) if one != other), 0)
    number = writers.operand(stored, _FIRST_NUMBER + layer, ())
    is_slice = part == (*whole[:layer], 1, *whole[layer + 1 :]) and shape.lengths[:1] == whole[layer : layer + 1]
    found = whole if layer == 0 else shape.lengths
    return Stack(value, row, element, elements, found, root, update, number) if number and is_slice else None


def _root_of_body(writers: Writers, loop: int) -> int:
    """The root of the body of a loop, NONE if the module lacks it."""
    body = next(iter(writers.called(loop, b"body")), NONE)
    return writers.module.root(body) if body != NONE else NONE


def _stored(writers: Writers, root: int, element: int) -> Position | None:
    """The instruction that writes a slice of an element of what a loop carries, by the root of its body. None if no
    instruction does.
    """
    stored = computed(writers, Position(root, (element,))) if root != NONE else None
    is_slice = stored is not None and writers.read(stored.row).own.opcode == b"dynamic-update-slice"
    return stored if is_slice else None


def stores_carried(writers: Writers, position: Position) -> bool:
    """Whether a position is a stack of what a loop carries, as it is when each iteration begins, or a copy of such a
    stack.
    """
    loop = computed(writers, position)
    if loop is None or writers.read(loop.row).own.opcode != b"while" or len(loop.index) != 1 or loop.callers:
        return False
    stored = _stored(writers, _root_of_body(writers, loop.row), loop.index[0])
    update = computed(writers, writers.operand(stored, 1, ())) if stored else None
    if update is None:
        return False
    found = [update]
    if writers.read(update.row).own.opcode == b"select":
        # A TPU selects the initial value in the first iteration, instead of carrying it.
        found = [each for number in (1, 2) if (each := computed(writers, writers.operand(update, number, ())))]
    return any(len(each.index) == 1 and not each.callers and is_parameter(writers, each.row) for each in found)


def carried_anew(facts: Facts, writers: Writers, loop: int) -> Iterator[int]:
    """Yield the results of a loop, by its row, that its body computes anew from what it carries: neither stacks nor
    what it passes on.
    """
    root = _root_of_body(writers, loop)
    for element in range(len(writers.read(root).operands)) if root != NONE else ():
        position = Position(root, (element,))
        is_passed_on = is_carried(writers, position, element) or _stored(writers, root, element) is not None
        value = NONE if is_passed_on else value_of(facts, writers, Position(loop, (element,)))
        if value != NONE:
            yield value


def is_carried(writers: Writers, position: Position | None, element: int) -> bool:
    """Whether a position in the body of a loop is what the loop carries as an element."""
    begin = computed(writers, position)
    return begin is not None and begin.index == (element,) and not begin.callers and is_parameter(writers, begin.row)


def is_parameter(writers: Writers, row: int) -> bool:
    """Whether an instruction is the parameter of a computation."""
    return writers.read(row).own.opcode == b"parameter"


def lengths(writers: Writers, row: int) -> tuple[int | None, ...] | None:
    """The lengths of the dimensions of the result of an instruction, None if it is no array."""
    shape = parse_shape(writers.read(row).own.shape)
    return shape.dimensions if shape else None


def way_back(writers: Writers, position: Position | None) -> Iterator[Position]:
    """Yield an element and what it is a copy of: through tuples, views, copies, conversions and fusions, up to the
    instruction that computes it, or the parameter of the computation that it is in.
    """
    for _ in range(_MOST_STEPS):
        if position is None:
            return
        opcode = writers.read(position.row).own.opcode
        if not (opcode == b"get-tuple-element" or (opcode == b"tuple" and position.index)):
            yield position
        is_copy = opcode in COPIES
        position = writers.operand(position, 0, position.index) if is_copy else taken_from(writers, position)


def taken_from(writers: Writers, position: Position) -> Position | None:
    """Return where an element is that an instruction only takes out of a tuple, or that a fusion, or what a GPU runs
    asynchronously, computes within it or gets from outside. None for other instructions, and if the module lacks it.
    """
    own, index, callers = writers.read(position.row).own, position.index, position.callers
    match own.opcode:
        case b"tuple" if index:
            return writers.operand(position, index[0], index[1:])
        case b"get-tuple-element":
            element = ELEMENT_INDEX.search(own.text, own.operands_end, own.end)
            return writers.operand(position, 0, (integer(element[1]), *index)) if element else None
        case b"fusion":
            return _within(writers, position, index)
        case b"copy-done":
            # A TPU copies to VMEM and back: what starts that has the copy, the operand and more, in this order.
            return writers.operand(position, 0, (0, *index))
        case b"copy-start" if index[:1] == (0,):
            return writers.operand(position, 0, index[1:])
        case b"async-done":
            return writers.operand(position, 0, (_RESULT, *index))
        case b"async-start" | b"async-update" if index[:1] == (_RESULT,):
            return _within(writers, position, index[1:])
        case b"parameter" if callers and own.parameter_number is not None:
            return writers.operand(Position(callers[-1], (), callers[:-1]), own.parameter_number, index)
    return None


def _within(writers: Writers, position: Position, index: tuple[int, ...]) -> Position | None:
    """Return where an element of the result is in the computation that an instruction calls. None if it calls itself,
    as one of a damaged module may.
    """
    if position.row in position.callers:
        return None
    roots = [writers.module.root(called) for called in writers.called(position.row, b"calls")]
    return Position(roots[0], index, (*position.callers, position.row)) if roots and NONE not in roots else None


def computed(writers: Writers, position: Position | None) -> Position | None:
    """Return the instruction that computes an element, or the parameter that it is. None if the module does not say."""
    return next(reversed([*way_back(writers, position)]), None)


def users(writers: Writers, row: int) -> list[int]:
    """Return the instructions of its computation that have an instruction as an operand. Views of it count for what
    uses these.
    """
    found = dict[int, None]()
    for user in reading_operands(writers, row):
        is_view = writers.read(user).own.opcode == b"bitcast"
        found.update(dict.fromkeys(users(writers, user) if is_view else [user]))
    return list(found)


def reading_operands(writers: Writers, row: int) -> dict[int, list[int]]:
    """Return the instructions of its computation that have an instruction as operands, with the numbers of these."""
    module = writers.module
    end = module.computation_span(module.computation_of(row))[1]
    places = module.words_like(module.place(row), module.span(row)[1], end)
    rows = dict.fromkeys(module.instruction_at(place) for place in places)
    found = {user: writers.read(user).operands for user in rows if user != NONE}
    numbers = {
        user: [number for number, name in enumerate(names) if name == module.name(row)] for user, names in found.items()
    }
    return {user: each for user, each in numbers.items() if each}


def callers(writers: Writers, row: int) -> tuple[int, ...]:
    """Return the instructions that call the computation around an instruction, such as fusions, the outermost first.
    Empty if one of them is called several times.
    """
    found = list[int]()
    while not writers.module.is_in_entry(row):
        row = writers.caller(row)
        if row == NONE or row in found:
            return ()
        found.append(row)
    return tuple(reversed(found))


def depends_on_device(writers: Writers, start: Position) -> bool:
    """Return whether an element is computed from the number of the device that computes it. False if that takes long to
    find out.
    """
    waiting = [start]
    for position in waiting:
        read = writers.read(position.row)
        if read.own.opcode in _OF_DEVICE:
            return True
        before = taken_from(writers, position)
        operands = (writers.operand(position, number, ()) for number in range(len(read.operands)))
        waiting += [before] if before else filter(None, operands)
        if len(waiting) > _MOST_STEPS:
            return False
    return False


def fused_parameters(writers: Writers, fusion: int, numbers: Collection[int]) -> list[int]:
    """Return the parameters, in the computation of a fusion, for the operands with some numbers."""
    called = [computation for computation in writers.called(fusion, b"calls") if computation != NONE]
    rows = [row for computation in called for row in writers.module.parameters_of(computation)]
    return [row for row in rows if writers.read(row).own.parameter_number in numbers]


def fused_rows(facts: Facts, writers: Writers, name: int) -> list[int]:
    """Return an instruction and those in a fusion, as rows of the module; empty if that lacks it."""
    row = writers.module.row_of(facts.dump.names[name])
    called = writers.called(row, b"calls") if row != NONE else ()
    inside = (inner for each in called if each != NONE for inner in writers.module.instructions_of(each))
    return [row, *inside] if row != NONE else []


def row_of(facts: Facts, writers: Writers, value: int) -> int:
    """Return the instruction that defines a value, a row of the module, NONE if that lacks it."""
    return writers.module.row_of(facts.dump.names[facts.name[value]])


def value_of(facts: Facts, writers: Writers, position: Position) -> int:
    """Return the row of `DumpSet.values` of an instruction or of an element of it, NONE if the dump has none."""
    dump = facts.dump
    index = b"{%s}" % b",".join(b"%d" % number for number in position.index)
    return dump.value_at(dump.name_number(writers.module.name(position.row)), dump.index_number(index))


def values_of(facts: Facts, writers: Writers, stack: Stack) -> set[int]:
    """Return the values that are a stack: its result, and what the loop carries as that element before it."""
    called = [body for body in writers.called(stack.row, b"body", b"condition") if body != NONE]
    carried = [Position(row, (stack.element,)) for each in called for row in writers.module.parameters_of(each)]
    stored = way_back(writers, Position(stack.root, (stack.element,)))
    initial = way_back(writers, writers.operand(Position(stack.row, ()), 0, (stack.element,)))
    positions = (position for position in (*carried, *stored, *initial) if not position.callers)
    found = {stack.value, *(value_of(facts, writers, position) for position in positions)} - {NONE}
    # A GPU may write a stack as an array whose dimensions have another order.
    order = sorted(length or 0 for length in stack.lengths)
    return {value for value in found if (shape := facts.dimensions(value)) and sorted(shape.lengths) == order}


def without_shared(facts: Facts, values: Iterable[int]) -> set[int]:
    """Return the values that the program no longer needs if it does not need their stacks. Left out are those in
    buffers of arguments, and those that also initialize something else.
    """
    all_values = {*values}
    names = {facts.name[value] for value in all_values}

    def has_other_readers(value: int) -> bool:
        readers = {read.name for read in facts.reads(value)} - names
        # The end of an asynchronous computation passes its result on.
        return any(_END.search(facts.dump.names[name]) is None for name in readers)

    return {
        value
        for value in all_values
        if not facts.kind[value] & Kind.PARAMETER
        and (facts.opcode(value) not in _INITIAL or not has_other_readers(value))
    }


_FIRST_NUMBER: Final = 2
"""The operand of a `dynamic-update-slice` that is the first number of the slice."""

_OF_DEVICE: Final = frozenset((b"partition-id", b"replica-id"))

_RESULT: Final = 1
"""The element of what starts an asynchronous computation that is its result: behind its operands."""

_INITIAL: Final = frozenset((b"broadcast", b"constant", b"copy", b"custom-call", b"fusion"))
"""The opcodes of what stacks begin with."""

_END: Final = lazy_pattern(rb"-done(?:\.|$)")

COPIES: Final = frozenset((b"bitcast", b"convert", b"copy", b"opt-barrier", b"reduce-precision"))
"""Instructions whose result is their operand, at another place or in another type."""

_MOST_STEPS: Final = 50
"""Maximum number of instructions on the way to what computes an element."""
