"""Call hierarchy: producers and consumers of values."""

import random
from pathlib import Path

import numpy as np
import pytest

from samples import (
    BARE,
    DUMPS,
    SEED,
    TPU,
    WHILE,
    analysis_of,
    analysis_of_text,
    mark,
    module_of,
    modules,
    on_dumps,
)
from xla_lens.editor.call_hierarchy import Flow, Item, find_item, incoming, outgoing, prepare
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, HloTarget
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention, Value
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.tables import MentionRole

LOOP = next(DUMPS.glob("gpu-h100-jaxlib0.10.2/while_loops/*jit_inplace*-buffer-assignment.txt"))


def check(analysis: Analysis, marked: str, expected: str) -> None:
    """Check the items at a marked place, each with its producers, its consumers and the uses between them."""
    _, mention = mark(analysis, marked)
    assert mention is not None
    item = prepare(analysis.dump, None, mention)
    assert _text(analysis.dump, [item] if item else []) == expected.strip("\n")


def _text(dump: DumpSet, items: list[Item]) -> str:
    lines = []
    for item in items:
        lines.append(_item(item))
        lines += [f"  from {_flow(flow)}" for flow in incoming(dump, None, item, 100)]
        lines += [f"  to {_flow(flow)}" for flow in outgoing(dump, None, item, 100)]
    return "\n".join(lines)


def _item(item: Item) -> str:
    return f"{item.name.decode()} ({item.detail})"


def _flow(flow: Flow) -> str:
    return f"{_item(flow.item)}: {' | '.join(map(_place_text, flow.places))}"


def _place_text(place: Place) -> str:
    return place.file.document.data[place.start : place.end].decode()


_GEMM = """
cublas-gemm.1 (4.0 KiB)
  from fusion (256.0 KiB): cublas-gemm.1, operand 0
  from param.1 (64.0 KiB): cublas-gemm.1, operand 1
  to negate.0 (4.0 KiB): negate.0, operand 0
"""


@pytest.mark.parametrize(
    "marked",
    [
        "    cublas-gemm.1{}:4-5\n     ^",
        "  negate.0, operand 0\n                ^",
        "  cublas-gemm.1, operand 1\n     ^",
        " value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n                  ^",
        "    4:cublas-gemm.1\n                   ^",
        "    4:cublas-gemm.1\n    ^",
    ],
    ids=["live range", "operand", "instruction that reads", "row in the allocation", "schedule", "step"],
)
def test_value_has_producers_and_consumers(marked: str) -> None:
    check(analysis_of(SEED), marked, _GEMM)


def test_parameters_and_results_end_the_flow() -> None:
    """A parameter has no producers, a result no consumers. An alias stands for the value with its bytes."""
    check(
        analysis_of(SEED),
        "    1:bitcast.1\n       ^",
        """
param.1 (64.0 KiB)
  to cublas-gemm.1 (4.0 KiB): cublas-gemm.1, operand 1
""",
    )
    check(
        analysis_of(SEED),
        "    6:tuple\n       ^",
        """
tuple (8 B)
  from negate.0 (4.0 KiB): tuple, operand 0
""",
    )


def test_asynchronous_copies_link_both_memory_spaces() -> None:
    """One instruction with three values starts the copy. The one that ends it defines no value."""
    analysis = analysis_of(TPU)
    check(
        analysis,
        "    3:copy-start\n       ^",
        """
copy-start (3 values · 4.00 MiB)
  from broadcast_multiply_fusion (4.00 MiB): copy-start, operand 0
  to copy-start.1 (3 values · 4.00 MiB): copy-start.1, operand 0
""",
    )


def test_loop_reads_its_tuple_and_the_elements() -> None:
    dump = analysis_of(LOOP).dump
    loop, held = find_item(dump, None, b"while.2"), find_item(dump, None, b"tuple.24")
    assert loop
    assert held
    assert (
        _text(dump, [loop, held])
        == """\
while.2 (3 values · 8.0 KiB)
  from tuple.24 (16 B): while.2, operand 0 {}
  from copy.10 (4 B): while.2, operand 0 {0}
  from x.1 (8.0 KiB): while.2, operand 0 {1}
tuple.24 (16 B)
  to while.2 (3 values · 8.0 KiB): while.2, operand 0 {}"""
    )


