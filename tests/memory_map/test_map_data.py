"""The memory map: its columns agree with all other answers about a dump."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from protocol import check
from samples import (
    SEED,
    SPLIT,
    analysis_of,
    analysis_of_text,
    dump_file,
    joined,
    malformed_texts,
    module_of,
    on_dumps,
)
from xla_lens.memory_map.map_data import STEP_LIMIT, memory_map_data
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.attribution.frames import Origins
from xla_lens.words.sources import call_text


def _data(analysis: Analysis) -> dict[str, Any]:
    return dict(memory_map_data(analysis))


def test_parameters_have_their_argument_for_a_source() -> None:
    data = _data(joined(SPLIT))
    values, strings = data["values"], data["strings"]
    sizes: Counter[str] = Counter()
    for label, kind, source, size in zip(
        *(values[column] for column in ("label", "kind", "source", "size_bytes")), strict=True
    ):
        if strings[kind] == "parameter" and strings[label].startswith(("params_", "x.", "y.")):
            sizes[strings[source]] += size
    # Three layers: 784 by 512, 512 by 256 and 256 by 10, each with its biases, in f32.
    assert sizes == {
        "parameters params[0]": 4 * 512 * 785,
        "parameters params[1]": 4 * 256 * 513,
        "parameters params[2]": 4 * 10 * 257,
        "parameters x": 4 * 128 * 784,
        "parameters y": 4 * 128 * 10,
    }


# ---------------------------------------------------------------- what holds of all maps


def _check_form(data: Mapping[str, Any]) -> None:
    """Check that all indices are in range."""
    values, allocations, strings = data["values"], data["allocations"], data["strings"]
    assert len({len(column) for column in values.values()}) == 1
    assert len({len(column) for column in allocations.values()}) == 1
    limits = {
        "allocation": len(allocations["index"]),
        **dict.fromkeys(("label", "kind", "shape", "op_name", "source", "derived_from"), len(strings)),
    }
    for name, limit in limits.items():
        assert all(-1 <= number < limit for number in values[name]), name
    assert all(0 <= number < len(strings) for number in values["label"])
    assert all(0 <= number < len(strings) for number in allocations["kind"])
    assert all(-1 <= number < len(strings) for number in data["steps"])
    assert all(size >= -1 for name in ("size_bytes", "offset_bytes", "padding_bytes") for size in values[name])
    for start, end in zip(values["start_step"], values["end_step"], strict=True):
        assert (start, end) == (-1, -1) or 0 <= start <= end < len(data["steps"])
    for space in data["spaces"]:
        assert len(space["curve_step"]) == len(space["curve_bytes"])
        assert space["curve_step"] == sorted(set(space["curve_step"]))
        assert max(space["curve_bytes"], default=0) == space["peak_live_bytes"]


def _covered(data: Mapping[str, Any], color: int, step: int) -> int:
    """Return the bytes of a memory space that live values cover, computed from the columns alone."""
    values = data["values"]
    spans = defaultdict[int, list[tuple[int, int]]](list)
    rows = zip(
        *(values[name] for name in ("allocation", "offset_bytes", "size_bytes", "start_step", "end_step")), strict=True
    )
    for allocation, offset, size, start, end in rows:
        if start <= step <= end and start >= 0 and size > 0 and data["allocations"]["color"][allocation] == color:
            spans[allocation].append((offset, offset + size))
    covered = 0
    for parts in spans.values():
        reached = 0
        for start, end in sorted(parts):
            covered += max(0, end - max(start, reached))
            reached = max(reached, end)
    return covered


@on_dumps
def test_curves_are_what_the_values_cover(analysis: Analysis) -> None:
    data = _data(analysis)
    check(data, "MemoryMap")
    _check_form(data)
    for space in data["spaces"]:
        for step in {*np.linspace(0, len(data["steps"]), 4).astype(int).tolist(), space["peak_step"] or 0}:
            at = np.searchsorted(space["curve_step"], step, "right") - 1
            live_bytes = space["curve_bytes"][at] if at >= 0 else 0
            assert live_bytes == _covered(data, space["color"], step)


def test_damaged_dumps_have_a_map() -> None:
    for text in [*malformed_texts()][::5]:
        _check_form(_data(analyse([dump_file(text)])))
    _check_form(_data(analyse([])))


def test_huge_step_makes_no_long_column() -> None:
    text = (
        SEED.read_text()
        .replace("    6:tuple\n", "    999999999999:tuple\n")
        .replace("negate.0{}:5-7", "negate.0{}:5-888888888888")
    )
    data = _data(analysis_of_text(text))
    assert len(data["steps"]) == STEP_LIMIT
    assert data["steps"].count(-1) == STEP_LIMIT - 6
    _check_form(data)


def test_calls_are_a_tree_of_the_stack_of_each_value() -> None:
    data, dump = _data(joined(SPLIT)), analysis_of(SPLIT).dump
    strings, calls, origins = data["strings"], data["calls"], Origins(dump, module_of(SPLIT))
    assert all(caller < row for row, caller in enumerate(calls["caller"]))
    assert len({*zip(calls["caller"], calls["frame"], strict=True)}) == len(calls["frame"])
    depths = []
    for value, innermost in enumerate(data["values"]["call"]):
        row, stack = innermost, []
        while row >= 0:
            stack.append(strings[calls["frame"][row]])
            row = calls["caller"][row]
        assert stack == [*dict.fromkeys(map(call_text, origins.of_value(value).frames))]
        depths.append(len(stack))
    assert max(depths) > 3
