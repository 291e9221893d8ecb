"""What reads the content of an argument, behind all that only passes it on."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from xla_lens.advice.facts import Facts
from xla_lens.advice.stacks import fused_parameters, reading_operands
from xla_lens.model.attribution.writers import Writers
from xla_lens.syntax.columns import NONE, Kind, Rows
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape

IsLast: TypeAlias = Callable[[int, Sequence[int]], bool]
"""Whether an instruction, a row of the module, is one of those looked for, by the numbers of the operands that have the
content.
"""


class Content(NamedTuple):
    """Where the content of an argument is, the argument first, and what the instructions define that read it last. Both
    are rows of `DumpSet.values`.
    """

    values: Rows
    made: Rows


def content_of(facts: Facts, writers: Writers, argument: int, is_last: IsLast) -> Content | None:
    """Return where the content of an argument is if only some instructions compute with it. None if others do, or if
    nothing does.
    """
    return _Search(facts, writers, argument, is_last).content()


class _Search:
    """Follows the content of an argument to all that computes with it."""

    def __init__(self, facts: Facts, writers: Writers, argument: int, is_last: IsLast) -> None:
        self._facts, self._writers, self._argument, self._is_last = facts, writers, argument, is_last
        shape = shape_of(facts, argument)
        self._type = shape.type if shape else ""
        self._is_read, self._left = False, _MOST_FUSIONS

    def content(self) -> Content | None:
        facts, waiting, made_last = self._facts, [self._argument], list[int]()
        for value in waiting:
            if value != self._argument and facts.kind[value] & (Kind.MAYBE_LIVE_OUT | Kind.PARAMETER):
                return None
            for _, name in facts.reads(value):
                numbers, row = facts.operand_numbers(name, value), self._writers.module.row_of(facts.dump.names[name])
                # Loops and the ends of asynchronous operations only have it in a tuple.
                if not numbers and not self._is_changed_by(name, value):
                    continue
                passes_on = self._passes_on(row, numbers) if row != NONE else None
                if passes_on is None or len(waiting) > _MOST_VALUES:
                    return None
                made = facts.defined_by(name)
                if passes_on:
                    waiting += [each for each in made if each not in waiting and self._is_alike(each)]
                else:
                    made_last += made
        return Content(tuple(waiting), tuple(made_last)) if self._is_read else None

    def _is_alike(self, value: int) -> bool:
        """Whether a value has the type of the argument."""
        shape = shape_of(self._facts, value)
        return shape is not None and shape.type == self._type

    def _is_changed_by(self, loop: int, value: int) -> bool:
        """Whether what reads a value is a loop that carries it as something that its iterations change."""
        dump, facts = self._facts.dump, self._facts
        uses = dump.uses_of(dump.values.used_value.item(value))
        indices = {dump.uses.index.item(row) for row in uses if dump.uses.name.item(row) == loop}
        return any(dump.values.index.item(each) in indices for each in facts.defined_by(loop))

    def _passes_on(self, row: int, numbers: Sequence[int]) -> bool | None:
        """Whether an instruction passes some of its operands on as they are. None if it computes with them."""
        if self._is_last(row, numbers):
            self._is_read = True
            return False
        read = self._writers.read(row)
        if read.own.opcode in (b"fusion", b"async-start"):
            found = [self._passes_on_within(parameter) for parameter in fused_parameters(self._writers, row, numbers)]
            return None if None in found or not found else any(found)
        # A TPU copies slices to VMEM, and joins them there.
        is_joined = read.own.opcode == b"custom-call" and not read.metadata.get("op_name")
        return True if is_joined or (read.own.opcode in _MOVING and {*numbers} == {0}) else None

    def _passes_on_within(self, parameter: int) -> bool | None:
        """The same for the parameter of a fusion."""
        # In a damaged module, a fusion may call itself.
        self._left -= 1
        if self._left < 0:
            return None
        module, waiting = self._writers.module, [parameter]
        root, found = module.root(module.computation_of(parameter)), False
        for row in waiting:
            found |= row == root
            for user, numbers in reading_operands(self._writers, row).items():
                if user == root and self._writers.read(user).own.opcode == b"tuple":
                    found = True
                    continue
                passes_on = self._passes_on(user, numbers)
                if passes_on is None or len(waiting) > _MOST_VALUES:
                    return None
                waiting += [user] if passes_on and user not in waiting else []
        return found


def shape_of(facts: Facts, value: int) -> ArrayShape | None:
    """Return the shape of a value with its layout, None if it is unknown or that of a tuple."""
    text = facts.dump.shape(value)
    return parse_shape(text) if text else None


_MOVING: Final = frozenset(
    b"all-gather bitcast copy copy-start dynamic-slice gather reshape reverse slice transpose".split()
)
"""Opcodes of instructions whose result has elements of their first operand."""

_MOST_FUSIONS: Final = 200
"""Maximum number of fusions that an argument is followed into."""

_MOST_VALUES: Final = 100
"""Maximum number of instructions that pass an argument on."""
