"""What XLA Lens does not know in a dump and its HLO module: lines, parts of lines, instructions, opcodes and shapes,
grouped by their form: material for a bug report.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from xla_lens import __version__
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.resemblance import section_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.render.numbers import counted
from xla_lens.syntax.columns import NONE, Column, Section
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.lexical import STRINGS
from xla_lens.syntax.hlo.opcodes import OPCODES
from xla_lens.syntax.tree import first_error
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


class TextKind(StrEnum):
    """What kind of text is not known."""

    LINE = "line"
    PART = "part of a line"
    INSTRUCTION = "instruction"
    OPCODE = "opcode"
    SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class Form:
    """What texts of the same form have in common. `text` has N for each number and … for each string."""

    kind: TextKind
    file: FileKind
    section: Section | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class UnknownText:
    """How often a form appears in a dump, and where first."""

    form: Form
    count: int
    first: Place


def unknown_text(analysis: Analysis, module: HloModule | None) -> list[UnknownText]:
    """Return all forms of text that are not known, the most frequent first."""
    found = [text for file in analysis.dump.files for text in (*_unknown_lines(file), *_unknown_hlo(file))]
    if module:
        found += (*_unknown_lines_of_module(module), *_unknown_instructions(module))
    forms: dict[Form, UnknownText] = {}
    for kind, section, text, place in found:
        form = Form(kind, place.file.kind, section, _form(text))
        before = forms.get(form)
        forms[form] = replace(before, count=before.count + 1) if before else UnknownText(form, 1, place)
    return sorted(forms.values(), key=lambda one: -one.count)


_Text: TypeAlias = tuple[TextKind, Section | None, bytes, Place]
"""A text that is not known, with its section and its place."""


def _unknown_lines(file: DumpFile) -> Iterator[_Text]:
    document, unknown = file.document, file.columns.unknown_lines
    for start, end in zip(unknown.start.tolist(), unknown.end.tolist(), strict=True):
        line_start = document.line_span(document.row(start))[0]
        is_part = bool(document.data[line_start:start].strip())
        text = document.data[start if is_part else line_start : end]
        yield TextKind.PART if is_part else TextKind.LINE, section_at(file, start), text, Place(file, start, end)


def _unknown_hlo(file: DumpFile) -> Iterator[_Text]:
    """Each instruction and shape that the grammar of HLO does not know, at its first error."""
    used, slices = file.columns.used_values, file.columns.slices
    quoted = used.instruction_start != NONE
    quotes = used.instruction_start[quoted], used.instruction_end[quoted]
    yield from _errors(file, TextKind.INSTRUCTION, Section.USED_VALUES, *quotes)
    yield from _errors(file, TextKind.SHAPE, Section.BUFFER_ASSIGNMENT, slices.shape_start, slices.end)


def _errors(file: DumpFile, kind: TextKind, section: Section | None, starts: Column, ends: Column) -> Iterator[_Text]:
    """Each text that does not parse, at its first error."""
    data, known = file.document.data, dict[bytes, int | None]()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        text = data[start:end]
        # Numbers and strings do not decide whether a text parses.
        digest = _NUMBER.sub(b"0", STRINGS.sub(rb'""\1', text))
        if digest not in known:
            known[digest] = first_error(text)
        error = first_error(text) if known[digest] is not None else None
        if error is not None:
            around = text[max(error - _BEFORE, 0) : error + _AFTER]
            yield kind, section, around, Place(file, start + error, end)


def _unknown_lines_of_module(module: HloModule) -> Iterator[_Text]:
    """Each line of a module that belongs to none of its parts."""
    for span in map(module.file.document.line_span, module.unknown_rows.tolist()):
        yield TextKind.LINE, None, module.data[slice(*span)], Place(module.file, *span)


def _unknown_instructions(module: HloModule) -> Iterator[_Text]:
    """Each instruction of a module that the grammar does not know, and each unknown opcode."""
    table = module.columns.instructions
    yield from _errors(module.file, TextKind.INSTRUCTION, None, table.start, table.end)
    for start, end in zip(table.start.tolist(), table.end.tolist(), strict=True):
        instruction = read_instruction(module.data[start:end])
        if instruction and instruction.opcode not in OPCODES:
            place = Place(module.file, start + instruction.opcode_start, end)
            yield TextKind.OPCODE, None, instruction.opcode, place


_BEFORE: Final = 16
_AFTER: Final = 6
"""How many bytes to show on each side of the first error."""


_NUMBER: Final = re.compile(rb"\d+")
_LONGEST: Final = 200


def _form(text: bytes) -> str:
    """The form of a text: its first words, with N for each number and … for each string."""
    text = _NUMBER.sub(b"N", STRINGS.sub('"…"\\1'.encode(), text[: 4 * _LONGEST]))
    return text.decode("utf-8", "replace")[:_LONGEST]


# ---------------------------------------------------------------- words and JSON


def unknown_text_lines(found: Sequence[UnknownText], sets: int) -> list[str]:
    """The forms of all dumps, as `xla-lens check --unknown` prints them."""
    checked = f"xla-lens {__version__}: {counted(sets, 'dump')} checked"
    if not found:
        return [f"{checked}, no unknown text"]
    lines = [f"{checked}, {counted(len(found), 'form')} of unknown text"]
    for one in found:
        form, place = one.form, one.first
        section = f", below `{_HEADERS[form.section]}`" if form.section is not None else ""
        lines += [
            "",
            f"{one.count:,} × {form.kind} of {_FILES.get(form.file, f'a {form.file} file')}{section}",
            f"  form   {form.text}",
            f"  first  {place.file.label}:{_position(one)['row']}",
            f"  text   {_example(one)}",
        ]
    return lines


_FILES: Final = {FileKind.HLO: "an HLO module"}
_HEADERS: Final = {
    Section.BUFFER_ASSIGNMENT: "BufferAssignment:",
    Section.USED_VALUES: "Used values:",
    Section.LIVE_RANGES: "HloLiveRange (max N):",
    Section.INSTRUCTION_SEQUENCE: "InstructionSequence:",
    Section.BUFFER_LIVE_RANGES: "BufferLiveRange:",
    Section.PEAK: "Live ranges at N (peak):",
    Section.STACK_TRACES: "Stack trace breakdown for peak usage:",
    Section.REPORT: "Total bytes",
}


def unknown_text_data(found: Sequence[UnknownText]) -> list[dict[str, Any]]:
    """The forms of all dumps as JSON."""
    return [
        {
            "kind": one.form.kind.value,
            "file": one.form.file.value,
            "section": None if one.form.section is None else one.form.section.name.lower(),
            "form": one.form.text,
            "count": one.count,
            "text": _example(one),
            "filename": one.first.file.label,
            "location": _position(one),
        }
        for one in found
    ]


_TEXT_BEFORE: Final = 60
_LONGEST_EXAMPLE: Final = 160


def _example(one: UnknownText) -> str:
    """What stands at the first place, as it is printed: the text before it in the line, too."""
    document, start = one.first.file.document, one.first.start
    line_start = max(document.line_span(document.row(start))[0], start - _TEXT_BEFORE)
    text = document.data[line_start : min(one.first.end, line_start + _LONGEST_EXAMPLE)]
    return text.decode("utf-8", "replace").partition("\n")[0]


def _position(one: UnknownText) -> dict[str, int]:
    row, column = to_position(one.first.file.document, one.first.start, Encoding.UTF32)
    return {"row": row + 1, "column": column + 1}
