"""Document highlights in HLO modules."""

import re
from pathlib import Path

import pytest

from samples import WHILE, module_of, modules
from xla_lens.features.references import HighlightKind
from xla_lens.features.references import module_highlights as highlights
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, HloTarget, hlo_mention_at
from xla_lens.model.hlo.module import HloModule


def _marked(module: HloModule, place: bytes, limit: int) -> list[str]:
    mention = hlo_mention_at(module, module.data.index(place) + 1)
    assert mention
    found = highlights(module, mention, limit)
    return [
        f"{module.data[word.start : word.end].decode()}{'!' * (word.kind is HighlightKind.WRITE)}" for word in found
    ]


def test_highlights_of_an_instruction_include_its_elements() -> None:
    module = module_of(WHILE)
    expected = ["arg_tuple.1!", "%arg_tuple.1#2", "%arg_tuple.1#1", "%arg_tuple.1#0"]
    assert _marked(module, b"%arg_tuple.1#1", 100) == expected
    assert _marked(module, b"%arg_tuple.1 =", 100) == expected
    assert _marked(module, b"%arg_tuple.1 =", 2) == expected[:2]


def test_highlights_of_a_computation_are_its_calls() -> None:
    assert _marked(module_of(WHILE), b"%region_0.1, ", 100) == ["region_0.1!", "%region_0.1"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.parent.name}-{path.name[:30]}")
def test_every_name_with_a_sign_is_highlighted_once(path: Path) -> None:
    module = module_of(path)
    columns, data = module.columns, module.data
    targets: list[HloTarget] = [HloInstruction(row) for row in range(len(columns.instructions))]
    targets += [HloComputation(row) for row in range(len(columns.computations))]
    mentions = [HloMention(target, 0, 0, is_definition=False) for target in targets]
    found = [word for mention in mentions for word in highlights(module, mention, 10**6)]
    assert len({(word.start, word.end) for word in found}) == len(found)
    reads = sorted(word.start for word in found if word.kind is HighlightKind.READ)
    names = {*module.instruction_rows, *module.computation_rows}
    defined = {*(columns.instructions.name_start - 1).tolist(), *(columns.computations.name_start - 1).tolist()}
    signed = [match for match in re.finditer(rb"%([^\s{}()\[\]\",=%#]+)", data) if match.start() not in defined]
    if signed:
        assert reads == [match.start() for match in signed if match[1] in names]
