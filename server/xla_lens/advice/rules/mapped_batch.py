"""`mapped-batch`: the program computes all examples at once, and no backward pass needs their intermediate values. Or a
part of it does, such as an iteration of a loop.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from math import prod
from operator import mul
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Subject, parts_of
from xla_lens.blocks.blocks import Inlines, Name, Role
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import counted


def mapped_batch(facts: Facts) -> Iterator[Effect]:
    """Yield what a program computes of its batch, for a part of the batch: what `vmap` does without a backward pass,
    all that the examples take, if each is computed on its own, or what a part of the program computes of them.
    """
    axes, axis = facts.axes_of_mapped
    if facts.mapped and axes:
        parts = parts_of(facts.mapped.size)
        for value, shape in facts.computed.items() if parts > 1 else ():
            if axes.of_count[prod(shape.lengths)] & axis:
                yield facts.divided(value, parts)
        if facts.mapped.is_trained and parts > 1:
            # The loop writes the trained models beside those that it reads, whether these are donated or not.
            updated = {*facts.updated.values(), *facts.donated.intersection(facts.arguments)}
            yield Effect(NONE, (facts.whole_time(sum(facts.size[value] for value in updated)),))
        return
    if facts.apart:
        size, parts = facts.apart.size, parts_of(facts.apart.size)
        yield from (
            facts.divided(value, parts) for value in facts.computed if parts > 1 and facts.is_apart(value, size)
        )
        return
    if facts.backward_step is not None:
        return
    returned = {shape.lengths[0] for shape in facts.returned if shape}
    mapped = {
        value: shape.lengths[0]
        for value, shape in facts.computed.items()
        if shape.lengths[0] in returned and _is_mapped(facts, value)
    }
    lengths = _lengths_of_arguments(facts) if mapped else set[int]()
    counts = Counter(length for length in mapped.values() if length in lengths)
    batch = max(counts, key=lambda length: (counts[length], length), default=0)
    parts = parts_of(batch)
    if parts > 1 and facts.is_independent(batch):
        for value, shape in facts.computed.items():
            # A TPU divides the batch into tiles for some copies.
            if batch in accumulate(shape.lengths, mul) and _is_mapped(facts, value):
                yield facts.divided(value, parts)


def _is_mapped(facts: Facts, value: int) -> bool:
    """Whether `vmap` computes a value, or what reads one without a source, such as the indices that XLA sorts."""
    op_name = facts.origins.of_value(value).op_name
    readers = [facts.op_name(read.name) for read in facts.reads(value)] if op_name is None else [op_name]
    return any(_VMAP.search(reader or "") for reader in readers)


def _lengths_of_arguments(facts: Facts) -> set[int]:
    """The leading lengths of arguments. What is updated in place, such as a cache, would be held twice by a loop over
    it, so its length does not count.
    """
    lengths, donated = set[int](), set[int]()
    for value in facts.all_arguments:
        if shape := facts.dimensions(value):
            (donated if value in facts.donated else lengths).add(shape.lengths[0])
    return lengths - donated


_VMAP: Final = lazy_pattern(r"(?:^|/)vmap\(")


def _size(subject: Subject) -> int:
    """The batch size to map with, 0 if it is unknown."""
    if subject.mapped:
        return subject.mapped.size // parts_of(subject.mapped.size)
    lengths = (re.match(r"\w+\[(\d+)", group.shape) for group in subject.groups)
    batch = next((int(match[1]) for match in lengths if match), 0)
    return batch // parts_of(batch)


def _what(subject: Subject) -> Inlines:
    examples, models = (counted(_size(subject), noun) for noun in ("example", "model"))
    if subject.mapped and subject.mapped.is_trained:
        return (f"Train {models} at a time instead of all",)
    if subject.mapped and subject.mapped.is_apart:
        shape = Name(subject.groups[0].shape, role=Role.SHAPE)
        and_add = ", and add up the sums" if subject.mapped.is_summed else ""
        and_add += ", and join the results of each" if subject.mapped.is_summed and subject.mapped.has_results else ""
        return ("Compute ", shape, *subject.in_function, f" for {examples} at a time instead of all{and_add}")
    batch = subject.mapped
    and_add = ", and compute the sums over them from the results" if batch and batch.is_summed else ""
    which = batch.told if batch else ()
    is_random = batch is not None and batch.is_random
    changes = ". This changes the numbers slightly, because other random numbers are drawn" if is_random else ""
    # The examples go through more than the function that takes most.
    where = () if batch else subject.in_function
    return (f"Map over {examples}", *which, " at a time instead of all", *where, and_add, changes)


def _snippet(subject: Subject) -> str:
    batch, size = subject.mapped, _size(subject)
    is_summed, is_apart = (batch.is_summed, batch.is_apart) if batch else (False, False)
    code, notes = f"results = jax.lax.map(function, xs, batch_size={size})", list[str]()
    if is_summed and is_apart:
        results = "results" if batch and batch.has_results else "_"
        code = f"sums, {results} = jax.lax.scan(add_part, zeros, parts)"
        notes.append(f"add_part computes it for {counted(size, 'example')}")
    elif is_summed:
        # The program may return the quotient of two sums, or the exponential of a mean.
        notes.append("function computes what is added up; sums, means and what is computed of them come after")
    elif is_apart:
        notes.append("only this array and what reads it")
    if batch and batch.is_random:
        notes.append("xs has a key for each example, from jax.random.split: with one for all, all draw the same")
    return f"{code}  # {'; '.join(notes)}" if notes else code


ROW: Final = RuleRow(rule=Rule.MAPPED_BATCH, find=mapped_batch, what=_what, snippet=_snippet, cost=Cost.TIME)
