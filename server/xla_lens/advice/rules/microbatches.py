"""`microbatches`: the whole batch goes through the model at once."""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

import numpy as np

from xla_lens.advice.actions import Cost
from xla_lens.advice.arrays import Array
from xla_lens.advice.codes import Rule
from xla_lens.advice.dimensions import MARKS, Lengths
from xla_lens.advice.facts import Effect, Facts, dimensions_of
from xla_lens.advice.op_names import is_backward
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Batch, Subject, across_devices, listed
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.edits import Piece
from xla_lens.model.memory.padding import round_up
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.syntax.texts import number_texts
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import enumerated

_FEWEST_IMAGES: Final = 8
"""The fewest examples of a part in which a TPU convolves. It moves positions of fewer ones into the batch, and then
keeps larger values for the backward pass (`findings/tpu_small_batches.sh`).
"""

_RANK_OF_KERNEL: Final = 4
"""The rank of a kernel for images. That for sequences has less."""

_CONVOLUTION: Final = lazy_pattern(r"/conv_general_dilated\b")
_CONVOLUTION_IN_LOOP: Final = lazy_pattern(r"/while/.*/conv_general_dilated\b")

_MUCH_CONVOLVED: Final = 0.1
"""The share of the peak that the results of convolutions take in nets that mostly convolve. What convolutions make is
normalized and rectified, so there is several times as much of that.
"""

_LOOKUP: Final = lazy_pattern(r"/gather\b")


def microbatches(facts: Facts) -> Iterator[Effect]:
    """Yield the batch in parts, one after another: whatever the program computes from it takes a part of its bytes, and
    the gradients of the parts are added up in buffers of their own until the backward pass is done.
    """
    found, begin = facts.batch, facts.backward_step
    if found is None or begin is None or found.microbatches == 1 or facts.axes is None:
        return
    if has_too_few_images(facts, found.size, found.microbatches):
        return
    values = [*_of_examples(facts, found)]
    owned = {value: facts.owned[value] for value in values if value in facts.owned}
    # A model may compute all without the examples, as long as these, such as a field that is fitted to another one.
    if 2 * sum(size for value, size in owned.items() if _is_without_examples(facts.array(value))) > sum(owned.values()):
        return
    for value in values:
        left = int(facts.size[value] * _part_left(facts.dump.shape(value) or b"", found))
        yield Effect(value, (Piece(facts.start[value], facts.end[value], left),))
    kept = [value for value, shape in facts.shapes_of_arguments.items() if shape in facts.returned]
    computed_with = [value for value in kept if facts.is_computed_with(value, begin)]
    trained = [value for value in computed_with if not facts.is_returned_unchanged(value)]
    end = end_of_backward(facts, begin)
    sums = with_sums(facts, trained, 0, end)
    yield sums._replace(pieces=(*sums.pieces, Piece(0, end, _converted_bytes(facts, found, begin))))
    yield from _copies_in_loop(facts, trained)
    # What is updated as soon as its gradient is known waits for the gradients of the last part.
    for output in () if found.is_updated else facts.updated:
        if begin < facts.start[output] < end:
            yield Effect(output, (facts.piece(output, end + 1, facts.end[output]),), is_aside=True)


