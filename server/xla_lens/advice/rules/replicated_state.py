"""`replicated-state`: each of several devices has all of the weights and of the optimizer's state."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.content import content_of
from xla_lens.advice.facts import Dimensions, Effect, Facts, dimensions_of
from xla_lens.advice.op_names import folded, is_backward, is_forward, is_in_checkpoint
from xla_lens.advice.provenance import ADDING_UP, adding_devices
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.rules.microbatches import mostly_convolves
from xla_lens.advice.shrunk_state import shrunk_state
from xla_lens.advice.stacks import callers, depends_on_device
from xla_lens.advice.subject import Subject, listed
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.parameters import root_of
from xla_lens.model.attribution.writers import Position, Writers
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern

_SHARD_MAP: Final = lazy_pattern(r"\bshard_map\b")
_LOOP: Final = lazy_pattern(r"/while/body/")

_MOST: Final = 0.5
"""What part of the state all devices have at least: with tensor parallelism, XLA may choose other shardings for what
the layers compute once the weights are divided further.
"""

_PART_KEPT: Final = 0.75
"""What part of the gathered weights is kept for the backward pass where nothing has them gathered again: in programs
that were compiled, between a half and all of them.
"""

_MATRIX: Final = 2
"""The rank of the weights of a layer."""


def replicated_state(facts: Facts) -> Iterator[Effect]:
    """Yield a part of the weights and of the optimizer's state that all devices have, as they divide the batch and add
    up their gradients, and of the gradients that a loop over layers stacks. The weights of a layer are gathered before
    they are used. Yield also what all devices have of which each reads its own part alone.
    """
    devices = facts.partitions
    if devices > 1:
        yield from _with_own_parts(facts, devices)
    if devices == 1 or facts.backward_step is None or facts.has_op_name(_SHARD_MAP) or mostly_convolves(facts):
        return
    whole = _whole_on_all(facts, devices)
    divisible = [value for value in whole if _is_divisible(facts.dimensions(value), devices)]
    weights = [value for value in divisible if value not in facts.idle_arguments]
    if not weights or _has_experts(facts, weights):
        return
    # Moments that are divided already are smaller than their weights.
    lengths = {facts.shapes_of_arguments[value].lengths for value in weights}
    divided = [value for value in divisible if facts.shapes_of_arguments[value].lengths in lengths]
    effects = tuple(shrunk_state(facts, divided, devices))
    yield from effects
    # On a CPU, gradients may be in the buffers of outputs, and then find other places.
    changed = {effect.value for effect in effects}
    for value, shape in facts.computed.items():
        if shape.lengths in lengths and value not in changed and not is_forward(facts.origins.of_value(value).op_name):
            yield _part(facts, value, devices)
    kept_bytes = sum(facts.size[value] for value in weights if _is_kept_for_backward(facts, value))
    gathered_bytes = max(*map(facts.layer_bytes, weights), int(_PART_KEPT * kept_bytes))
    yield Effect(NONE, (facts.whole_time(gathered_bytes),))


def _with_own_parts(facts: Facts, devices: int) -> Iterator[Effect]:
    """Yield the arguments of which each device only reads its own part, such as moments that were not divided as the
    weights are. What a program updates as a whole is none.
    """
    writers, updated = facts.origins.writers, facts.donated.union(facts.updated.values())
    if writers is None:
        return
    for argument in (value for value in facts.arguments if value not in updated):
        is_own_part = partial(_is_own_part, writers, facts.dimensions(argument), devices)
        if content := content_of(facts, writers, argument, is_own_part):
            yield from (facts.divided(value, devices) for value in content.values)


def _is_own_part(writers: Writers, whole: Dimensions | None, devices: int, row: int, numbers: Sequence[int]) -> bool:
    """Whether an instruction is the part of an array that belongs to the device that computes it."""
    read = writers.read(row)
    if read.own.opcode != b"dynamic-slice" or {*numbers} != {0}:
        return False
    part, inside = dimensions_of(read.own.shape), callers(writers, row)
    if part is None or whole is None or prod(part.lengths) * devices != prod(whole.lengths):
        return False
    places = (writers.operand(Position(row, (), inside), number, ()) for number in range(1, len(read.operands)))
    return any(depends_on_device(writers, place) for place in places if place)


def _is_kept_for_backward(facts: Facts, weight: int) -> bool:
    """Whether gathered weights may be kept until the backward pass reads them: they are, on a TPU or a GPU, unless a
    loop or `jax.checkpoint` has them gathered again.
    """
    if facts.dump.backend is Backend.CPU:
        return False
    readers = {read.name for read in facts.reads_of_content(weight)}
    op_names = [facts.op_name(name) or "" for name in readers]
    is_read = any(is_backward(op_name) and not is_in_checkpoint(op_name) for op_name in op_names)
    return is_read and all(facts.dump.opcode(name) != b"while" for name in readers)


def _part(facts: Facts, value: int, devices: int) -> Effect:
    """What a device has of a gradient or of what the optimizer computes. Without a loop, each device computes all of
    its gradient, which they then add up.
    """
    op_name = facts.origins.of_value(value).op_name or ""
    start, end = facts.start[value], facts.end[value]
    if not is_backward(op_name) or _LOOP.search(op_name) or facts.opcode(value) in ADDING_UP or start == end:
        return facts.divided(value, devices)
    return Effect(value, (facts.piece(value, start, start), Piece(start + 1, end, facts.size[value] // devices)))


def _whole_on_all(facts: Facts, devices: int) -> list[int]:
    """The arguments that the program updates and of which all devices have the whole; none if that is not most of what
    it updates. Of arguments that are alike but for the number of their layer, one tells of all.
    """
    updated = {*facts.updated.values(), *facts.donated}.intersection(facts.arguments)
    alike = dict[object, list[int]]()
    for value in sorted(updated):
        alike.setdefault((facts.dimensions(value), folded(facts.path_of(value))), []).append(value)
    groups = {tuple(group): sum(map(facts.size.__getitem__, group)) for group in alike.values()}
    left, found = _MOST * sum(groups.values()), list[int]()
    for group in sorted(groups, key=groups.__getitem__, reverse=True):
        if adding_devices(facts.origins, facts.new_version(group[0]), devices) == devices:
            found += group
        else:
            left -= groups[group]
            if left < 0:
                return []
    return found


def _has_experts(facts: Facts, weights: Iterable[int]) -> bool:
    """Whether most weights have more dimensions than matrices and their stacks, as those of experts have. XLA may then
    gather the examples, and have each device compute a part of the weights' products.
    """
    rank = _MATRIX + facts.has_op_name(_LOOP)
    shapes = {value: shape for value in weights if (shape := facts.dimensions(value))}
    of_experts = (facts.size[value] for value, shape in shapes.items() if len(shape.lengths) > rank)
    return sum(of_experts) > _MOST * sum(facts.size[value] for value in shapes)


def _is_divisible(shape: Dimensions | None, devices: int) -> bool:
    """Whether devices can have parts of an array that are alike."""
    return shape is not None and any(length % devices == 0 for length in shape.lengths)


def _names(subject: Subject) -> tuple[str, ...]:
    """The whole arguments that the buffers are in, most bytes first."""
    return tuple(dict.fromkeys(map(root_of, subject.held_paths())))


def _what(subject: Subject) -> Inlines:
    names = _names(subject)
    state = listed(names) if names else ("the weights and the optimizer's state",)
    each = "it" if len(names) == 1 else "them"
    return ("Divide ", *state, f" among the {subject.devices} devices, each of which has all of {each} (FSDP)")


def _snippet(subject: Subject) -> str | None:
    names = ", ".join(_names(subject))
    if subject.jit != "jax.jit" or not names:
        return None
    value = f"({names})" if "," in names else names
    longest = f"the longest dimension of x that {subject.devices} divides along the axis of the batch"
    return (
        f"{names} = jax.device_put({value}, jax.tree.map(divided, {value}))  # divided(x): a NamedSharding, {longest}"
    )


ROW: Final = RuleRow(
    rule=Rule.REPLICATED_STATE,
    find=replicated_state,
    what=_what,
    snippet=_snippet,
    cost=Cost.COMMUNICATION,
    factor=lambda subject: subject.devices,
)
