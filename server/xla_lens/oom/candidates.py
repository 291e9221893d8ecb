"""Out-of-memory messages joined with dumps: which dump a message is about, and which values and sums it names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.needed import kind_bytes, program_bytes
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.syntax.oom_messages import DumpSum, MatchedBy, OomBuffer, OomFact, OomKind, OomMessage


class OomJoin(Struct, frozen=True, eq=False):
    """A message joined with a dump. `sums` are in bytes, with their bound."""

    message: OomMessage
    color: int
    sums: Mapping[DumpSum, tuple[int, Bound]]
    facts: tuple[OomFact, ...]
    buffers: tuple[OomBuffer, ...]

    @property
    def found_names(self) -> int:
        """How many listed buffers the dump has by their names and sizes."""
        return sum(buffer.matched_by is MatchedBy.NAME and not buffer.is_other_size for buffer in self.buffers)

    @property
    def has_name(self) -> bool:
        """Whether the dump has a listed buffer by its name, of any size."""
        return any(buffer.matched_by is MatchedBy.NAME for buffer in self.buffers)

    @property
    def has_number(self) -> bool:
        """Whether a total in the message is a total of the dump."""
        return any(_TOTALS.intersection(fact.equals) for fact in self.facts)

    @property
    def is_refuted(self) -> bool:
        """Whether the dump is of another run: all sums that the message names are far from those of the dump, and it
        has none of the listed buffers.
        """
        named = [fact for fact in self.facts if fact.size and fact.meant in self.sums]
        return bool(named) and all(map(self._is_far, named)) and not self.has_name

    def _is_far(self, fact: OomFact) -> bool:
        if fact.equals or not fact.meant or not fact.size:
            return False
        size_bytes, bound = self.sums[fact.meant]
        is_far = fact.size.most_bytes * _FAR < size_bytes or size_bytes * _FAR < fact.size.least_bytes
        return bound is Bound.EXACT and is_far


_FAR: Final = 2
"""The ratio from which sizes are those of different runs, and not only of another attempt of the compiler."""

_TOTALS: Final = frozenset({DumpSum.RESERVED, DumpSum.TEMPORARIES, DumpSum.PROGRAM, DumpSum.PEAK})

_COLORS: Final = {"vmem": 1, "sflag": 2, "cmem": 3, "smem": 4, "host": 5}
"""The colors of the memory spaces that libtpu names; others are in the device's memory."""

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
    facts = tuple(replace(fact, equals=_equals(fact, sums), meant=_MEANT.get(fact.name)) for fact in _facts(message))
    return OomJoin(message, color, sums, facts, tuple(_found(buffer, analysis.dump) for buffer in message.buffers))


# ---------------------------------------------------------------- numbers


def _facts(message: OomMessage) -> Iterator[OomFact]:
    if message.kind in _NEED_IS_SUM and message.needed:
        yield OomFact(None, "Used" if message.kind is OomKind.COMPILE else "requested", message.needed)
    yield from message.facts


def _sums(analysis: Analysis, color: int) -> dict[DumpSum, tuple[int, Bound]]:
    dump, space = analysis.dump, analysis.memory.space(color)
    if space is None:
        return {}
    program = program_bytes(dump, color)
    sizes = {
        DumpSum.RESERVED: space.reserved_bytes,
        DumpSum.TEMPORARIES: program.temporary_bytes,
        DumpSum.PARAMETERS: program.argument_bytes,
        DumpSum.PROGRAM: space.reserved_bytes - program.argument_bytes,
        DumpSum.OUTPUTS: program.output_bytes,
        DumpSum.CONSTANTS: kind_bytes(dump, color, Kind.CONSTANT),
    }
    sums = {name: (size_bytes, space.reserved_bound) for name, size_bytes in sizes.items()}
    return sums | {DumpSum.PEAK: (space.peak_live_bytes, space.live_bound)}


def _equals(fact: OomFact, sums: Mapping[DumpSum, tuple[int, Bound]]) -> tuple[DumpSum, ...]:
    exact = ((name, size_bytes) for name, (size_bytes, bound) in sums.items() if size_bytes and bound is Bound.EXACT)
    return tuple(name for name, size_bytes in exact if fact.size and fact.size.may_be(size_bytes))


# ---------------------------------------------------------------- buffers