def _of_examples(facts: Facts, found: Batch) -> Iterator[int]:
    """Yield what the program computes of the examples of a batch."""
    axes, axis = facts.axes, facts.axis(found.size, found.dimension)
    assert axes is not None
    returned, batch = facts.returned, found.size
    arguments = facts.shapes_of_arguments
    place = slice(found.dimension, found.dimension + 1)
    weights = [shape.lengths for shape in arguments.values() if shape in returned or shape.lengths[place] != (batch,)]
    weights += [lengths[1:] for lengths in weights]
    alike, sizes = set(map(_sorted, weights)), set(map(prod, weights))
    shapes = {value: shape for value in facts.candidates if (shape := facts.dimensions(value))}
    computed = {value: shape for value, shape in shapes.items() if facts.is_computed(value)}
    names = {facts.op_name(facts.name[value]) for value, shape in arguments.items() if shape in returned}
    for value, shape in computed.items():
        op_name = facts.op_name(facts.name[value]) or facts.origins.of_value(value).op_name or ""
        # A batch may have the dimensions of a weight.
        is_gradient = facts.is_backward(op_name) or op_name.endswith("convert_element_type")
        is_forward = batch in shape.lengths[: found.dimension + 1] and not is_gradient
        is_weight = _sorted(shape.lengths) in alike or (prod(shape.lengths) in sizes and batch not in shape.lengths)
        # What is the same for all examples stays as it is: a graph whose nodes are the batch, or a bias of positions.
        # Random numbers for each example have its axis only as a length.
        has_batch = axes.of_count[prod(shape.lengths)] & axis or batch in shape.lengths or found.is_random
        is_told = (is_forward or not is_weight) and has_batch
        # XLA gives copies of a weight its name, such as one with padding.
        if op_name in names or not (is_told or facts.axes_of_array(value) & axis):
            continue
        # What mixes the examples comes before the parts.
        if found.is_mixed and (array := facts.array(value)) and array.is_data and not array.is_trained:
            continue
        # Devices gather weights.
        if not (facts.is_sharded and batch not in shape.lengths and facts.is_of_weights(value)):
            yield value


def _is_without_examples(array: Array | None) -> bool:
    """Whether an array is computed without the examples, as far as is known."""
    return array is not None and (array.is_data or array.is_trained) and not (array.axes & ~MARKS or array.is_drawn)


def end_of_backward(facts: Facts, begin: int) -> int:
    """The step at which the backward pass computes its last value, where it begins at a step."""
    backward = (value for value in facts.candidates if facts.is_backward(facts.op_name(facts.name[value])))
    return max((facts.start[value] for value in backward), default=begin)


def with_sums(facts: Facts, trained: Sequence[int], start: int, end: int) -> Effect:
    """What a loop over parts of the examples needs in addition, from a step to another one: the sums of the gradients
    of weights.
    """
    # It holds the copies of tables and adds up their gradients in the same layout, in HBM what VMEM cannot hold.
    tables = trained if facts.has_op_name(_LOOKUP) else ()
    rows = sum(max(0, 2 * _size_by_rows(facts, value) - facts.size[value]) for value in tables)
    copies = [Piece(start, end, more)] if (more := rows - _vmem_bytes(facts)) > 0 else []
    return Effect(NONE, (*_sums(facts, trained, start, end), *copies))


def _copies_in_loop(facts: Facts, trained: Iterable[int]) -> Iterator[Effect]:
    """Yield the copies of tables that are among those of `with_sums`: a loop over parts has them in place of these."""
    tables = trained if facts.has_op_name(_LOOKUP) else ()
    sizes = {facts.op_name(facts.name[value]): size for value in tables if (size := _size_by_rows(facts, value))}
    for value in facts.candidates if sizes else ():
        if facts.is_computed(value) and sizes.get(facts.origins.of_value(value).op_name) == facts.size[value]:
            yield Effect(value, is_aside=True)


def _converted_bytes(facts: Facts, found: Batch, begin: int) -> int:
    """The bytes of weights that a TPU converts to bfloat16 before products: all of them before a loop over parts, which
    does not change them, in place of each before its product.
    """
    module = facts.origins.module
    if module is None or facts.dump.backend is not Backend.TPU:
        return 0
    axis, converted = facts.axis(found.size, found.dimension), _converted_lengths(module)
    weights = (
        value
        for value, shape in facts.shapes_of_arguments.items()
        if shape.type == "f32" and len(shape.lengths) > 1 and facts.is_computed_with(value, begin)
        # A loop over layers converts the weights of one.
        if {shape.lengths, shape.lengths[1:]} & converted and not facts.axes_of_array(value) & axis
    )
    return sum(facts.size[value] for value in weights) // 2


def _converted_lengths(module: HloModule) -> set[Lengths]:
    """The lengths of what the forward pass converts to bfloat16."""
    sources, table = module.sources, module.columns.instructions
    is_convert = np.array([opcode == b"convert" for opcode in sources.opcodes], np.bool_)
    rows = np.flatnonzero(is_convert[sources.opcode])
    names = np.unique(sources.op_name[rows]).tolist()
    backward = [name for name in names if is_backward(sources.op_names[name])]
    rows = rows[~np.isin(sources.op_name[rows], backward)]
    quotes = read_quotes(module.data, table.start[rows], table.end[rows], QuoteParts.HEADS)
    start, end = np.maximum(quotes.shape_start, 0), np.maximum(quotes.shape_end, 0)
    _, first = number_texts(module.data, start, end)
    shapes = (dimensions_of(module.data[start.item(row) : end.item(row)]) for row in first.tolist())
    return {shape.lengths for shape in shapes if shape and shape.type == "bf16"}


