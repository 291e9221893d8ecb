"""What the text at a byte of an HLO module refers to, and what that is in the dump of the same set."""

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from xla_lens.model.hlo.module import CALLED, IN_NAME, HloModule
from xla_lens.model.places.mentions import Instruction, Value, meaning
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import ordered
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.lexical import CALLING_ATTRIBUTES, MAX_NAME_LENGTH, NAME
from xla_lens.text.document import Span
from xla_lens.text.patterns import lazy_pattern


class HloInstruction(Struct, frozen=True):
    """An instruction as a row of `ModuleColumns.instructions`. `index` is the shape index of an element in braces,
    empty for the whole value.
    """

    row: int
    index: bytes = b""


class HloComputation(Struct, frozen=True):
    """A computation as a row of `ModuleColumns.computations`."""

    row: int


HloTarget: TypeAlias = HloInstruction | HloComputation


class HloMention(NamedTuple):
    """A reference at bytes `start` to `end` of a module, including the ``%`` sign, or the definition itself."""

    target: HloTarget
    start: int
    end: int
    is_definition: bool


_WORD: Final = lazy_pattern(rb"%?" + NAME)
_NAME: Final = lazy_pattern(NAME)
_CALLED: Final = lazy_pattern(rb"(?<![a-z_])([a-z_]++)=\{?(?:[^{}=\"]*,)?\s*\Z")


def hlo_mention_at(module: HloModule, offset: int) -> HloMention | None:
    """Return what the text at a byte of a module refers to. An offset right behind a word counts as the word. Text of
    an instruction that is not a name counts as the instruction.
    """
    row = module.instruction_at(offset)
    word = _word(module.data, offset)
    found = _named(module, row, *word) if word else None
    if found is None and row != NONE:
        place = module.place(row)
        return HloMention(HloInstruction(row), place.start, place.end, is_definition=True)
    return found


def _word(data: bytes, offset: int) -> Span | None:
    """The span of the name around a byte, including the ``%`` sign."""
    start = offset
    while start > 0 and offset - start < MAX_NAME_LENGTH and IN_NAME.match(data, start - 1):
        start -= 1
    if (comment := data.rfind(b"*/", start, offset)) >= 0:
        # An operand without a sign follows the comment directly.
        start = comment + len(b"*/")
    if data[start - 1 : start] == b"%":
        start -= 1
    match = _WORD.match(data, start, start + 2 * MAX_NAME_LENGTH)
    return match.span() if match else None


def _named(module: HloModule, row: int, start: int, end: int) -> HloMention | None:
    data, name = module.data, module.data[start:end].removeprefix(b"%")
    if row == NONE:
        computation = module.computation_at(start)
        if computation == NONE or module.computation_place(computation).end != end:
            return None
        return HloMention(HloComputation(computation), start, end, is_definition=True)
    own = module.place(row)
    if own.end == end:
        return HloMention(HloInstruction(row), start, end, is_definition=True)
    if not _is_reference(module, row, start, end):
        return None
    computation = module.computation_rows.row(name)
    if computation != NONE:
        key = _CALLED.search(data, max(own.end, start - MAX_NAME_LENGTH), start)
        if key and key[1] in CALLING_ATTRIBUTES:
            return HloMention(HloComputation(computation), start, end, is_definition=False)
    instruction, index = module.operand(name)
    if instruction != NONE:
        return HloMention(HloInstruction(instruction, index), start, end, is_definition=False)
    return HloMention(HloComputation(computation), start, end, is_definition=False) if computation != NONE else None


def _is_reference(module: HloModule, row: int, start: int, end: int) -> bool:
    """Whether a word may be a name: always with a `%` sign, otherwise unless it is an opcode, a key or in a string."""
    data = module.data
    if data[start : start + 1] == b"%":
        return True
    if data[end : end + 1] in (b"(", b"=") or b'"' in (data[start - 1 : start], data[end : end + 1]):
        return False
    return data.count(b'"', module.span(row)[0], start) % 2 == 0


def definition_place(module: HloModule, target: HloTarget) -> Place:
    """Return the name of an instruction or a computation where it is defined."""
    match target:
        case HloInstruction(row):
            return module.place(row)
        case HloComputation(row):
            return module.computation_place(row)


def references_to(module: HloModule, target: HloTarget) -> Iterator[HloMention]:
    """Yield the references to an instruction, or any element of it, or to a computation, in the order of the text,
    without the definition. Only instructions of the same computation can refer to an instruction.
    """
    span = 0, len(module.data)
    if isinstance(target, HloInstruction):
        span = module.computation_span(module.computation_of(target.row))
    for start in module.words_like(definition_place(module, target), *span):
        use = reference_at(module, start)
        if use and type(use.target) is type(target) and use.target.row == target.row:
            yield use


def computations_called(module: HloModule, computation: int) -> Iterator[HloMention]:
    """Yield the references to computations within a computation, in the order of the text."""
    for attribute in CALLED.finditer(module.data, *module.computation_span(computation)):
        for word in _NAME.finditer(module.data, *attribute.span(attribute.lastindex or 0)):
            use = reference_at(module, word.start())
            if use and isinstance(use.target, HloComputation):
                yield use


def reference_at(module: HloModule, start: int) -> HloMention | None:
    """Return what the name that starts at a byte, behind its sign, refers to; None if it is a definition or no name."""
    word = _WORD.match(module.data, start)
    is_signed = module.data[start - 1 : start] == b"%"
    found = _named(module, module.instruction_at(start), start - is_signed, word.end()) if word else None
    return found if found and not found.is_definition else None


def values_of(dump: DumpSet, name: bytes) -> list[int]:
    """Return the values that an instruction defines or, if it defines none, those whose bytes it shows, in the order of
    their index.
    """
    number = dump.name_number(name)
    if number == NONE:
        return []
    defined = np.flatnonzero(dump.values.name == number)
    if len(defined):
        return [*ordered(defined, dump.values.index).tolist()]
    keys, values = dump.position_map
    first, last = keys.searchsorted((number * len(dump.indices), (number + 1) * len(dump.indices)))
    return list(dict.fromkeys(values[first:last].tolist()))


def defined_bytes(dump: DumpSet) -> Column:
    """Return for each name the bytes of the values that its instruction defines, NONE if no size is known."""
    values = dump.values
    known = np.flatnonzero(values.size_bytes != NONE)
    sizes = np.full(len(dump.names), NONE)
    sizes[values.name[known]] = 0
    np.add.at(sizes, values.name[known], values.size_bytes[known])
    return sizes


def meaning_of(dump: DumpSet, name: bytes, index: bytes) -> Value | Instruction | None:
    """Return what an instruction of a module, or an element of it, is in the dump: the value that it defines or whose
    bytes it shows, else its entry in the schedule, else None.
    """
    return meaning(dump, dump.name_number(name), dump.index_number(index) if index else NONE)
