"""Out-of-memory messages joined with dumps: which dump a message is about, and which values and sums it names."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.oom import OomBuffer, OomFact, OomKind, OomMessage, PrintedSize


class DumpSum(StrEnum):
    """A sum over the allocations of a memory space, or its peak. A program is everything but its parameters."""

    RESERVED = "reserved"
    TEMPORARIES = "temporaries"
    PARAMETERS = "parameters"
    PROGRAM = "program"
    OUTPUTS = "outputs"
    CONSTANTS = "constants"
    PEAK = "peak"


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A number of a message. `equals` are the sums of the dump that it may be, within the rounding of the message.
    `meant` is the sum that its name stands for, None if the name stands for none.
    """

    fact: OomFact
    equals: tuple[DumpSum, ...] = ()
    meant: DumpSum | None = None

    @property
    def is_misnamed(self) -> bool:
        """Whether the number is another sum than the one that its name stands for."""
        return self.meant is not None and bool(self.equals) and self.meant not in self.equals


class MatchedBy(StrEnum):
    """How a listed buffer was found in the dump: by its name, or by its shape and size, with or without its op_name."""

    NAME = "name"
    OP_NAME = "op_name"
    SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class BufferMatch:
    """A buffer that a message lists. `values` are the rows of `DumpSet.values` that it may be; where there are several,
    the message does not tell them apart. `is_other_size` is whether the dump has the name, but with another size.
    """

    buffer: OomBuffer
    values: tuple[int, ...] = ()
    by: MatchedBy | None = None
    is_other_size: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OomJoin:
    """A message joined with a dump, or without one. `sums` are in bytes, with their bound."""

    message: OomMessage
    color: int
    sums: Mapping[DumpSum, tuple[int, Bound]]
    facts: tuple[FactMatch, ...]
    buffers: tuple[BufferMatch, ...]

    @property
    def found_names(self) -> int:
        """How many listed buffers the dump has by their names and sizes."""
        return sum(match.by is MatchedBy.NAME and not match.is_other_size for match in self.buffers)

    @property
    def has_name(self) -> bool:
        """Whether the dump has a listed buffer by its name, of any size."""
        return any(match.by is MatchedBy.NAME for match in self.buffers)

    @property
    def has_number(self) -> bool:
        """Whether a total in the message is a total of the dump."""
        return any(_TOTALS.intersection(match.equals) for match in self.facts)

    @property
    def is_refuted(self) -> bool:
        """Whether the dump is of another run: all sums that the message names are far from those of the dump, and it
        has none of the listed buffers.
        """
        known = [
            not match.equals and _is_far(match.fact.size, *self.sums[match.meant])
            for match in self.facts
            if match.meant and match.meant in self.sums and match.fact.size
        ]
        return bool(known) and all(known) and not self.has_name


_FAR: Final = 2
"""The ratio from which sizes are those of different runs, and not only of another attempt of the compiler."""


def _is_far(size: PrintedSize, size_bytes: int, bound: Bound) -> bool:
    is_far = size.end_bytes * _FAR < size_bytes or size_bytes * _FAR < size.least_bytes
    return bound is Bound.EXACT and is_far


_TOTALS: Final = frozenset({DumpSum.RESERVED, DumpSum.TEMPORARIES, DumpSum.PROGRAM, DumpSum.PEAK})

_COLORS: Final = {"vmem": 1, "smem": 2, "host": 5}

_MEANT: Final = {
    "Used": DumpSum.RESERVED,
    "HLO temporaries": DumpSum.TEMPORARIES,
    "HLO temp": DumpSum.TEMPORARIES,
    "program": DumpSum.PROGRAM,
    "Program hbm requirement": DumpSum.PROGRAM,
    "arguments": DumpSum.PARAMETERS,
    "parameter allocation": DumpSum.PARAMETERS,
    "constant allocation": DumpSum.CONSTANTS,
    "maybe_live_out allocation": DumpSum.OUTPUTS,
    "preallocated temp allocation": DumpSum.TEMPORARIES,
    "total allocation": DumpSum.RESERVED,
}
"""What the names of numbers in messages stand for."""

