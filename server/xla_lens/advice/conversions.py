"""Which arguments in float32 a program reads only to convert them to bfloat16, as a model in bfloat16 does with frozen
weights.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from xla_lens.advice.content import content_of, shape_of
from xla_lens.advice.facts import Facts
from xla_lens.advice.subject import Unconverted
from xla_lens.model.attribution.writers import Writers
from xla_lens.syntax.columns import Rows


class Conversion(NamedTuple):
    """What a program does with an argument. `values` have its content as it is, the argument first, and `converted` are
    the same array in bfloat16. `is_told` says that op_names tell that the program converts it: XLA converts factors of
    products, too, and leaves out the op_names of conversions that it moves out of loops.
    """

    values: Rows
    converted: Rows
    is_told: bool


class Conversions(NamedTuple):
    """The arguments in float32 that are only converted to bfloat16, and the others in float32 of their trees. All are
    rows of `DumpSet.values`.
    """

    found: dict[int, Conversion]
    others: Rows


def conversions(facts: Facts) -> Conversions | None:
    """Find the arguments that a program only converts, None without any. What it returns anew has to stay as it is, and
    so do the weights whose gradients it returns.
    """
    writers = facts.origins.writers
    if writers is None:
        return None
    returned = facts.donated.union(facts.updated.values())
    explained = {*facts.updated, *map(facts.new_version, facts.donated)}
    others = (shape for output in facts.outputs if output not in explained and (shape := facts.dimensions(output)))
    lengths = {shape.lengths for shape in others} if facts.backward_step is not None else set()
    wide = {
        value: shape
        for value in facts.arguments
        if value not in returned and (shape := facts.dimensions(value)) and shape.type == _FULL
    }
    found = dict[int, Conversion]()
    for value, shape in wide.items():
        conversion = _conversion(facts, writers, value) if shape.lengths not in lengths else None
        if conversion:
            found[value] = conversion
    # What it converts of a tree tells of the rest.
    trees = {facts.tree_of(value) for value, conversion in found.items() if conversion.is_told}
    found = {value: conversion for value, conversion in found.items() if facts.tree_of(value) in trees}
    beside = (value for value in wide if value not in found)
    return Conversions(found, tuple(value for value in beside if facts.tree_of(value) in trees)) if found else None


def _conversion(facts: Facts, writers: Writers, argument: int) -> Conversion | None:
    names = list[str | None]()

    def is_conversion(row: int, _: Sequence[int]) -> bool:
        read = writers.read(row)
        op_name = read.metadata.get("op_name")
        is_of_program = op_name is None or op_name.endswith(_CONVERSION)
        if read.own.opcode != b"convert" or not read.own.shape.startswith(_HALF) or not is_of_program:
            return False
        names.append(op_name)
        return True

    content, whole = content_of(facts, writers, argument, is_conversion), shape_of(facts, argument)
    if content is None or whole is None:
        return None
    converted = [
        value
        for value in content.made
        if (shape := shape_of(facts, value))
        and shape.type == _HALF.decode()
        and (shape.dimensions, shape.minor_to_major) == (whole.dimensions, whole.minor_to_major)
    ]
    return Conversion(content.values, tuple(converted), is_told=all(names))


def unconverted(facts: Facts) -> Unconverted | None:
    """Return what is left in float32 of the trees of the arguments that a program only converts, None if nothing is."""
    found = facts.kept(conversions)
    if found is None or not found.others:
        return None
    ranks, others = (
        [len(facts.shapes_of_arguments[value].lengths) for value in values] for values in (found.found, found.others)
    )
    paths = tuple(filter(None, map(facts.path_of, found.others)))
    return Unconverted(paths, min(ranks) if max(others) < min(ranks) else None)


_CONVERSION: Final = "convert_element_type"

_FULL: Final = "f32"
_HALF: Final = b"bf16"
