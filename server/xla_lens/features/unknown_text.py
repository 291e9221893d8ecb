"""What XLA Lens does not know in a dump and its HLO module: lines, parts of lines, instructions, opcodes and shapes,
grouped by their form: material for a bug report.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from xla_lens import __version__
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.render.numbers import counted
from xla_lens.syntax.columns import NONE, Section
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
    counts: dict[Form, int] = {}
    places: dict[Form, Place] = {}
    found = [pair for file in analysis.dump.files for pair in (*_unknown_lines(file), *_unknown_hlo(file))]
    if module:
        found += (*_unknown_lines_of_module(module), *_unknown_instructions(module))
    for form, place in found:
        counts[form] = counts.get(form, 0) + 1
        places.setdefault(form, place)
    forms = [UnknownText(form, count, places[form]) for form, count in counts.items()]
    return sorted(forms, key=lambda one: -one.count)


def _unknown_lines(file: DumpFile) -> Iterator[tuple[Form, Place]]:
    document, unknown = file.document, file.columns.unknown_lines
    for start, end in zip(unknown.start.tolist(), unknown.end.tolist(), strict=True):
        line_start = document.line_span(document.row(start))[0]
        before = document.data[line_start:start]
        kind = TextKind.PART if before.strip() else TextKind.LINE
        text = document.data[start if before.strip() else line_start : end]
        yield Form(kind, file.kind, _section_at(file, start), _form(text)), Place(file, start, end)


def _unknown_hlo(file: DumpFile) -> Iterator[tuple[Form, Place]]:
    """Each instruction and shape that the grammar of HLO does not know, at its first error."""
    columns = file.columns
    used, slices = columns.used_values, columns.slices
    quoted = np.flatnonzero(used.instruction_start != NONE)
    instructions = zip(used.instruction_start[quoted].tolist(), used.instruction_end[quoted].tolist(), strict=True)
    shapes = zip(slices.shape_start.tolist(), slices.end.tolist(), strict=True)
    for kind, section, spans in (
        (TextKind.INSTRUCTION, Section.USED_VALUES, instructions),
        (TextKind.SHAPE, Section.BUFFER_ASSIGNMENT, shapes),
    ):
        yield from _errors(file, kind, section, spans)


def _errors(
    file: DumpFile, kind: TextKind, section: Section | None, spans: Iterable[tuple[int, int]]
) -> Iterator[tuple[Form, Place]]:
    """Each text that does not parse, at its first error."""
    data, known = file.document.data, dict[bytes, int | None]()
    for start, end in spans:
        text = data[start:end]
        # Numbers and strings do not decide whether a text parses.
        digest = _NUMBER.sub(b"0", STRINGS.sub(rb'""\1', text))
        if digest not in known:
            known[digest] = first_error(text)
        error = first_error(text) if known[digest] is not None else None
        if error is not None:
            place = Place(file, start + error, end)
            around = data[max(start, place.start - _BEFORE) : min(end, place.start + _AFTER)]
            yield Form(kind, file.kind, section, _form(around)), place


def _unknown_lines_of_module(module: HloModule) -> Iterator[tuple[Form, Place]]:
    """Each line of a module that belongs to none of its parts."""
    document, file = module.file.document, module.file
    for row in module.unknown_rows.tolist():
        start, end = document.line_span(row)
        yield Form(TextKind.LINE, file.kind, None, _form(document.data[start:end])), Place(file, start, end)


def _unknown_instructions(module: HloModule) -> Iterator[tuple[Form, Place]]:
    """Each instruction of a module that the grammar does not know, and each unknown opcode."""
    table, file, data = module.columns.instructions, module.file, module.data
    spans = list(zip(table.start.tolist(), table.end.tolist(), strict=True))
    yield from _errors(file, TextKind.INSTRUCTION, None, spans)
    for start, end in spans:
        instruction = read_instruction(data[start:end])
        if instruction and instruction.opcode not in OPCODES:
            form = Form(TextKind.OPCODE, file.kind, None, instruction.opcode.decode("utf-8", "replace"))
            yield form, Place(file, start + instruction.opcode_start, end)


_BEFORE: Final = 16
_AFTER: Final = 6
"""How many bytes to show on each side of the first error."""


def _section_at(file: DumpFile, start: int) -> Section | None:
    """The innermost section around a byte."""
    sections = file.columns.sections
    around = np.flatnonzero((sections.start <= start) & (start < sections.end))
    return Section(int(sections.section[around[-1]])) if len(around) else None


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