_NEED_IS_SUM: Final = (OomKind.COMPILE, OomKind.LOAD_PROGRAM, OomKind.ALLOCATE)
"""The kinds whose sentence gives a need without a name. On GPUs, a failed request is often that of all temporaries."""


def join_oom(message: OomMessage, analysis: Analysis) -> OomJoin:
    """Join a message with the dump of its module."""
    color = _COLORS.get(message.space or "", DEFAULT_COLOR)
    sums = _sums(analysis, color)
    by_shape = cache(partial(_values_by_shape, analysis.dump))
    return OomJoin(
        message,
        color,
        sums,
        tuple(_fact_match(fact, sums) for fact in _facts(message)),
        tuple(_buffer_match(analysis.dump, by_shape, buffer) for buffer in message.buffers),
    )


def unjoined(message: OomMessage) -> OomJoin:
    """Return a message without a dump."""
    facts, buffers = map(FactMatch, message.facts), map(BufferMatch, message.buffers)
    return OomJoin(message, DEFAULT_COLOR, {}, tuple(facts), tuple(buffers))


# ---------------------------------------------------------------- numbers


def _facts(message: OomMessage) -> Iterable[OomFact]:
    if message.kind in _NEED_IS_SUM and message.needed:
        yield OomFact("", "Used" if message.kind is OomKind.COMPILE else "requested", message.needed)
    yield from message.facts


def _sums(analysis: Analysis, color: int) -> dict[DumpSum, tuple[int, Bound]]:
    allocations, space = analysis.dump.allocations, analysis.memory.space(color)
    if space is None:
        return {}
    own, reserved = allocations.color == color, (space.reserved_bytes, space.reserved_bound)
    kinds = {
        DumpSum.TEMPORARIES: Kind.PREALLOCATED_TEMP,
        DumpSum.PARAMETERS: Kind.PARAMETER,
        DumpSum.OUTPUTS: Kind.MAYBE_LIVE_OUT,
        DumpSum.CONSTANTS: Kind.CONSTANT,
    }
    totals = {
        name: (int(allocations.size_bytes[own & ((allocations.kind & int(kind)) != 0)].sum()), space.reserved_bound)
        for name, kind in kinds.items()
    }
    program = space.reserved_bytes - totals[DumpSum.PARAMETERS][0], space.reserved_bound
    peak = space.peak_live_bytes, space.live_bound
    found = {DumpSum.RESERVED: reserved, DumpSum.PROGRAM: program, **totals, DumpSum.PEAK: peak}
    return {name: found[name] for name in DumpSum}


def _fact_match(fact: OomFact, sums: Mapping[DumpSum, tuple[int, Bound]]) -> FactMatch:
    size, exact = fact.size, {name: size_bytes for name, (size_bytes, bound) in sums.items() if bound is Bound.EXACT}
    equals = (name for name, size_bytes in exact.items() if size and size_bytes and size.may_be(size_bytes))
    return FactMatch(fact, tuple(equals), _MEANT.get(fact.name))


# ---------------------------------------------------------------- buffers


_ByShape: TypeAlias = Callable[[], Mapping[bytes, Sequence[int]]]


def _buffer_match(dump: DumpSet, by_shape: _ByShape, buffer: OomBuffer) -> BufferMatch:
    shape = _without_layout(buffer.shape.encode()) if buffer.shape else None

    def has_size(value: int) -> bool:
        return buffer.size is None or buffer.size.may_be(int(dump.values.size_bytes[value]))

    if buffer.name:
        number = dump.name_number(buffer.name.encode())
        named = np.flatnonzero(dump.values.name == number).tolist() if number != NONE else []
        # All elements of a tuple have the name of the instruction.
        named = [value for value in named if shape in (None, _without_layout(dump.shape(value) or b""))] or named
        fitting = [value for value in named if has_size(value)]
        is_other_size = bool(named) and not fitting
        return BufferMatch(buffer, tuple(fitting or named), MatchedBy.NAME if named else None, is_other_size)
    alike = [value for value in by_shape().get(shape, ()) if has_size(value)] if shape else []
    if buffer.is_parameter:
        kinds = dump.allocations.kind
        alike = [value for value in alike if kinds[dump.values.allocation[value]] & int(Kind.PARAMETER)]
    instructions = {value: dump.instruction(int(dump.values.name[value])) for value in alike}
    opcode = buffer.opcode.encode() if buffer.opcode else None
    alike = [value for value, one in instructions.items() if one and one.opcode == opcode] or alike
    ops = {value: one.op_name for value, one in instructions.items() if one and one.op_name}
    same_op = [value for value in alike if value in ops and ops[value] == buffer.op_name]
    by = MatchedBy.OP_NAME if same_op else MatchedBy.SHAPE
    return BufferMatch(buffer, tuple(same_op or alike), by if alike else None)


