"""The reader of forms gives the operands that the reader of one instruction gives, and one form to what is alike."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from samples import DUMPS, SHARED_DUMPS, malformed_modules, module_of, module_of_text, modules, needs_shared_dumps
from xla_lens.model.hlo.module import CALLED, HloModule
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.forms import read_forms
from xla_lens.syntax.hlo.instruction import InstructionText
from xla_lens.syntax.hlo.shapes import without_layout


def _meaning(own: InstructionText) -> tuple[object, ...]:
    """What instructions of one form have in common, but for the computations that they call."""
    attributes = own.text[own.operands_end : own.end].partition(b", metadata={")[0]
    attributes = re.sub(
        rb", (?:channel_id|control-predecessors|frontend_attributes|backend_config|origin|sharding)=.*", b"", attributes
    )
    op_name = own.op_name
    return (
        own.opcode,
        without_layout(own.shape),
        own.parameter_number,
        CALLED.sub(b"", attributes),
        op_name is not None and re.sub("[0-9]", "", op_name),
    )


def _differences(module: HloModule) -> Iterator[str]:
    forms = read_forms(module.data, module.columns)
    ends = np.maximum(forms.operand_count, 0).cumsum().tolist()
    assert len(forms.form) == len(module.columns.instructions)
    assert ends[-1:] in ([], [len(forms.operands)])
    meanings = dict[int, tuple[object, ...]]()
    for row, (form, start, end) in enumerate(zip(forms.form.tolist(), [0, *ends], ends, strict=False)):
        own = module.instruction(row)
        if own is None or form == NONE:
            continue
        if forms.operands[start:end].tolist() != [module.operand(operand.name)[0] for operand in own.operands()]:
            yield f"{module.name(row)!r}: operands"
        if meanings.setdefault(form, _meaning(own)) != _meaning(own):
            yield f"{module.name(row)!r}: {_meaning(own)} is not {meanings[form]}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(DUMPS)))
def test_forms_match_the_reader_of_one_instruction(path: Path) -> None:
    assert [*_differences(module_of(path))] == []


@needs_shared_dumps
def test_forms_of_all_modules_match_the_reader_of_one_instruction() -> None:
    paths = sorted(SHARED_DUMPS.rglob("*_optimizations.txt"))
    assert len(paths) > 250
    assert [line for path in paths for line in _differences(module_of_text(path.read_bytes()))] == []


def test_forms_of_damaged_modules_match_the_reader_of_one_instruction() -> None:
    assert [line for text in malformed_modules() for line in _differences(module_of_text(text))] == []


_MODULE = b"""HloModule test

%double (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %d = f32[4]{0} add(%p, %p), metadata={op_name="layer_1/add"}
}

%again (p.1: f32[4]) -> f32[4] {
  %p.1 = f32[4]{0} parameter(0)
  ROOT %d.1 = f32[4]{0} add(%p.1, %p.1), metadata={op_name="layer_2/add"}
}

%square (p.2: f32[4]) -> f32[4] {
  %p.2 = f32[4]{0} parameter(0)
  ROOT %d.2 = f32[4]{0} multiply(%p.2, %p.2)
}

%first (p.3: f32[4], q.3: f32[4]) -> f32[4] {
  %p.3 = f32[4]{0} parameter(0)
  %q.3 = f32[4]{0} parameter(1)
  ROOT %d.3 = f32[4]{0} subtract(%p.3, %q.3)
}

%second (p.4: f32[4], q.4: f32[4]) -> f32[4] {
  %p.4 = f32[4]{0} parameter(0)
  %q.4 = f32[4]{0} parameter(1)
  ROOT %d.4 = f32[4]{0} subtract(%q.4, %p.4)
}

ENTRY %main (x: f32[4], y: f32[4,2]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %y = f32[4,2]{1,0} parameter(1)
  %z = f32[4,2]{0,1} copy(%y)
  %call = f32[4]{0} fusion(%x), kind=kLoop, calls=%double
  %call.1 = f32[4]{0:T(128)} fusion(%call), kind=kLoop, calls=%again, backend_config={"cycles":"3"}
  %call.2 = f32[4]{0} fusion(%call), kind=kLoop, calls=%square
  %call.3 = f32[4]{0} fusion(%x, %call), kind=kLoop, calls=%first
  %call.4 = f32[4]{0} fusion(%x, %call), kind=kLoop, calls=%second
  %moved = f32[8]{0} bitcast(%y)
  %moved.1 = f32[8]{0} bitcast(%z)
  %sum = f32[4]{0} add(%x, %x), metadata={op_name="layer_10/add" stack_frame_id=3}
  %sum.1 = f32[4]{0} add(%x, %x), control-predecessors={%sum}, metadata={op_name="layer_11/add"}
  %sum.2 = f32[4]{0} add(%x, %x), metadata={op_name="layer_11/transpose(add)"}
  %sum.3 = f32[4]{0} add(%x, %x)
  %pair = (f32[4]{0}, f32[4]{0}) tuple(%x, %sum)
  %left = f32[4]{0} negate(%pair#0)
  %right = f32[4]{0} negate(%pair#1)
  %right.1 = f32[4]{0} negate(%pair#1)
  ROOT %end = f32[4]{0} negate(%sum)
}
"""


def test_alike_is_what_computes_the_same() -> None:
    module = module_of_text(_MODULE)
    forms = read_forms(module.data, module.columns).form.tolist()

    def are_alike(one: bytes, other: bytes) -> bool:
        return bool(forms[module.row_of(one)] == forms[module.row_of(other)])

    assert are_alike(b"call", b"call.1")
    # What they compute from the operands, and from which of them.
    assert not are_alike(b"call", b"call.2")
    assert not are_alike(b"call.3", b"call.4")
    # A bitcast reads its operand in the order of the bytes.
    assert not are_alike(b"moved", b"moved.1")
    assert are_alike(b"sum", b"sum.1")
    assert not are_alike(b"sum", b"sum.2")
    assert not are_alike(b"sum", b"sum.3")
    assert are_alike(b"right", b"right.1")
    assert not are_alike(b"left", b"right")
    assert not are_alike(b"right", b"end")
