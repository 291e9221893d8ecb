"""Large values of known parts of a model: attention scores, logits, gathered arrays, and gradients."""

import re
from collections.abc import Iterator
from typing import Final

from xla_lens.model.advice.actions import Certainty, Edit, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.facts import Draft, Facts
from xla_lens.model.advice.rules.groups import by_source
from xla_lens.syntax.columns import Kind

SHORTEST_SEQUENCE: Final = 128
"""Attention scores of shorter sequences are no problem."""

CHUNKS: Final = 8
"""The number of chunks in which to compute the loss."""

_ATTENTION: Final = re.compile(r"attention|attn|softmax", re.IGNORECASE)
_KERNEL: Final = re.compile(r"pallas_call|flash|splash", re.IGNORECASE)
_LOSS: Final = re.compile(r"log_softmax|logsumexp|xent|cross_entropy|take_along_axis|one_hot", re.IGNORECASE)
_GATHERING: Final = (b"all-gather", b"all-gather-start", b"all-gather-done")


def attention_scores(facts: Facts) -> Iterator[Draft]:
    """Find values of attention that have a row and a column for each position of the sequence."""
    edit: Edit = {
        value: ()
        for value in facts.candidates
        if _is_square(facts, value)
        and _is_computed(facts, value)
        and _is_attention(facts.op_name(facts.name(value)) or "")
    }
    if edit:
        yield Draft(Rule.ATTENTION_SCORES, Certainty.ESTIMATED, edit)


def _is_attention(op_name: str) -> bool:
    """Whether an op_name belongs to attention that is not computed by a kernel."""
    return bool(_ATTENTION.search(op_name)) and not _KERNEL.search(op_name)


def _is_square(facts: Facts, value: int) -> bool:
    dimensions = facts.dimensions(value)
    long = [length for length in dimensions.lengths if length >= SHORTEST_SEQUENCE] if dimensions else []
    return dimensions is not None and dimensions.type in _FLOATS and len(long) != len(set(long)) > 0


_FLOATS: Final = ("f32", "bf16", "f16")


def logits(facts: Facts) -> Iterator[Draft]:
    """Find the logits and what has their shape: the largest arrays from which the loss is computed."""
    lengths = {
        tuple(sorted(shape.lengths))
        for value in facts.candidates
        if (shape := facts.squeezed(value))
        and len(shape.lengths) > 1
        and _LOSS.search(facts.op_name(facts.name(value)) or "")
    }
    if not lengths:
        return
    largest = max(map(max, lengths))
    edit: Edit = {
        value: (Piece(facts.start(value), facts.end(value), facts.size(value) // CHUNKS),)
        for value in facts.candidates
        if (shape := facts.squeezed(value))
        and tuple(sorted(shape.lengths)) in lengths
        and largest in shape.lengths
        and shape.type in _FLOATS
        and _is_computed(facts, value)
    }
    if edit:
        yield Draft(Rule.LOGITS, Certainty.ESTIMATED, edit, factor=CHUNKS)


def gathered(facts: Facts) -> Iterator[Draft]:
    """Find results of all-gathers that wait to be read: before their first read, or between the forward and the
    backward pass. Gathering again costs communication instead of memory.
    """
    edit: dict[int, tuple[Piece, ...]] = {}
    for value in facts.candidates:
        if facts.opcode(facts.name(value)) not in _GATHERING or not _is_computed(facts, value):
            continue
        reads = [read for read in facts.reads(value) if read.step >= facts.start(value)]
        early = [read.step for read in reads if not facts.is_backward(read.name)]
        late = [read.step for read in reads if facts.is_backward(read.name)]
        if reads:
            pieces = [facts.piece(value, min(steps) - 1, max(steps)) for steps in (early, late) if steps]
            edit[value] = tuple(pieces)
    yield from by_source(facts, Rule.GATHERED, Certainty.ESTIMATED, edit)


def gradients(facts: Facts) -> Iterator[Draft]:
    """Find gradients that wait for the update while the optimizer state is live."""
    state = {facts.squeezed(value) for value in facts.idle_arguments} - {None}
    lengths = {shape.lengths for shape in state if shape}
    edit: dict[int, tuple[Piece, ...]] = {}
    for value in facts.candidates if lengths else ():
        shape = facts.squeezed(value)
        if shape is None or shape.lengths not in lengths or not _is_computed(facts, value):
            continue
        if len(shape.lengths) > 1 and _is_collected(facts, value):
            edit[value] = (Piece(facts.start(value), facts.end(value), facts.size(value) // shape.lengths[0]),)
        elif facts.is_backward(facts.name(value)):
            edit[value] = (facts.piece(value, facts.start(value), facts.start(value)),)
    if edit:
        yield Draft(Rule.GRADIENTS, Certainty.POSSIBLE, edit)


def _is_collected(facts: Facts, value: int) -> bool:
    """Whether a loop of the backward pass collects the gradients of all layers in the bytes of a value."""
    names = [facts.name(other) for other in (value, *facts.same_slice(value))]
    is_in_loop = any(facts.opcode(name) in (b"while", b"parameter") for name in names)
    return is_in_loop and any(map(facts.is_backward, names))


def _is_computed(facts: Facts, value: int) -> bool:
    """Whether the program can do without a value: it is neither an argument nor a result nor a constant."""
    return not facts.has_kind(value, _FIXED)


_FIXED: Final = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT | Kind.CONSTANT)
