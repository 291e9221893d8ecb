"""The reader of sources gives the opcodes and the metadata that the reader of one instruction gives."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, malformed_modules, module_of, module_of_text, modules, needs_shared_dumps
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE


def _differences(module: HloModule, *, is_whole: bool = True) -> Iterator[str]:
    sources = module.sources
    assert len({*sources.op_names}) == len(sources.op_names)
    for row, frame_id in enumerate(sources.stack_frame_id.tolist()):
        own = module.instruction(row)
        found = sources.opcodes[sources.opcode[row]], sources.op_names[sources.op_name[row]], frame_id
        metadata = own.metadata() if own else {}
        frame = metadata.get("stack_frame_id", str(NONE))
        expected = own.opcode if own else b"", metadata.get("op_name", ""), int(frame) if frame.isdecimal() else NONE
        if found != expected and (is_whole or found[0]):
            yield f"{module.data[slice(*module.span(row))]!r}: {found} is not {expected}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(DUMPS)))
def test_sources_match_the_reader_of_one_instruction(path: Path) -> None:
    assert [*_differences(module_of(path))] == []


@needs_shared_dumps
def test_sources_of_all_modules_match_the_reader_of_one_instruction() -> None:
    paths = sorted(SHARED_DUMPS.rglob("*_optimizations.txt"))
    assert len(paths) > 250
    assert [line for path in paths for line in _differences(module_of_text(path.read_bytes()))] == []


def test_sources_of_malformed_modules_are_read_alike_or_not_at_all() -> None:
    for text in malformed_modules():
        assert [*_differences(module_of_text(text), is_whole=False)] == []


_MODULE = rb"""HloModule m

ENTRY %%e () -> f32[2] {
  ROOT %%a = f32[2]{0} add(%%b, %%c), frontend_attributes={k=", metadata={op_name=\"no\"}"}, metadata={%b}
}

"""


@pytest.mark.parametrize(
    ("metadata", "op_name", "frame_id"),
    [
        (b'op_type="add" op_name="a\\"b/add" stack_frame_id=7', 'a"b/add', 7),
        (b'op_name="x stack_frame_id=8"', "x stack_frame_id=8", NONE),
        (b'scheduling_name="op_name=1" op_name="y"', "y", NONE),
        (b'deduplicated_name="z" profile_type={1, 2} op_name="w" stack_frame_id=12', "w", 12),
        (b"", "", NONE),
    ],
)
def test_fields_of_metadata_are_told_apart(metadata: bytes, op_name: str, frame_id: int) -> None:
    sources = module_of_text(_MODULE % metadata).sources
    assert [sources.op_names[number] for number in sources.op_name] == [op_name]
    assert sources.stack_frame_id.tolist() == [frame_id]