def _sums(facts: Facts, trained: Iterable[int], start: int, end: int) -> Iterator[Piece]:
    """Yield the buffers of the sums of the gradients of weights. XLA for CPUs and GPUs takes those of outputs, which
    are written after them.
    """
    buffers: dict[int, list[int]] = {}
    for output in facts.updated if facts.dump.backend is not Backend.TPU else ():
        buffers.setdefault(facts.size[output], []).append(facts.dump.values.allocation.item(output))
    for value in trained:
        free = buffers.get(facts.size[value])
        yield Piece(start, end, facts.size[value], free.pop() if free else None)


def has_too_few_images(facts: Facts, size: int, parts: int) -> bool:
    """Whether a TPU would convolve fewer images in one of several parts than it keeps apart, and all of them do not."""
    becomes_few = size // parts < _FEWEST_IMAGES <= size
    if facts.dump.backend is not Backend.TPU or not becomes_few:
        return False
    # It does so with images, not with sequences.
    has_kernels = any(len(shape.lengths) >= _RANK_OF_KERNEL for shape in facts.shapes_of_arguments.values())
    return has_kernels and mostly_convolves(facts)


def mostly_convolves(facts: Facts) -> bool:
    """Whether a net mostly convolves, rather than once before other layers. What loops make counts as much."""
    sizes = facts.owned.items()
    convolved = sum(size for value, size in sizes if _CONVOLUTION.search(facts.origins.of_value(value).op_name or ""))
    return convolved >= _MUCH_CONVOLVED * sum(facts.owned.values()) or facts.has_op_name(_CONVOLUTION_IN_LOOP)


def _vmem_bytes(facts: Facts) -> int:
    """The bytes of VMEM that the program uses, which are almost all that it may."""
    is_vmem = facts.dump.allocation_spaces == _VMEM
    return int(facts.dump.allocations.size_bytes[is_vmem].sum())


_VMEM: Final = 1
"""The memory space of VMEM on a TPU."""


def _size_by_rows(facts: Facts, value: int) -> int:
    """The bytes of the copy that a TPU makes of a table of which rows are looked up: the elements of a row are side by
    side and padded, those of the table, if its rows are short, in the order of its columns. 0 without such a copy.
    Outside of loops, it makes the copy in parts or for a short time (`findings/tpu_tables_in_loops.sh`).
    """
    shape = parse_shape(facts.dump.shape(value) or b"")
    if shape is None or not shape.tiles or len(shape.dimensions) != 2:
        return 0
    width, lanes = shape.dimensions[-1] or 1, shape.tiles[0][-1] or 1
    is_by_columns = shape.minor_to_major[:1] == (0,)
    return facts.size[value] // width * round_up(width, lanes) if is_by_columns and 2 * width <= lanes else 0


