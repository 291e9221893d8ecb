"""Padding, compared with the sizes that real dumps assign."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import analysis_of, on_all_dumps, on_each_dump
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.memory.padding import Padding, PaddingReason, Unexplained, explain_padding, padding_at, padding_of
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import parse_shape


def _parts(padding: Padding) -> list[tuple[str, int | None, int]]:
    return [(part.cause.value, part.dimension, part.size_bytes) for part in padding.parts]


@pytest.mark.parametrize(
    ("shape", "assigned", "parts"),
    [
        ("f32[64,16]{1,0}", 4096, []),
        ("bf16[8,1]{1,0:T(8,128)(2,1)}", 2048, [("dimension", 1, 2032)]),
        ("f32[3,5]{1,0:T(8,128)}", 4096, [("dimension", 1, 1476), ("dimension", 0, 2560)]),
        ("f32[3,5]{0,1:T(8,128)}", 4096, [("dimension", 0, 2500), ("dimension", 1, 1536)]),
        ("f32[2,3,128]{2,1,0:T(8,128)}", 8192, [("dimension", 1, 5120)]),
        ("f32[7,130]{1,0:T(128)}", 7168, [("dimension", 1, 3528)]),
        ("f32[]{:T(128)S(1)}", 512, [("missing dimension", None, 508)]),
        ("f32[128]{0:T(8,128)}", 4096, [("missing dimension", None, 3584)]),
        ("s4[3,3]{1,0:E(4)}", 5, []),
        ("s4[3,3]{1,0}", 9, []),
        ("s4[3,3]{1,0:T(8,4)E(4)}", 16, [("dimension", 1, 1), ("dimension", 0, 10)]),
        ("f32[1000]{0:T(1)L(1024)}", 4096, [("tail", None, 96)]),
        ("f32[]", 4096, [("slice", None, 4092)]),
        ("f32[3]{0:T(128)}", 1024, [("dimension", 0, 500), ("slice", None, 512)]),
        ("f32[0,3]{1,0:T(8,128)}", 0, []),
        ("token[]", 0, []),
    ],
)
def test_padding_is_divided_into_parts(shape: str, assigned: int, parts: list[tuple[str, int | None, int]]) -> None:
    padding = explain_padding(shape.encode(), assigned)
    assert _parts(padding) == parts
    assert padding.unexplained is None
    assert padding.logical_bytes is not None
    assert padding.logical_bytes + sum(part.size_bytes for part in padding.parts) == assigned


@pytest.mark.parametrize(
    ("shape", "assigned", "size", "why"),
    [
        ("(f32[2]{0}, s32[])", 512, None, Unexplained.TUPLE),
        ("<unknown shape>", 512, None, Unexplained.UNKNOWN_SHAPE),
        ("newtype[4]{0}", 512, None, Unexplained.UNKNOWN_SHAPE),
        ("f32[<=64]{0}", 260, None, Unexplained.DYNAMIC),
        ("f32[?]{0}", 260, None, Unexplained.DYNAMIC),
        ("f32[64,64]{1,0:T(8,128)S(1)SC(0:32)}", 16384, None, Unexplained.SPLIT),
        ("f32[2,3]{1,0:T(*,128)}", 512, None, Unexplained.COMBINED),
        ("u32[]{:T(128)S(2)}", 4, 0, Unexplained.SMALLER),
        ("f32[64]{0}", 4, None, Unexplained.SMALLER),
        ("f32[2,3]{0:T(8,128)}", 4096, None, Unexplained.UNKNOWN_SHAPE),
        ("f32[2]{0:T(0)}", 4096, None, Unexplained.UNKNOWN_SHAPE),
        ("f32[2]{0:T(8)L(-4)}", 4096, None, Unexplained.UNKNOWN_SHAPE),
        ("f32[-2]{0}", 4096, None, Unexplained.UNKNOWN_SHAPE),
        ("s4[2]{0:E(-4)}", 4096, None, Unexplained.UNKNOWN_SHAPE),
    ],
)
def test_unexplained_padding_has_a_reason(shape: str, assigned: int, size: int | None, why: Unexplained) -> None:
    padding = explain_padding(shape.encode(), assigned)
    assert (padding.parts, padding.size_bytes, padding.unexplained) == ((), size, why)


@given(
    st.lists(st.integers(0, 300), max_size=4),
    st.lists(st.integers(1, 200), max_size=3),
    st.randoms(),
    st.integers(0, 64),
    st.sampled_from([("f32", 32, None), ("bf16", 16, None), ("s4", 4, 4), ("s4", 8, None)]),
)
def test_parts_add_up_to_the_assigned_bytes(
    lengths: list[int], tile: list[int], random: Random, tail: int, kind: tuple[str, int, int | None]
) -> None:
    order = list(range(len(lengths)))
    random.shuffle(order)
    name, bits, packed = kind
    numbers = (("T", ",".join(map(str, tile))), ("L", tail or ""), ("E", packed or ""))
    attributes = "".join(f"{letter}({number})" for letter, number in numbers if number)
    layout = f"{{{','.join(map(str, order))}{attributes and ':'}{attributes}}}"
    shape = f"{name}[{','.join(map(str, lengths))}]{layout}".encode()
    # The rule of ArraySize: the tile applies from the minor-most dimension on.
    elements = 1
    for place in range(max(len(tile), len(lengths))):
        length = lengths[order[place]] if place < len(lengths) else 1
        multiple = tile[-1 - place] if place < len(tile) else 1
        elements *= (length + multiple - 1) // multiple * multiple
    if tile and tail:
        elements = (elements + tail - 1) // tail * tail
    assigned = (elements * bits + 7) // 8
    padding = explain_padding(shape, assigned)
    assert padding.unexplained is None
    assert padding.logical_bytes is not None
    assert padding.logical_bytes + sum(part.size_bytes for part in padding.parts) == assigned
    assert all(part.size_bytes > 0 and part.cause is not PaddingReason.SLICE for part in padding.parts)


def _check(analysis: Analysis) -> Counter[str]:
    """Check the padding of all values. Return how many of the arrays have each kind."""
    dump, found = analysis.dump, Counter[str]()
    for value in range(len(dump.values)):
        padding = padding_of(dump, value)
        shape = parse_shape(dump.shape(value) or b"")
        if padding is None or shape is None:
            continue
        if padding.unexplained:
            found[padding.unexplained.value] += 1
            continue
        assert padding.logical_bytes is not None
        assert padding.logical_bytes + sum(part.size_bytes for part in padding.parts) == padding.assigned_bytes
        is_rounded = any(part.cause is PaddingReason.SLICE for part in padding.parts)
        # Arrays without a tile take a multiple of 1,024 elements in some memory spaces of a TPU.
        if is_rounded:
            assert not shape.tiles
            assert padding.assigned_bytes % (1024 * (shape.bits or 0) // 8) == 0
        found["rounded" if is_rounded else "exact"] += 1
    for space in analysis.memory.spaces:
        if space.peak_step is not None:
            values, owned = owned_bytes(dump, space.peak_step, space.color)
            at_peak = padding_at(dump, values, owned)
            assert at_peak.total_bytes == at_peak.padding_bytes[at_peak.padding_bytes != NONE].sum()
            assert at_peak.total_bytes + at_peak.unknown_bytes <= space.peak_live_bytes
            assert (at_peak.padding_bytes <= owned).all()
    return found


@on_each_dump
def test_array_size_rule_gives_assigned_bytes_on_real_dumps(path: Path) -> None:
    assert set(_check(analysis_of(path))) <= {"exact", "rounded", "smaller", "split"}


@on_all_dumps(_check)
def test_array_size_rule_gives_assigned_bytes_on_all_dumps(of_all_dumps: Mapping[str, Counter[str]]) -> None:
    """Exceptions are a flag in memory space 2 that is smaller than its layout, split layouts, and a dynamic shape."""
    found: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for file, counts in of_all_dumps.items():
        found[file.startswith("tpu")] += counts
    assert found[True] == {"exact": 76652, "rounded": 1670, "split": 66, "smaller": 2}
    assert found[False].keys() == {"exact", "rounded", "dynamic"}
    assert found[False]["rounded"] == 12
