"""`unrolled-loop`: a Python loop computes independent results, whose buffers are live together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Dimensions, Effect, Facts, dimensions_of
from xla_lens.advice.op_names import folded
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.writers import Writers
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.syntax.columns import NONE

_FEWEST_PARTS: Final = 4
"""A loop of fewer iterations is hardly worth a change."""


def unrolled_loop(facts: Facts) -> Iterator[Effect]:
    """Yield the buffers of independent iterations of a Python loop: of each kind, one is left for as long as any lives.

    Nothing is found in a program with a backward pass, for which a loop would save them all.
    """
    if facts.backward_step is not None:
        return
    groups: dict[object, list[int]] = {}
    for value in facts.candidates:
        if not facts.is_computed(value) or facts.opcode(value) in _NOT_COMPUTED:
            continue
        # A GPU may compute the results of all iterations in one fusion. What else it computes has other sources.
        is_of_several = facts.dump.values.index.item(value) != EMPTY_INDEX
        origin = facts.origins.of_value(value) if is_of_several else facts.origins.of_name(facts.name[value])
        if origin.line and origin.op_name:
            key = facts.dimensions(value), origin.line, folded(origin.op_name), facts.opcode(value), facts.size[value]
            groups.setdefault(key, []).append(value)
    together = [group for group in groups.values() if _are_together(facts, group) and not _are_returned(facts, group)]
    parts = [_independent(facts, group) for group in together if not _is_sum(facts, facts.name[group[0]])]
    # Iterations that depend on each other at one place do so everywhere.
    found = [part for divided in parts for part in divided] if all(parts) else []
    free = [part for part in found if not (_are_joined(facts, part) or _are_in_turn(facts, part))]
    free = [part for part in free if not _are_columns(facts, part)]
    if free and not _have_arguments(facts, free):
        yield from (Effect(value) for part in free for value in part)
        yield Effect(NONE, tuple(_kept(facts, part) for part in free))


def _kept(facts: Facts, part: Sequence[int]) -> Piece:
    """What is left of the values of all iterations: one of them, for as long as any lives."""
    start, end = min(map(facts.start.__getitem__, part)), max(map(facts.end.__getitem__, part))
    return Piece(start, end, facts.size[part[0]])


def _are_together(facts: Facts, group: Sequence[int]) -> bool:
    """Whether at least `_FEWEST_PARTS` of some values are live at once."""
    starts, ends = sorted(map(facts.start.__getitem__, group)), sorted(map(facts.end.__getitem__, group))
    return any(end >= start for start, end in zip(starts[_FEWEST_PARTS - 1 :], ends, strict=False))


def _independent(facts: Facts, group: Sequence[int]) -> list[list[int]]:
    """Some values, divided so that none is computed from another one of its part: a line may compute several in each
    iteration. Nothing if most are in parts of few, as those of layers are.
    """
    parts, rest = list[list[int]](), [*group]
    while len(rest) >= _FEWEST_PARTS:
        names = {facts.name[value] for value in rest}
        last = {name for name in names if not facts.leads_to(name, names)}
        part = [value for value in rest if facts.name[value] in last]
        if len(part) < max(_FEWEST_PARTS, len(group) * _SMALLEST_PART):
            return []
        parts.append(part)
        rest = [value for value in rest if facts.name[value] not in last]
    return parts


def _are_joined(facts: Facts, group: Sequence[int]) -> bool:
    """Whether an instruction reads several of some values, such as one that stacks the results. Sums can be added up
    one by one.
    """
    several = (name for name, count in _readers(facts, group).items() if count > 1)
    return not all(_is_addition(facts, name, group) for name in several)


def _are_in_turn(facts: Facts, group: Sequence[int]) -> bool:
    """Whether what reads some values depends on what reads one of them first, as layers do that read weights in another
    type. Sums can be added up one by one.
    """
    first = min(group, key=lambda value: min((read.step for read in facts.reads(value)), default=facts.end[value]))
    own = {read.name for read in facts.reads(first)}
    readers = _readers(facts, group).items()
    later = {name for name, count in readers if count == 1 and not _is_sum(facts, name)} - own
    return any(facts.leads_to(name, later) for name in own)


def _readers(facts: Facts, group: Sequence[int]) -> Counter[int]:
    """How many of some values each instruction reads."""
    return Counter(name for value in group for name in {read.name for read in facts.reads(value)})


def _is_addition(facts: Facts, name: int, group: Sequence[int]) -> bool:
    """Whether an instruction only adds up what it computes from each of some values."""
    return _is_sum(facts, name) or _adds_up(facts, name, group)


def _adds_up(facts: Facts, name: int, group: Sequence[int]) -> bool:
    """Whether a fusion, which is named after its last instruction, only adds up what it computes from each of its
    operands with the shape of some values.
    """
    writers, shape = facts.origins.writers, facts.dimensions(group[0])
    row = writers.module.row_of(facts.dump.names[name]) if writers else NONE
    if writers is None or row == NONE or writers.read(row).own.opcode != b"fusion":
        return False
    return all(_sum_of(writers, computation, shape, None) for computation in writers.called(row, b"calls"))


def _sum_of(
    writers: Writers, computation: int, shape: Dimensions | None, operands: Sequence[frozenset[int]] | None
) -> frozenset[int]:
    """The operands of a shape that a computation adds up, by their numbers; none if it joins several in another way.
    Those of a computation within another one are computed from `operands` of that.
    """
    found, result = dict[bytes, frozenset[int]](), frozenset[int]()
    for row in writers.module.instructions_of(computation) if computation != NONE else ():
        own, names = writers.read(row).own, writers.read(row).operands
        if own.opcode == b"parameter":
            number = own.parameter_number or 0
            is_of_shape = dimensions_of(own.shape) == shape
            result = operands[number] if operands else frozenset((number,) if is_of_shape else ())
        else:
            parts = [found.get(name, frozenset()) for name in names]
            result = frozenset[int]().union(*parts)
            are_joined = any(part and part != result for part in parts)
            if are_joined and own.opcode == b"fusion":
                result = _sum_of(writers, next(iter(writers.called(row, b"calls")), NONE), shape, parts)
            if are_joined and not (result and own.opcode in (b"add", b"fusion", b"tuple")):
                return frozenset()
        found[own.name] = result
    return result


def _is_sum(facts: Facts, name: int) -> bool:
    """Whether an instruction adds up, by its op_name."""
    return (facts.op_name(name) or "").endswith(_ADDING)


def _are_columns(facts: Facts, group: Sequence[int]) -> bool:
    """Whether values are slices of an array along another dimension than its first one: a loop over these would copy
    all of the array first.
    """
    shape = facts.squeezed(group[0])
    if shape is None or not (facts.op_name(facts.name[group[0]]) or "").endswith(_SLICING):
        return False
    arrays = [other.lengths for value in facts.candidates if (other := facts.squeezed(value))]
    is_of_rows = ((len(group) * shape.lengths[0], *shape.lengths[1:]), (len(group), *shape.lengths))
    return not any(rows[1:] == lengths[1:] and rows[0] <= lengths[0] for rows in is_of_rows for lengths in arrays)


def _have_arguments(facts: Facts, parts: Sequence[Sequence[int]]) -> bool:
    """Whether the iterations read large arguments of their own, such as the weights of different layers: a loop would
    copy all of these into one array first. `parts` are the values of all iterations, those of each kind together.
    """
    readers = {argument: {read.name for read in facts.reads(argument)} for argument in facts.arguments}
    own = set[int]()
    for part in parts:
        names = {facts.name[value] for value in part}
        own.update(argument for argument, read in readers.items() if len(read & names) == 1)
    computed = sum(facts.size[value] for part in parts for value in part)
    return sum(map(facts.size.__getitem__, own)) * _COPIED_PART >= computed


_COPIED_PART: Final = 2
"""Arguments are large if they have at least this part of the bytes of what is computed from them."""


def _are_returned(facts: Facts, group: Sequence[int]) -> bool:
    """Whether the program returns as many arrays as some values are, and not much smaller ones: a loop would stack
    these, and then copy each.
    """
    sizes = Counter(facts.size[output] for output in facts.outputs)
    return any(count >= len(group) and size * _SMALL_PART >= facts.size[group[0]] for size, count in sizes.items())


_SMALL_PART: Final = 8
"""A result is small if what it is computed from has at least this many times its bytes."""

_SMALLEST_PART: Final = 0.25
_ADDING: Final = ("/add", "/add_any", "/reduce_sum")
_SLICING: Final = ("/slice", "/squeeze", "/dynamic_slice", "/gather")
_NOT_COMPUTED: Final = frozenset((b"parameter", b"constant", b"iota", b"while", b"copy-start", b"tuple", None))


def _what(subject: Subject) -> Inlines:
    return ("Run the independent iterations of the Python loop one after another", *subject.in_function)


def _snippet(_subject: Subject) -> str:
    return "results = jax.lax.map(part, inputs)  # in place of the Python loop; jax.lax.fori_loop for a sum"


ROW: Final = RuleRow(rule=Rule.UNROLLED_LOOP, find=unrolled_loop, what=_what, snippet=_snippet)