@pytest.mark.parametrize("name", ["n", "negate.0", "n" * 1000])
def test_item_has_the_name_in_the_allocation(name: str) -> None:
    text = SEED.read_text().replace("value: <2 negate.0 @0>", f"value: <2 {name} @0>")
    dump = analysis_of_text(text).dump
    item = prepare(dump, None, Mention(Value(dump.value_of_id(2)), MentionRole.SLICE, 0, 0))
    assert item
    assert item.name.decode() == name
    assert _place_text(item.selection) == "negate.0"
    assert item.place.start < item.selection.start < item.selection.end < item.place.end


# ---------------------------------------------------------------- all dumps


_MOST = 500


@on_dumps
def test_producers_and_consumers_agree(analysis: Analysis) -> None:
    """They are inverse relations with the same places, in schedule order."""
    dump, count = analysis.dump, 0
    for value in random.Random(0).sample(range(len(dump.values)), min(12, len(dump.values))):
        if item := prepare(dump, None, Mention(Value(value), MentionRole.USED_VALUE, 0, 0)):
            _check_item(dump, item)
            count += _check_consumers(dump, item)
    assert count >= min(1, len(dump.values) // 4)


def _check_item(dump: DumpSet, item: Item) -> None:
    assert find_item(dump, None, item.name) == item
    assert item.place.file is item.selection.file is dump.used
    assert item.place.start <= item.selection.start < item.selection.end <= item.place.end
    assert _place_text(item.selection) == item.name.decode()
    is_own = (dump.values.name == dump.name_number(item.name)) & (dump.values.used_value != NONE)
    count = np.count_nonzero(is_own)
    assert item.detail.startswith(f"{count:,} values" if count > 1 else "")


def _check_consumers(dump: DumpSet, item: Item) -> int:
    found = outgoing(dump, None, item, 20)
    for flow in found:
        _check_item(dump, flow.item)
        made = incoming(dump, None, flow.item, _MOST)
        back = [other for other in made if other.item == item]
        if len(made) < _MOST:
            assert [set(other.places) for other in back] == [set(flow.places)], (item.name, flow.item.name)
    return len(found)


# ---------------------------------------------------------------- HLO modules


_NOTHING = analyse([]).dump


def _flows(module: HloModule, of: Item | None) -> tuple[str, str]:
    """The producers or callers, and the consumers or callees, with their references."""
    assert of
    made, read = incoming(_NOTHING, module, of, 100), outgoing(_NOTHING, module, of, 100)
    return _flows_text(made), _flows_text(read)


def _flows_text(flows: list[Flow]) -> str:
    return "; ".join(f"{flow.item.name.decode()}: {', '.join(map(_place_text, flow.places))}" for flow in flows)


def _instruction(module: HloModule, name: bytes) -> tuple[str, str]:
    return _flows(module, find_item(_NOTHING, module, name))


def test_hierarchy_of_instructions_is_their_data_flow() -> None:
    module = module_of(WHILE)
    # Control predecessors are not data flow.
    assert _instruction(module, b"copy.5") == ("arg_tuple.1: %arg_tuple.1#2", "copy.7: %copy.5")
    assert _instruction(module, b"wrapped_add") == (
        "arg_tuple.1: %arg_tuple.1#0; constant.3: %constant.3",
        "tuple.4: %wrapped_add",
    )
    assert _instruction(module_of(BARE), b"reduce.8") == ("Arg_0.1: Arg_0.1; constant.2: constant.2", "tuple: reduce.8")


def _check_module(module: HloModule, step: int) -> int:
    """Checks that each caller has the callee among its callees, and likewise for data flow."""
    columns, count = module.columns, 0
    targets: list[HloTarget] = [HloInstruction(row) for row in range(0, len(columns.instructions), step)]
    targets += [HloComputation(row) for row in range(len(columns.computations))]
    for target in targets:
        item = prepare(_NOTHING, module, HloMention(target, 0, 0, is_definition=True))
        assert item
        for flow in incoming(_NOTHING, module, item, 10**6):
            assert flow.places
            backwards = outgoing(_NOTHING, module, flow.item, 10**6)
            (same,) = (found for found in backwards if found.item.target == target)
            assert same.places == flow.places
            count += 1
    return count


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_incoming_and_outgoing_agree(path: Path) -> None:
    module = module_of(path)
    assert (
        _check_module(module, 1 + len(module.columns.instructions) // 200) > 0 or len(module.columns.instructions) < 3
    )