def _part_left(text: bytes, batch: Batch) -> float:
    """The part of an array that one microbatch takes. A TPU pads the minor dimension: where that is the batch, a part
    of it may need as much padding, or what would be last otherwise.
    """
    shape = parse_shape(text)
    minor = shape.minor_to_major[0] if shape and shape.minor_to_major else 0
    if shape is None or not shape.tiles or shape.dimensions[minor] != batch.size or minor == len(shape.dimensions) - 1:
        return 1 / batch.microbatches
    lanes, last = shape.tiles[0][-1] or 1, shape.dimensions[-1] or 1
    growth, *choices = (
        round_up(length, lanes) / length for length in (batch.size, batch.size // batch.microbatches, last)
    )
    return min(choices) / growth / batch.microbatches


def _sorted(lengths: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(length for length in lengths if length > 1))


def _what(subject: Subject) -> Inlines:
    batch = subject.batch
    which = batch.told if batch else ()
    changes = [
        "sums over the batch, such as those of normalization, are those of a part, which may be too small for them"
        if batch and batch.is_normalized
        else "",
        "other random numbers are drawn" if batch and batch.is_random else "",
    ]
    why = " and ".join(filter(None, changes))
    slightly = f". This changes the numbers slightly, because {why}" if why else ""
    if batch and batch.is_divided:
        normalizing = "what they are normalized by, such as a mean and a deviation, a maximum or the number of targets"
        slightly += f". Compute from all examples first {normalizing}: else the numbers change"
    if batch and batch.is_mixed:
        slightly += (
            ". Compute first, of the whole batch, what depends on several examples, such as returns of rewards or what "
            "mixup makes, and split that"
        )
    if batch and batch.is_numbered:
        slightly += (
            ". Split the numbers of the examples, too, with which the program computes, such as those of an arange"
        )
    in_turn = ", one model after the other" if batch and batch.is_updated else ""
    added = "their results" if batch and batch.is_trained else "their gradients"
    if batch and batch.has_gradients and not batch.is_trained:
        added = (
            "their sums over the examples. What is done to the gradient of each example, such as clipping, stays "
            "before these sums, and what is done to the sums, such as adding noise, comes once, after the last part"
        )
    elif batch and _has_other_products(batch):
        added = (
            "their sums over the examples: gradients, and sums of products that are not differentiated. What is "
            "computed from these comes once, after the last part"
        )
    taken = (" and what they add to ", *listed(batch.statistics)) if batch and batch.statistics else ()
    decided = (", and compute ", *listed(batch.decided), " from all parts") if batch and batch.decided else ()
    joined = ", and join what it returns for each example" if batch and batch.has_results else ""
    return (
        "Split the batch",
        *which,
        f" into {_parts(subject)} microbatches and add up {added}",
        *taken,
        *decided,
        f"{joined}{in_turn}{slightly}",
    )


def _has_other_products(batch: Batch) -> bool:
    """Whether the program sums other products over the batch than gradients, and than what it adds to statistics."""
    return batch.has_products and not batch.is_trained and not batch.statistics


def _parts(subject: Subject) -> int:
    return subject.batch.microbatches if subject.batch else 1


def _snippet(subject: Subject) -> str:
    batch, notes = subject.batch, list[str]()
    what = "results" if batch and batch.is_trained else "gradients"
    zeros = "zeros_like_results" if what == "results" else "zeros_like_params"
    if batch and batch.has_gradients and not batch.is_trained:
        notes.append("the sums over the examples, before noise is added")
    elif batch and _has_other_products(batch):
        notes.append(f"and the other sums over the examples; divided by {_parts(subject)} if they are means")
    elif what == "gradients":
        notes += [
            "before anything is computed from them",
            f"{_means(batch)} are divided by {_parts(subject)}",
            "terms without examples, such as weight decay, count once, as for the whole batch",
        ]
    else:
        notes.append(f"what is a mean over the batch, or a gradient of one, is divided by {_parts(subject)}")
    if batch and batch.is_random:
        notes.append("each part with a key of its own")
    if subject.is_sharded:
        parts = across_devices(_parts(subject))
        if batch and batch.dimension == 1:
            parts = f"jnp.moveaxis(x.reshape(len(x), -1, {_parts(subject)}, *x.shape[2:]), 2, 0)"
        notes.append(f"microbatches: {parts}, some of each device")
    code = f"{what} = jax.lax.scan(add_{what}, {zeros}, microbatches)[0]"
    return f"{code}  # {'; '.join(notes)}" if notes else code


def _means(batch: Batch | None) -> str:
    """What is divided by the number of parts."""
    means = ["those of means over the batch"]
    means += ["other means over it"] if batch and batch.statistics else []
    means += ["gradients of means within the loss"] if batch and batch.has_gradients_within else []
    return enumerated(means)


def _in_keras(subject: Subject) -> str | None:
    if subject.batch is None:
        return None
    parts = subject.batch.microbatches
    size = subject.batch.size // parts
    return f"model.fit(…, batch_size={size})  # with gradient_accumulation_steps={parts} in the optimizer"


ROW: Final = RuleRow(
    rule=Rule.MICROBATCHES,
    find=microbatches,
    what=_what,
    snippet=_snippet,
    in_keras=_in_keras,
    cost=Cost.NUMBERS,
    factor=_parts,
)
