"""Which output XLA for CPUs writes over each donated argument, and the copies that keep the two apart.

JAX chooses the pairs (`_set_up_aliases` in `jax._src.interpreters.mlir`): an output takes over the first donated
argument of its type and shape. So the average of some weights may be written over the weights, and the weights over the
average. If several devices run the program, XLA chooses, and compares sizes (`OptimizeInputOutputBufferAlias`).

XLA then puts a copy behind each such argument and another before each such output, and removes those that it can do
without (`CopyInsertion`). It does so before it schedules, so one instruction runs before another only if the other one
is computed from it:

- Everything has to read a copy of the argument unless the output is computed from all that reads the argument.
- The output is computed in a buffer of its own and copied at its end, unless what begins to write that buffer is
  computed from all that reads the argument or from the copy, or writes over the argument in place.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from xla_lens.advice.facts import Facts
from xla_lens.advice.program import Program
from xla_lens.advice.stacks import fused_parameters, reading_operands, row_of, taken_from, value_of
from xla_lens.model.attribution.writers import Position, Writers
from xla_lens.model.hlo.order import before_written, queued_behind
from xla_lens.model.memory.donation import ELEMENTWISE, UPDATING, may_run_in_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.syntax.columns import NONE, Kind


class Output(Struct, frozen=True):
    """An output, and the argument that it is written over once that is donated, NONE if it stays in a buffer of its
    own; both are rows of `DumpSet.values`.

    `parts` are the values that have to be in the buffer of the output, too. The instruction `begin`, a row of the
    module, writes the first of them at `begin_step`. `is_copied` says that everything reads a copy of the argument,
    which is made at `copy_time`. `is_moved` says that the output is computed in a buffer of its own, and copied at
    `output_time`. These times are between two steps.
    """

    value: int
    argument: int
    parts: frozenset[int]
    begin: int
    begin_step: int
    is_copied: bool = False
    is_moved: bool = False
    copy_time: float = NONE
    output_time: float = NONE


def outputs_after_donation(facts: Facts, writers: Writers, updates: Mapping[int, int]) -> list[Output]:
    """Return the outputs in buffers of their own, and which of them are written over arguments once these are donated.
    `updates` are the arguments by the outputs that are their updates, which XLA does not know.
    """
    module, returned = writers.module, _returned(facts, writers)
    pairs = _pairs(facts, returned, updates) if facts.kept(Program).is_of_jax else updates
    own = {output: end for output, end in returned.items() if facts.kind[output] & _OUTPUT == Kind.MAYBE_LIVE_OUT}
    ends = {output: _defined(writers, end) for output, end in own.items()}
    begins = {output: _begin(facts, writers, end) for output, end in ends.items()}
    outputs = [output for output in ends if output in pairs]
    rows = [row_of(facts, writers, pairs[output]) for output in outputs]
    begun = {row: begin.row for output, row in zip(outputs, rows, strict=True) if (begin := begins[output][0])}
    read_before_begin, begin_is_computed = before_written(module, begun)
    ended = {row: ends[output].row for output, row in zip(outputs, rows, strict=True)}
    read_before_end = before_written(module, ended).read
    copy_times = _times_behind(facts, writers, rows)
    output_times = _times_behind(facts, writers, [own[output].row for output in outputs])
    found = [
        Output(output, NONE, *_buffer(facts, writers, output, begin))
        for output, (begin, _) in begins.items()
        if output not in pairs
    ]
    for number, (output, row) in enumerate(zip(outputs, rows, strict=True)):
        argument, (begin, source) = pairs[output], begins[output]
        if begin is None:
            # It needs no copy in its own buffer, and is copied to another one at once.
            is_copied, is_moved = source != argument, False
        elif row in read_before_begin and may_overwrite(facts, writers, begin.row, argument):
            is_copied = is_moved = False
        elif source == argument and row not in read_before_begin:
            is_copied, is_moved = True, False
        else:
            is_copied = row not in read_before_end
            is_moved = not is_copied or row not in begin_is_computed
        buffer = _buffer(facts, writers, output, begin)
        first_read = min((read.step for read in facts.reads(argument)), default=facts.start[argument])
        copy_time = copy_times[number] if copy_times else first_read - 0.5
        output_time = output_times[number] if output_times else facts.start[output] + 0.5
        found.append(Output(output, argument, *buffer, is_copied, is_moved, copy_time, output_time))
    return found


def _buffer(facts: Facts, writers: Writers, output: int, begin: Position | None) -> tuple[frozenset[int], int, int]:
    """The values that have to be in the buffer of an output, what writes the first of them, and its step."""
    values, parts = facts.in_buffer_of(output), {output}
    if begin:
        first, value = entry_row(writers, begin.row), value_of(facts, writers, begin)
        since = facts.start[value if value != NONE else output]
        # The instructions of a loop run before the step of the loop.
        within = {value for value in values if first == entry_row(writers, row_of(facts, writers, value))}
        parts |= within | {value for value in values if facts.start[value] >= since}
    return frozenset(parts), begin.row if begin else NONE, min(map(facts.start.__getitem__, parts))


def entry_row(writers: Writers, row: int) -> int:
    """Return the instruction of the entry computation within which an instruction runs, NONE if there are several."""
    for _ in range(_MOST_CALLERS):
        if row == NONE or writers.module.is_in_entry(row):
            return row
        row = writers.caller(row)
    return NONE


def _times_behind(facts: Facts, writers: Writers, rows: list[int]) -> list[float] | None:
    """When copies of the results of some instructions are made, None if XLA scheduled for memory: then just before they
    are read, or as soon as they can be.
    """
    module, behind = writers.module, queued_behind(writers.module, rows)
    if behind is None:
        return None
    # Several that wait for the same step are made one after another.
    rank_of = {row: rank for rank, row in enumerate(sorted({*rows}), 1)}
    steps = [facts.step_of(facts.dump.name_number(module.name(row))) for row in behind]
    return [step - 1 + rank_of[row] / (len(rank_of) + 1) for step, row in zip(steps, rows, strict=True)]


def _pairs(facts: Facts, outputs: Mapping[int, Position], updates: Mapping[int, int]) -> dict[int, int]:
    """The arguments that outputs take over, by these: the first one that is donated and fits."""
    number_of, allocation_of = facts.dump.allocations.parameter, facts.dump.values.allocation
    advised = {*updates.values()}
    donated = [value for value in facts.all_arguments if value in advised or value in facts.donated]
    donated.sort(key=lambda value: number_of.item(allocation_of.item(value)))
    fits = facts.size.__getitem__ if facts.is_sharded else facts.dimensions
    waiting = dict[object, list[int]]()
    for value in donated[::-1]:
        waiting.setdefault(fits(value), []).append(value)
    found = dict[int, int]()
    for output in outputs:
        left = waiting.get(fits(output))
        argument = left.pop() if left else NONE
        if argument in advised:
            found[output] = argument
    return found


def _returned(facts: Facts, writers: Writers) -> dict[int, Position]:
    """The outputs, and what is returned as these, in the order of the results."""
    dump, module = facts.dump, writers.module
    root = module.root(module.entry) if module.entry != NONE else NONE
    if root == NONE:
        return {}
    name, own = dump.name_number(module.name(root)), writers.read(root).own
    if not own.shape.startswith(b"("):
        value = dump.value_at(name, EMPTY_INDEX)
        return {value: Position(root, ())} if value != NONE else {}
    # A loop may return its results as they are.
    whole, is_tuple = Position(root, ()), own.opcode == b"tuple"
    places = range(own.shape.count(b"["))
    indices = dump.index_numbers(map(b"{%d}".__mod__, places))
    values = dump.values_at(np.full(len(indices), name), indices).tolist()
    elements = ((writers.operand(whole, place, ()) if is_tuple else Position(root, (place,))) for place in places)
    found = zip(values, elements, strict=True)
    return {value: element for value, element in found if value != NONE and element}


def _defined(writers: Writers, position: Position) -> Position:
    """What defines an element that tuples only hold."""
    for _ in range(_MOST_STEPS):
        is_view = writers.read(position.row).own.opcode in (b"tuple", b"get-tuple-element")
        before = taken_from(writers, position) if is_view else None
        if before is None:
            break
        position = before
    return position


def _begin(facts: Facts, writers: Writers, end: Position) -> tuple[Position | None, int]:
    """The element whose instruction first writes to the buffer of an element, None if that has another one from the
    caller, and the argument that has this buffer, NONE if there is none. Loops and updates write to the buffers of what
    they begin with.
    """
    begin, outer, position = None, end, end
    for _ in range(_MOST_STEPS):
        own = writers.read(position.row).own
        outer = outer if position.callers else position
        if own.opcode == b"parameter" and not position.callers and writers.module.is_in_entry(position.row):
            return begin, value_of(facts, writers, position)
        before = _in_same_buffer(writers, position)
        if before is None:
            return outer, NONE
        if own.opcode in _WRITING:
            begin = outer
        position = before
    return end, NONE


def _in_same_buffer(writers: Writers, position: Position) -> Position | None:
    """The element that has to be in the same buffer as one that is computed from it, None if that is in a new one."""
    own, index = writers.read(position.row).own, position.index
    match own.opcode:
        case b"while":
            return writers.operand(position, 0, index)
        case b"dynamic-update-slice" | b"scatter":
            return writers.operand(position, index[0] if index else 0, ())
        case b"bitcast":
            return writers.operand(position, 0, ())
        case b"copy":
            # XLA copies arguments that are not donated before it writes to them.
            source = writers.operand(position, 0, ())
            source = _defined(writers, source) if source else None
            is_argument = source and writers.read(source.row).own.opcode == b"parameter"
            return source if is_argument and not position.callers else None
        case b"fusion":
            root = taken_from(writers, position)
            return root if root and _is_update(writers, root) else None
    return taken_from(writers, position)


def _is_update(writers: Writers, position: Position) -> bool:
    """Whether an element within a fusion is the update of one that the fusion reads."""
    found: Position | None = position
    for _ in range(_MOST_STEPS):
        opcode = writers.read(found.row).own.opcode if found else b""
        if found is None or opcode not in _UPDATING_IN_FUSION:
            return found is not None and opcode == b"parameter"
        found = _in_same_buffer(writers, found)
    return False


def may_overwrite(facts: Facts, writers: Writers, row: int, value: int) -> bool:
    """Return whether an instruction may write over a value: it does not read it, or each element only for the same
    one of the result. A queue that is shifted reads elements that are written over
    (HloInstruction::IsElementwiseOnOperand).
    """
    name = facts.dump.name_number(writers.module.name(row))
    if name not in {read.name for read in facts.reads(value)}:
        return True
    opcode = writers.read(row).own.opcode
    if opcode == b"while":
        return True
    if not may_run_in_place(facts.dump, name) or opcode != b"fusion":
        return may_run_in_place(facts.dump, name)
    waiting = fused_parameters(writers, row, facts.operand_numbers(name, value))
    for each in waiting:
        for user, operands in reading_operands(writers, each).items():
            opcode = writers.read(user).own.opcode
            if not (opcode in ELEMENTWISE | _VIEWS or (opcode in UPDATING and operands == [0])):
                return False
            waiting += [user] if user not in waiting else []
    return True


_OUTPUT: Final = int(Kind.MAYBE_LIVE_OUT | Kind.PARAMETER)
"""The kinds that tell whether an allocation of an output is that of an argument."""

_VIEWS: Final = frozenset((b"bitcast", b"tuple"))
"""What gives the result of a fusion another form, or puts it beside others."""

_WRITING: Final = frozenset((b"dynamic-update-slice", b"fusion", b"scatter", b"while"))
"""What writes to the buffer of an operand."""

_UPDATING_IN_FUSION: Final = frozenset((b"bitcast", b"dynamic-update-slice", b"scatter", b"tuple"))
"""What leads from the result of a fusion to an operand in the same buffer."""

_MOST_CALLERS: Final = 20
"""Maximum number of computations that call one another around an instruction."""

_MOST_STEPS: Final = 200
"""Maximum number of instructions that an output is followed through."""
