"""What XLA Lens does not know in a dump and its HLO module: lines, parts of lines, instructions, opcodes and shapes,
grouped by their form: material for a bug report.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from xla_lens import __version__
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.resemblance import section_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE, Column, cells
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.lexical import STRINGS
from xla_lens.syntax.hlo.opcodes import OPCODES
from xla_lens.syntax.tables import DumpSection
from xla_lens.syntax.tree import first_error
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.json_types import CountFrom1, JsonObject, Location, one_of
from xla_lens.words.numbers import counted


class TextKind(StrEnum):
    """What kind of text is not known."""

    LINE = "line"
    PART = "part of a line"
    INSTRUCTION = "instruction"
    OPCODE = "opcode"
    SHAPE = "shape"


class UnknownText(Struct, frozen=True, eq=False):
    """How often texts of a form appear in a section, and where first. `form` has N for a number and … for a string."""

    kind: TextKind
    section: DumpSection | None
    form: str
    first: Place
    count: int = 1


def unknown_text(analysis: Analysis) -> Iterator[UnknownText]:
    """Yield all text of a dump that is not known."""
    for file in analysis.dump.files:
        yield from _unknown_lines(file)
        yield from _unknown_hlo(file)
    if module := analysis.module:
        yield from _unknown_lines_of_module(module)
        yield from _unknown_instructions(module)


def by_form(texts: Iterable[UnknownText]) -> list[UnknownText]:
    """Return the forms of some unknown texts, the most frequent first."""
    found: dict[tuple[object, ...], UnknownText] = {}
    for text in texts:
        key = text.kind, text.first.file.kind, text.section, text.form
        found[key] = replace(found[key], count=found[key].count + text.count) if key in found else text
    return sorted(found.values(), key=lambda text: -text.count)


def _unknown_lines(file: DumpFile) -> Iterator[UnknownText]:
    document, unknown = file.document, file.columns.unknown_lines
    for start, end in cells(unknown.start, unknown.end):
        line_start = document.line_at(start)[0]
        is_part = not document.begins_line(start)
        form = _form(document.data[start if is_part else line_start : end])
        kind = TextKind.PART if is_part else TextKind.LINE
        yield UnknownText(kind, section_at(file, start), form, Place(file, start, end))


def _unknown_hlo(file: DumpFile) -> Iterator[UnknownText]:
    """Each instruction and shape that the grammar of HLO does not know, at its first error."""
    used, slices = file.columns.used_values, file.columns.slices
    quoted = used.instruction_start != NONE
    quotes = used.instruction_start[quoted], used.instruction_end[quoted]
    yield from _errors(file, TextKind.INSTRUCTION, DumpSection.USED_VALUES, *quotes)
    yield from _errors(file, TextKind.SHAPE, DumpSection.BUFFER_ASSIGNMENT, slices.shape_start, slices.end)


def _errors(
    file: DumpFile, kind: TextKind, section: DumpSection | None, starts: Column, ends: Column
) -> Iterator[UnknownText]:
    """Each text that does not parse, at its first error."""
    data, known = file.document.data, dict[bytes, int | None]()
    for start, end in cells(starts, ends):
        text = data[start:end]
        # Numbers and strings do not decide whether a text parses.
        digest = _NUMBER.sub(b"0", STRINGS.sub(rb'""\1', text))
        if digest not in known:
            known[digest] = first_error(text)
        error = first_error(text) if known[digest] is not None else None
        if error is not None:
            around = text[max(error - _BEFORE, 0) : error + _AFTER]
            yield UnknownText(kind, section, _form(around), Place(file, start + error, end))


def _unknown_lines_of_module(module: HloModule) -> Iterator[UnknownText]:
    """Each line of a module that belongs to none of its parts."""
    for span in map(module.file.document.line_span, module.unknown_rows.tolist()):
        yield UnknownText(TextKind.LINE, None, _form(module.data[slice(*span)]), Place(module.file, *span))


def _unknown_instructions(module: HloModule) -> Iterator[UnknownText]:
    """Each instruction of a module that the grammar does not know, and each unknown opcode."""
    table = module.columns.instructions
    yield from _errors(module.file, TextKind.INSTRUCTION, None, table.start, table.end)
    for start, end in cells(table.start, table.end):
        instruction = read_instruction(module.data[start:end])
        if instruction and instruction.opcode not in OPCODES:
            place = Place(module.file, start + instruction.opcode_start, end)
            yield UnknownText(TextKind.OPCODE, None, _form(instruction.opcode), place)


_BEFORE: Final = 16
_AFTER: Final = 6
"""How many bytes to show on each side of the first error."""

_NUMBER: Final = lazy_pattern(rb"\d+")
_LONGEST: Final = 200


def _form(text: bytes) -> str:
    """The form of a text: its first words, with N for each number and … for each string."""
    text = _NUMBER.sub(b"N", STRINGS.sub('"…"\\1'.encode(), text[: 4 * _LONGEST]))
    return text.decode("utf-8", "replace")[:_LONGEST]


# ---------------------------------------------------------------- words and JSON


def unknown_text_lines(found: Sequence[UnknownText], sets: int) -> list[str]:
    """The forms of all dumps, as `xla-lens unknown` prints them."""
    checked = f"xla-lens {__version__}: {counted(sets, 'dump')} checked"
    if not found:
        return [f"{checked}, no unknown text"]
    lines = [f"{checked}, {counted(len(found), 'form')} of unknown text"]
    for text in found:
        section = f", below `{_HEADERS[text.section]}`" if text.section is not None else ""
        file = "an HLO module" if text.first.file.kind is FileKind.HLO else f"a {text.first.file.kind} file"
        lines += [
            "",
            f"{text.count:,} × {text.kind} of {file}{section}",
            f"  form   {text.form}",
            f"  first  {text.first.file.label}:{text.first.position_from_1['row']}",
            f"  text   {_example(text)}",
        ]
    return lines


_HEADERS: Final = {
    DumpSection.BUFFER_ASSIGNMENT: "BufferAssignment:",
    DumpSection.USED_VALUES: "Used values:",
    DumpSection.LIVE_RANGES: "HloLiveRange (max N):",
    DumpSection.INSTRUCTION_SEQUENCE: "InstructionSequence:",
    DumpSection.BUFFER_LIVE_RANGES: "BufferLiveRange:",
    DumpSection.PEAK: "Live ranges at N (peak):",
    DumpSection.STACK_TRACES: "Stack trace breakdown for peak usage:",
    DumpSection.REPORT: "Total bytes",
}


_SectionName: TypeAlias = Annotated[str, one_of(section.name.lower() for section in DumpSection)]


class UnknownForm(JsonObject):
    """A form of text that XLA Lens does not know."""

    kind: TextKind
    """What kind of text it is."""
    file: FileKind
    """What the files hold that have it."""
    section: _SectionName | None
    """The section that it is in; null for the lines before the first one, and in HLO modules."""
    form: str
    """The first words of the text, with `N` for each number and `…` for each string."""
    count: CountFrom1
    """How often texts of the form appear."""
    text: str
    """The first one of them, with the text before it in its line."""
    filename: str
    """The file with the first one."""
    location: Location
    """Where the first one starts."""


def unknown_text_data(found: Sequence[UnknownText]) -> list[UnknownForm]:
    """The forms of all dumps as JSON."""
    return [
        UnknownForm(
            kind=text.kind,
            file=text.first.file.kind,
            section=None if text.section is None else text.section.name.lower(),
            form=text.form,
            count=text.count,
            text=_example(text),
            filename=text.first.file.label,
            location=Location(**text.first.position_from_1),
        )
        for text in found
    ]


_TEXT_BEFORE: Final = 60
_LONGEST_EXAMPLE: Final = 160


def _example(unknown: UnknownText) -> str:
    """What stands at the first place, as it is printed: the text before it in the line, too."""
    document, start = unknown.first.file.document, unknown.first.start
    line_start = max(document.line_at(start)[0], start - _TEXT_BEFORE)
    text = document.data[line_start : min(unknown.first.end, line_start + _LONGEST_EXAMPLE)]
    return text.decode("utf-8", "replace").partition("\n")[0]
