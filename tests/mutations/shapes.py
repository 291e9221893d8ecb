"""Edits of shapes."""

import random
import re
from math import prod
from typing import Final

from mutations.edits import Mutation, edit, first, made, pick, put
from mutations.lines import Line
from mutations.view import View

_ARRAY: Final = re.compile(rb"(?<![\w.])(?P<type>pred|bf16|[suf]\d+|c64|c128)\[(?P<dims>[\d,<=]*)\]")
_TYPES: Final = (b"f32", b"s32", b"f64", b"bf16", b"u8", b"pred", b"s8", b"f16")
_WIDTH: Final = {b"pred": 1, b"bf16": 2, b"c64": 8, b"c128": 16}
_LAYOUT: Final = re.compile(rb"(?<=\])\{[^{}]*\}")


def _changed(rng: random.Random, shape: bytes, *, types: bool = True) -> bytes | None:
    """A shape with another dimension or element type; None if it has no dimension."""
    arrays = [*_ARRAY.finditer(shape)]
    if not arrays:
        return None
    array = rng.choice(arrays)
    dims = list(re.finditer(rb"\d+", array["dims"]))
    if not dims or (types and rng.random() < 0.3):
        if not types:
            return None
        new = rng.choice([other for other in _TYPES if other != array["type"]])
        return shape[: array.start("type")] + new + shape[array.end("type") :]
    dim = rng.choice(dims)
    number = int(dim[0])
    new = b"%d" % rng.choice([number + 1, number * 2 or 1])
    start = array.start("dims")
    return shape[: start + dim.start()] + new + shape[start + dim.end() :]


def _bytes(shape: bytes) -> int:
    """The bytes of an array without padding."""
    array = _ARRAY.match(shape)
    if not array:
        return 0
    width = _WIDTH.get(array["type"]) or max(1, int(array["type"][1:]) // 8)
    return width * prod(int(dim) for dim in re.findall(rb"\d+", array["dims"]))


def _quoted(view: View, row: Line) -> bool:
    return row["id"] is not None and view.header.get(row.text("id")) in view.quotes


_AFTER = "report-mismatch peak-list-mismatch peak-step-mismatch"
"""Codes for other places with the size or shape."""


@edit
def slice_shape(rng: random.Random, view: View) -> Mutation | None:
    row = pick(rng, (row for row in view.all("slice") if _quoted(view, row)))
    new = _changed(rng, row.text("shape"))
    if not new:
        return None
    return made(view, [put(row, "shape", new)], [row], "shape-mismatch size-below-shape", _AFTER)


@edit
def parameter_shape(rng: random.Random, view: View) -> Mutation | None:
    """The shape of a whole parameter. Old dumps print it for elements, too."""
    line = pick(
        rng,
        (
            line
            for line in view.all("allocation")
            if line["parameter"] and line["shape"] and line["at"] == b"{}" and view.below(line, "slice")
        ),
    )
    new = _changed(rng, line.text("shape"))
    if not new:
        return None
    shapes = {_LAYOUT.sub(b"", row.text("shape")) for row in view.below(line, "slice")}
    if new in shapes:
        return None  # another value of the allocation has that shape
    return made(view, [put(line, "shape", new)], [line], "shape-mismatch", "report-mismatch")


@edit
def output_shape(rng: random.Random, view: View) -> Mutation | None:
    """The output may be a bitcast of a value, so only a shape of another size is wrong for sure."""
    line = first(line for line in view.all("allocation") if line["output"] and view.below(line, "slice"))
    new = _changed(rng, line.text("output_shape"), types=False)
    if not new:
        return None
    shape, is_tuple = line.text("output_shape"), new.startswith(b"(")
    values = [_LAYOUT.sub(b"", row.text("shape")) for row in view.below(line, "slice")]
    if shape not in values or new in values or (not is_tuple and _bytes(new) in map(_bytes, values)):
        return None
    return made(view, [put(line, "output_shape", new)], [line], "shape-mismatch", "report-mismatch")
