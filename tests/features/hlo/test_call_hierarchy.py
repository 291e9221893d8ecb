"""Call hierarchy in HLO modules: calls of computations and data flow between instructions."""

from pathlib import Path

import pytest

from samples import BARE, WHILE, analysis_of, malformed_modules, module_of, module_of_text, modules
from xla_lens.features.call_hierarchy.hlo import VIEWS, find_item, incoming, item, outgoing
from xla_lens.features.call_hierarchy.items import Flow, Item
from xla_lens.model.analysis import analyse
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloTarget
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet

_NOTHING = analyse([]).dump


def _flow(module: HloModule, of: Item | None) -> tuple[str, str]:
    """The producers or callers, and the consumers or callees, with their references."""
    assert of
    return _text(incoming(_NOTHING, module, of, 100)), _text(outgoing(_NOTHING, module, of, 100))


def _text(flows: list[Flow]) -> str:
    return "; ".join(f"{flow.item.name.decode()}: {', '.join(map(_word, flow.places))}" for flow in flows)


def _word(place: Place) -> str:
    return place.file.document.data[place.start : place.end].decode()


def _instruction(module: HloModule, name: bytes) -> tuple[str, str]:
    return _flow(module, find_item(_NOTHING, module, name, is_computation=False))


def _computation(module: HloModule, name: bytes) -> tuple[str, str]:
    return _flow(module, find_item(_NOTHING, module, name, is_computation=True))


def test_hierarchy_of_computations_is_their_calls() -> None:
    module = module_of(WHILE)
    assert _computation(module, b"while.6_computation") == (
        "main.3: %while.6_computation",
        "region_1.2: %region_1.2; region_0.1: %region_0.1",
    )
    assert _computation(module, b"main.3") == (
        "",
        "fused_computation: %fused_computation; while.6_computation: %while.6_computation",
    )
    assert _computation(module_of(BARE), b"region_0.4") == ("main.10: region_0.4", "")


def test_hierarchy_of_instructions_is_their_data_flow() -> None:
    module = module_of(WHILE)
    # Control predecessors are not data flow.
    assert _instruction(module, b"copy.5") == ("arg_tuple.1: %arg_tuple.1#2", "copy.7: %copy.5")
    assert _instruction(module, b"wrapped_add") == (
        "arg_tuple.1: %arg_tuple.1#0; constant.3: %constant.3",
        "tuple.4: %wrapped_add",
    )
    assert _instruction(module_of(BARE), b"reduce.8") == ("Arg_0.1: Arg_0.1; constant.2: constant.2", "tuple: reduce.8")


_VIEWS = b"""HloModule m

ENTRY %e (p: (f32[4], f32[4])) -> f32[4] {
  %p = (f32[4]{0}, f32[4]{0}) parameter(0)
  %g = f32[4]{0} get-tuple-element(%p), index=0
  %b = f32[2,2]{1,0} bitcast(%g)
  %unread = f32[4]{0} get-tuple-element(%p), index=1
  %n = f32[2,2]{1,0} negate(%b)
  %m = f32[2,2]{1,0} add(%b, %b)
  %x = f32[4]{0} bitcast(%y)
  %y = f32[4]{0} bitcast(%x)
  %z = f32[4]{0} negate(%x)
  ROOT %r = f32[4]{0} bitcast(%m)
}
"""


def test_views_are_skipped_unless_nothing_reads_them() -> None:
    module = module_of_text(_VIEWS)
    assert _instruction(module, b"p") == ("", "unread: %p; n: %b; m: %b, %b")
    assert _instruction(module, b"m") == ("p: %b, %b", "r: %m")
    assert _instruction(module, b"g") == ("p: %p", "n: %b; m: %b, %b")


def test_views_of_each_other_end() -> None:
    module = module_of_text(_VIEWS)
    assert _instruction(module, b"z")[0] == "x: %x"
    assert _instruction(module, b"x") == ("x: %y", "z: %x")


def test_item_detail_shows_opcode_size_and_computation() -> None:
    module, dump = module_of(WHILE), analysis_of(WHILE).dump

    def detail(dump: DumpSet, name: bytes, *, is_computation: bool) -> str | None:
        found = find_item(dump, module, name, is_computation=is_computation)
        return found.detail if found else None

    assert detail(dump, b"main.3", is_computation=True) == "entry · 7 instructions"
    assert detail(dump, b"region_1.2", is_computation=True) == "3 instructions"
    assert detail(dump, b"copy.5", is_computation=False) == "copy · 32 B · in region_0.1"
    assert detail(_NOTHING, b"copy.5", is_computation=False) == "copy · in region_0.1"
    assert detail(_NOTHING, b"nobody", is_computation=False) is None


def test_limit_applies_to_items() -> None:
    module = module_of(WHILE)
    entry = find_item(_NOTHING, module, b"main.3", is_computation=True)
    assert entry
    assert _text(outgoing(_NOTHING, module, entry, 1)) == "fused_computation: %fused_computation"


def _check(module: HloModule, step: int) -> int:
    """Checks that each caller has the callee among its callees, and likewise for data flow, without views."""
    columns, count = module.columns, 0
    read = ((row, module.instruction(row)) for row in range(0, len(columns.instructions), step))
    targets: list[HloTarget] = [HloInstruction(row) for row, found in read if found and found.opcode not in VIEWS]
    targets += [HloComputation(row) for row in range(len(columns.computations))]
    for target in targets:
        for flow in incoming(_NOTHING, module, item(_NOTHING, module, target), 10**6):
            assert flow.places
            backwards = outgoing(_NOTHING, module, flow.item, 10**6)
            (same,) = (found for found in backwards if found.item.target == target)
            assert same.places == flow.places
            count += 1
    return count


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_incoming_and_outgoing_agree(path: Path) -> None:
    module = module_of(path)
    assert _check(module, 1 + len(module.columns.instructions) // 200) > 0 or len(module.columns.instructions) < 3


def test_hierarchy_of_broken_modules_is_complete() -> None:
    count = 0
    for text in malformed_modules():
        module = module_of_text(text)
        for row in range(0, len(module.columns.instructions), 7):
            count += any(_flow(module, item(_NOTHING, module, HloInstruction(row))))
        for row in range(len(module.columns.computations)):
            _flow(module, item(_NOTHING, module, HloComputation(row)))
    assert count > 100