def _found(buffer: OomBuffer, dump: DumpSet) -> OomBuffer:
    """A buffer with the values that it may be."""
    # The messages of GPUs have no layouts.
    shape = without_layout(buffer.shape.encode()) if buffer.shape else None
    sizes, size = dump.values.size_bytes, buffer.size
    fits = (sizes >= size.least_bytes) & (sizes <= size.most_bytes) if size else np.ones(len(sizes), bool)

    def has_shape(value: int) -> bool:
        return without_layout(dump.shape(value) or b"") == shape

    if buffer.name:
        number = dump.name_number(buffer.name.encode())
        named = np.flatnonzero(dump.values.name == number).tolist() if number != NONE else []
        # All elements of a tuple have the name of the instruction.
        values = _preferred(_preferred(named, has_shape), fits.item)
        by, is_other_size = MatchedBy.NAME, not all(fits[value] for value in values)
        return replace(buffer, values=tuple(values), matched_by=by if values else None, is_other_size=is_other_size)
    alike = [*filter(has_shape, np.flatnonzero(fits & (dump.values.slice != NONE)).tolist())] if shape else []
    if buffer.is_parameter:
        kinds = dump.allocations.kind
        alike = [value for value in alike if kinds[dump.values.allocation[value]] & int(Kind.PARAMETER)]
    quoted = {value: instruction for value in alike if (instruction := dump.instruction(dump.name_of(value)))}
    opcode = (buffer.opcode or "").encode()
    alike = _preferred(alike, lambda value: value in quoted and quoted[value].opcode == opcode)
    same_op = [
        value for value in alike if buffer.op_name and value in quoted and quoted[value].op_name == buffer.op_name
    ]
    by = MatchedBy.OP_NAME if same_op else MatchedBy.SHAPE
    return replace(buffer, values=tuple(same_op or alike), matched_by=by if alike else None)


def _preferred(values: list[int], is_preferred: Callable[[int], bool]) -> list[int]:
    return [*filter(is_preferred, values)] or values


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


class Candidate(Struct, frozen=True, eq=False):
    """A dump that a message may be about: the name of its module, None if unknown, the paths of its files, and a
    function that loads it.
    """

    module: str | None
    files: Mapping[FileKind, str]
    load: Callable[[], Analysis]


class Choice(Struct, frozen=True, eq=False):
    """The dump of a message, which is one of `count` that may be of its module."""

    candidate: Candidate
    analysis: Analysis
    join: OomJoin
    by: ChosenBy
    count: int


MOST_CHOICES: Final = 20


def choose_dumps(messages: Sequence[OomMessage], candidates: Sequence[Candidate]) -> dict[OomMessage, Choice]:
    """Return the dump of each message for which a candidate fits. Loads only candidates that may fit, each once.

    Of more than `MOST_CHOICES` messages, only the first failures get a dump.
    """
    best: dict[OomMessage, Choice] = {}
    first = sorted(messages, key=lambda message: not message.is_failure)[:MOST_CHOICES]
    fitting = {
        message: [each_candidate for each_candidate in candidates if _may_fit(message, each_candidate, candidates)]
        for message in first
    }
    for candidate in candidates:
        wanted = [message for message, fits in fitting.items() if candidate in fits]
        if not wanted:
            continue
        analysis = candidate.load()
        for message in wanted:
            join, count = join_oom(message, analysis), len(fitting[message])
            if by := _chosen_by(join, candidate, count, is_only=len(candidates) == 1):
                choice = Choice(candidate, analysis, join, by, count)
                best[message] = max(best.get(message, choice), choice, key=_rank)
    return best


def _rank(choice: Choice) -> tuple[int, bool, int]:
    reserved, _ = choice.join.sums.get(DumpSum.RESERVED, (0, Bound.EXACT))
    return choice.join.found_names, choice.join.has_number, reserved


def _may_fit(message: OomMessage, candidate: Candidate, candidates: Sequence[Candidate]) -> bool:
    return message.module in (None, candidate.module) or (candidate.module is None and len(candidates) == 1)


def _chosen_by(join: OomJoin, candidate: Candidate, count: int, *, is_only: bool) -> ChosenBy | None:
    is_named = join.message.module is not None and join.message.module == candidate.module
    named = sum(buffer.name is not None for buffer in join.message.buffers)
    reasons = {
        ChosenBy.MODULE: is_named and count == 1,
        ChosenBy.BUFFERS: named and 2 * join.found_names >= named,
        ChosenBy.NUMBER: join.has_number and not join.is_refuted,
        ChosenBy.BIGGEST: is_named,
        # The same program may have been compiled with other sizes.
        ChosenBy.ONLY: is_only and not join.is_refuted and (not named or join.has_name),
    }
    return next((by for by, is_reason in reasons.items() if is_reason), None)
