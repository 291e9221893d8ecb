"""What is in the buffers of donated arguments on a CPU, and what finds no place there.

An output that is written over an argument needs no buffer of its own. What was in that buffer before the output needs
another place, as do the copies of arguments. XLA assigns the largest first, each to the smallest buffer of an output
that is free for as long: that of an argument from the last read of the argument, or its copy, until the output is
written over it. All others are temporaries (`BufferAssigner`).

It does the same if outputs get smaller, as moments in bfloat16, which are computed in buffers of their own.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil, floor
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from xla_lens.advice.facts import SMALLEST_SHARE, Effect, Facts
from xla_lens.advice.overwriting import Output, entry_row, may_overwrite, outputs_after_donation
from xla_lens.advice.stacks import row_of
from xla_lens.model.attribution.writers import Writers
from xla_lens.model.hlo.order import post_order, queued_behind
from xla_lens.model.memory.edits import Piece
from xla_lens.syntax.columns import NONE, Kind


def donation_effects(facts: Facts, writers: Writers, outputs: Sequence[Output]) -> Iterator[Effect]:
    """Yield what the donation of arguments changes on a CPU."""
    space, edited = facts.dump.values.space, facts.edited
    outputs = [output for output in outputs if space[output.value] == facts.space.color]
    effects = tuple(_Assignment(facts, writers, outputs).effects(has_temporaries=True))
    temporaries = edited.temporaries_after(edited.changes({effect.value: effect.pieces for effect in effects}))
    # The buffers of arguments are free for a shorter time than those of the outputs, so they take over no more.
    if temporaries.peak_bytes < edited.temporaries.peak_bytes:
        effects = tuple(_Assignment(facts, writers, outputs).effects(has_temporaries=False))
    yield from effects


def displaced_by_shrinking(facts: Facts, writers: Writers, sizes: Mapping[int, int]) -> Iterator[Effect]:
    """Yield what becomes of the values in the buffers of outputs on a CPU once some outputs, none of them written over
    an argument, have these sizes in bytes: what no longer fits, and finds no other place, becomes a temporary.
    """
    space = facts.dump.values.space
    outputs = [each for each in outputs_after_donation(facts, writers, {}) if space[each.value] == facts.space.color]
    allocation_of = facts.dump.values.allocation
    shrunk = {allocation_of.item(value) for value in sizes}
    smaller = [
        structs.replace(each, parts=frozenset({each.value}), begin=NONE, begin_step=facts.start[each.value])
        if each.value in sizes
        else each
        for each in outputs
    ]
    now = {guest.values for guest in _Assignment(facts, writers, outputs).assign()}
    after = _Assignment(facts, writers, smaller, sizes)
    for guest in after.assign():
        # What finds no place today, though it has one, tells of the assignment that it differs from that of XLA.
        if guest.values not in now:
            yield from after.moved(guest)
    for buffer in after.buffers:
        allocation = allocation_of.item(buffer.output.value)
        for guest in buffer.guests:
            if allocation_of.item(guest.values[0]) in shrunk - {allocation}:
                yield from after.moved(guest, allocation)


class _Guest(NamedTuple):
    """Bytes that need a place beside the arguments and the outputs: those of `values`, of which each has to be where
    the one before it was, or of a copy without any. `below` are the outputs that may be computed from them in place,
    and `above` the arguments from which they may be computed in place. `place` is that of the first instruction in the
    order in which XLA visits them. What `is_temporary` today may stay where it is.
    """

    values: tuple[int, ...]
    size: int
    start: float
    end: float
    place: float
    below: frozenset[int] = frozenset()
    above: frozenset[int] = frozenset()
    is_temporary: bool = False

    @property
    def piece(self) -> Piece:
        """The whole steps at which it is live."""
        return Piece(ceil(self.start), floor(self.end), self.size)

    def is_new(self, moved_outputs: Collection[int]) -> bool:
        """Whether it is not in the buffer of an output today: a copy, or an output that is computed elsewhere."""
        return all(value in moved_outputs for value in self.values)


class _Buffer:
    """The buffer of an output. It is in use until an `end`, from a `begin` on, and by `guests`. `place` is that of the
    first instruction in the order in which XLA visits them. If the output `reads` the argument that it is written over,
    there is no time between.
    """

    def __init__(self, facts: Facts, output: Output, place: int, size_bytes: int) -> None:
        self.output, self.place = output, place
        self.size, self.end, self.last_read = size_bytes, float(NONE), NONE
        self.begin = output.output_time if output.is_moved else output.begin_step
        self.guests, self.reads = list[_Guest](), False
        if output.argument != NONE:
            self.size = facts.size[output.argument]
            # Once it may be written, most copies of it are no longer needed.
            last_own, behind = _last_read(facts, output.argument), facts.reads_behind_copies(output.argument)
            self.last_read = max((last_own, *(read.step for read in behind)))
            # At the step that writes in place, both share the bytes.
            last = output.output_time if output.is_moved else output.begin_step - 1
            self.end = output.copy_time if output.is_copied else min(last, self.last_read)
            self.reads = not output.is_copied and last_own > last

    def is_free(self, guest: _Guest) -> bool:
        """Whether there is place for something. It may be computed in place, as may the output."""
        if self.reads:
            return False
        is_after = self.end < guest.start or (self.end == guest.start and self.output.argument in guest.above)
        is_before = guest.end < self.begin or (guest.end == self.begin and self.output.value in guest.below)
        if not (is_after and is_before):
            return False
        return all(other.end < guest.start or guest.end < other.start for other in self.guests)

    def added(self, moved_outputs: Collection[int]) -> tuple[Piece, ...]:
        """What counts as live here. Other guests do so where they are today, in the buffers of outputs."""
        guests = (guest for guest in self.guests if guest.is_temporary or guest.is_new(moved_outputs))
        return tuple(guest.piece for guest in guests)


class _Assignment:
    """The buffers of outputs, and what needs a place beside these."""

    def __init__(
        self, facts: Facts, writers: Writers, outputs: Sequence[Output], sizes: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        self._facts, self._writers, self._places = facts, writers, post_order(writers.module)
        self.buffers = [
            _Buffer(facts, output, self._first_place(output), sizes.get(output.value, facts.size[output.value]))
            for output in outputs
        ]
        # Small ones change nothing, and are many.
        self._least_bytes = facts.space.peak_live_bytes // SMALLEST_SHARE
        self._beginning_at, self._ending_at = dict[int, list[Output]](), dict[float, list[int]]()
        for buffer in self.buffers:
            if buffer.output.begin != NONE and not buffer.output.is_moved:
                self._beginning_at.setdefault(buffer.output.begin_step, []).append(buffer.output)
            if not buffer.output.is_copied:
                self._ending_at.setdefault(buffer.end, []).append(buffer.output.argument)
        self._moved_outputs = {buffer.output.value for buffer in self.buffers if buffer.output.is_moved}
        copied = [buffer.output for buffer in self.buffers if buffer.output.is_copied]
        # What reads copies runs after all of them, where XLA runs what is ready first.
        is_queue = queued_behind(writers.module, ()) is not None
        last_copy = max((output.copy_time for output in copied if is_queue), default=0.0)
        self._behind_copies = (last_copy + ceil(last_copy)) / 2
        self._reads_copies = {read.name for output in copied for read in facts.reads(output.argument)}

    def effects(self, *, has_temporaries: bool) -> Iterator[Effect]:
        """Yield the effects on the arguments, the outputs, and what was in the buffers of these. Temporaries stay where
        they are unless `has_temporaries`.
        """
        temporaries = [*self._temporaries()] if has_temporaries else []
        left = self._left_after_placing([*self._guests(), *self._copies(), *temporaries])
        yield Effect(NONE, tuple(guest.piece for guest in left if not guest.values))
        yield from (effect for guest in left for effect in self.moved(guest))
        stay = {guest.values for guest in left}
        placed = (value for guest in temporaries if guest.values not in stay for value in guest.values)
        yield from (Effect(value, is_aside=True) for value in placed)
        moved = {guest.values[0]: guest.piece._replace(moved_to=NONE) for guest in left if guest.values}
        for buffer in self.buffers:
            if buffer.output.argument == NONE:
                yield from self._stored(buffer)
            else:
                yield from self._overwritten(buffer, moved.get(buffer.output.value))

    def assign(self) -> list[_Guest]:
        """Put what is in the buffers of outputs today into them anew, and return what finds no place."""
        return self._left_after_placing([*self._guests()])

    def moved(self, guest: _Guest, allocation: int = NONE) -> Iterator[Effect]:
        """Yield the effects on the values of a guest that move to the buffer of an output. Without one, they become
        temporaries.
        """
        if guest.is_temporary or guest.is_new(self._moved_outputs):
            return
        starts = (self._facts.start[value] for value in guest.values[1:])
        # Each is computed from the one before it in the same bytes.
        ends = [*(start - 1 for start in starts), floor(guest.end)]
        for value, end in zip(guest.values, ends, strict=True):
            piece = self._facts.piece(value, self._facts.start[value], end)
            yield Effect(value, (piece._replace(moved_to=allocation),), is_aside=True)

    def _stored(self, buffer: _Buffer) -> Iterator[Effect]:
        """The effect on an output in a buffer of its own in which something else finds a place."""
        value, added = buffer.output.value, buffer.added(self._moved_outputs)
        if added:
            whole = self._facts.piece(value, self._facts.start[value], self._facts.end[value])
            yield Effect(value, (*added, whole), is_aside=True)

    def _overwritten(self, buffer: _Buffer, computed: Piece | None) -> Iterator[Effect]:
        """The effects on an argument, and on the output that is written over it. That is `computed` before in new
        bytes, None if it is computed in those of the argument or of others.
        """
        facts, output, value, argument = self._facts, buffer.output, buffer.output.value, buffer.output.argument
        own = facts.piece(argument, facts.start[argument], floor(buffer.end))
        pieces = (own, *buffer.added(self._moved_outputs))
        yield Effect(argument, pieces, outputs=(facts.dump.values.allocation.item(value),))
        gone = self._initial_copies(output)
        if output.is_moved:
            gone = output.parts - {value}
            copied = facts.piece(value, ceil(output.output_time), facts.end[value])
            yield Effect(value, (computed, copied) if computed else (copied,), is_aside=True)
        yield from (Effect(each, is_aside=True) for each in sorted(gone))

    # ------------------------------------------------------------ what needs a place

    def _guests(self) -> Iterator[_Guest]:
        """Yield what is in the buffers of outputs today, and outputs that are computed elsewhere."""
        for buffer in self.buffers:
            output = buffer.output
            if output.is_moved:
                end = max(_last_read(self._facts, output.value), output.output_time)
                below, place = self._computed_from(output.value), self._places.get(output.begin, NONE)
                yield _Guest((output.value,), buffer.size, output.begin_step, end, place, below)
            others = {*self._facts.in_buffer_of(output.value)}.difference(output.parts, self._initial_copies(output))
            for group in self._groups(others):
                guest = self._guest(group, others)
                yield guest._replace(below=guest.below | {output.value})

    def _temporaries(self) -> Iterator[_Guest]:
        """Yield the temporaries, which may find a place in the buffers of arguments."""
        facts, offset = self._facts, self._facts.dump.values.offset
        groups = dict[tuple[int, int], set[int]]()
        for value in facts.candidates:
            if facts.kind[value] & Kind.PREALLOCATED_TEMP and facts.size[value] >= self._least_bytes:
                place = facts.dump.values.allocation.item(value), offset.item(value)
                groups.setdefault(place, set()).add(value)
        for values in groups.values():
            yield from (self._guest(group, values)._replace(is_temporary=True) for group in self._groups(values))

    def _guest(self, values: Sequence[int], others: Collection[int]) -> _Guest:
        """Values in the bytes of some others, each in those of the one before it."""
        facts, first, last = self._facts, values[0], values[-1]
        start, end, size = facts.start[first], facts.end[last], facts.size[last]
        # The next one is computed in place.
        is_followed = any(facts.start[other] == end for other in others) and end > facts.start[last]
        begin, end_before = float(start), end - 0.5 * is_followed
        if size < self._least_bytes:
            return _Guest(tuple(values), size, begin, end_before, NONE)
        if facts.name[first] in self._reads_copies:
            begin = max(begin, self._behind_copies)
        row = row_of(facts, self._writers, first)
        above = {each for each in self._ending_at.get(start, ()) if self._is_in_place(row, each)}
        below, place = self._computed_from(last), self._places.get(entry_row(self._writers, row), NONE)
        return _Guest(tuple(values), size, begin, end_before, place, below, frozenset(above))

    def _copies(self) -> Iterator[_Guest]:
        """Yield the copies of arguments."""
        outputs = {buffer.output.value for buffer in self.buffers if buffer.output.argument == NONE}
        for buffer in self.buffers:
            argument, time = buffer.output.argument, buffer.output.copy_time
            # What is returned as another output, too, is a copy already.
            if buffer.output.is_copied and outputs.isdisjoint(self._facts.copies_of(argument)):
                below = self._computed_from(argument)
                yield _Guest((), buffer.size, time, max(buffer.last_read, time), buffer.place + 0.5, below)

    def _groups(self, values: Collection[int]) -> list[list[int]]:
        """Values in a buffer by their start, with those that a loop carries in it together."""
        facts, groups = self._facts, list[list[int]]()
        for value in sorted(values, key=facts.start.__getitem__):
            before = groups[-1][-1] if groups else NONE
            is_next = before != NONE and facts.end[before] == facts.start[value]
            is_next = is_next and facts.size[before] == facts.size[value]
            if is_next and self._is_carried(value):
                groups[-1].append(value)
            else:
                groups.append([value])
        return groups

    def _is_carried(self, value: int) -> bool:
        """Whether a loop or a branch computes a value."""
        row = entry_row(self._writers, row_of(self._facts, self._writers, value))
        return row == NONE or self._writers.read(row).own.opcode in (b"while", b"conditional", b"call")

    def _computed_from(self, value: int) -> frozenset[int]:
        """The outputs that may be computed in place of a value, by what reads it last."""
        outputs = self._beginning_at.get(_last_read(self._facts, value), ())
        return frozenset(output.value for output in outputs if self._is_in_place(output.begin, value))

    def _is_in_place(self, row: int, value: int) -> bool:
        return NONE not in (row, value) and may_overwrite(self._facts, self._writers, row, value)

    def _initial_copies(self, output: Output) -> frozenset[int]:
        """The copies of an argument in the buffer of the output that is written over it: what a loop begins with, which
        needs none then.
        """
        if output.argument == NONE:
            return frozenset()
        allocation = self._facts.dump.values.allocation
        copies = self._facts.copies_of(output.argument)
        return frozenset(copy for copy in copies if allocation[copy] == allocation[output.value]) - {output.value}

    def _first_place(self, output: Output) -> int:
        """The place of the first instruction whose result is in the buffer of an output."""
        argument = output.argument
        row = row_of(self._facts, self._writers, argument) if argument != NONE else output.begin
        return self._places.get(row, NONE)

    # ------------------------------------------------------------ places

    def _left_after_placing(self, guests: Sequence[_Guest]) -> list[_Guest]:
        """Put guests into buffers that are free, the largest first, and return those that find no place. Of buffers of
        a size, XLA tries the last first.
        """
        buffers = sorted(self.buffers, key=lambda buffer: (buffer.size, -buffer.place))
        sizes, left = [buffer.size for buffer in buffers], list[_Guest]()
        for guest in sorted(guests, key=lambda guest: (-guest.size, guest.place, guest.start)):
            fitting = buffers[bisect_left(sizes, guest.size) :] if guest.size >= self._least_bytes else []
            free = next((buffer for buffer in fitting if buffer.is_free(guest)), None)
            if free:
                free.guests.append(guest)
            else:
                left.append(guest)
        return left


def _last_read(facts: Facts, value: int) -> int:
    """The last step that reads a value, its first one if nothing does."""
    return max((read.step for read in facts.reads(value)), default=facts.start[value])