def _values_by_shape(dump: DumpSet) -> dict[bytes, list[int]]:
    """The values with each shape; the messages of GPUs have shapes without layouts."""
    found: dict[bytes, list[int]] = {}
    for value in np.flatnonzero(dump.values.slice != NONE).tolist():
        found.setdefault(_without_layout(dump.shape(value) or b""), []).append(value)
    return found


def _without_layout(shape: bytes) -> bytes:
    return _LAYOUT.sub(b"", shape)


_LAYOUT: Final = re.compile(rb"\{[^{}]*\}")


# ---------------------------------------------------------------- which dump


class ChosenBy(StrEnum):
    """Why a dump is that of a message: it is the only one of the module that the message names; it has the most of the
    listed buffers; a total in the message is a total of the dump; of the dumps of the module, it reserves the most; or
    it is the only dump, and the message neither confirms nor contradicts it.
    """

    MODULE = "module"
    BUFFERS = "buffers"
    NUMBER = "number"
    BIGGEST = "biggest"
    ONLY = "only"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A dump that a message may be about: the name of its module, None if unknown, and a function that loads it."""

    module: str | None
    load: Callable[[], Analysis]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The dump of a message: its place among the candidates, and of how many with the module's name."""

    place: int
    analysis: Analysis
    join: OomJoin
    by: ChosenBy
    count: int

    @property
    def rank(self) -> tuple[int, bool, int]:
        """What the best of several dumps has the most of."""
        reserved, _ = self.join.sums.get(DumpSum.RESERVED, (0, Bound.EXACT))
        return self.join.found_names, self.join.has_number, reserved


MOST_CHOICES: Final = 20


def choose_dumps(messages: Sequence[OomMessage], candidates: Sequence[Candidate]) -> tuple[Choice | None, ...]:
    """Return the dump of each message, None where no candidate fits. Loads only candidates that may fit, each once.

    Of more than `MOST_CHOICES` messages, only the first failures get a dump.
    """
    order = sorted(range(len(messages)), key=lambda number: not messages[number].is_failure)[:MOST_CHOICES]
    best: dict[int, Choice] = {}
    fits = [[_is_module(message, one, len(candidates)) for one in candidates] for message in messages]
    for place, candidate in enumerate(candidates):
        wanted = [number for number in order if fits[number][place]]
        analysis = candidate.load() if wanted else None
        for number in wanted if analysis else ():
            assert analysis
            join, count = join_oom(messages[number], analysis), sum(fits[number])
            if by := _chosen_by(join, candidate.module, count, len(candidates)):
                choice = Choice(place, analysis, join, by, count)
                best[number] = max(best.get(number, choice), choice, key=lambda one: one.rank)
    return tuple(map(best.get, range(len(messages))))


def _is_module(message: OomMessage, candidate: Candidate, count: int) -> bool:
    unknown = message.module is None or (candidate.module is None and count == 1)
    return unknown or message.module == candidate.module


def _chosen_by(join: OomJoin, module: str | None, fitting: int, count: int) -> ChosenBy | None:
    is_named = join.message.module is not None and join.message.module == module
    named = sum(buffer.name is not None for buffer in join.message.buffers)
    reasons = {
        ChosenBy.MODULE: is_named and fitting == 1,
        ChosenBy.BUFFERS: bool(named) and 2 * join.found_names >= named,
        ChosenBy.NUMBER: join.has_number and not join.is_refuted,
        ChosenBy.BIGGEST: is_named,
        # The same program may have been compiled with other sizes.
        ChosenBy.ONLY: count == 1 and not join.is_refuted and (not named or join.has_name),
    }
    return next((by for by, is_reason in reasons.items() if is_reason), None)
