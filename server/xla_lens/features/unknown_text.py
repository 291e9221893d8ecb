"""What XLA Lens does not know in a dump: lines, parts of lines, instructions and shapes, grouped by their form."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.records import dataclass
from xla_lens.syntax.columns import NONE, Section
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.errors import first_error


class TextKind(StrEnum):
    """What kind of text is not known."""

    LINE = "line"
    PART = "part of a line"
    INSTRUCTION = "instruction"
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


def unknown_text(analysis: Analysis) -> list[UnknownText]:
    """Return all forms of text that are not known, the most frequent first."""
    counts: dict[Form, int] = {}
    places: dict[Form, Place] = {}
    for file in analysis.dump.files:
        for form, place in (*_unknown_lines(file), *_unknown_hlo(file)):
            counts[form] = counts.get(form, 0) + 1
            places.setdefault(form, place)
    found = [UnknownText(form, count, places[form]) for form, count in counts.items()]
    return sorted(found, key=lambda one: -one.count)


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
    columns, data = file.columns, file.document.data
    used, slices = columns.used_values, columns.slices
    quoted = np.flatnonzero(used.instruction_start != NONE)
    instructions = zip(used.instruction_start[quoted].tolist(), used.instruction_end[quoted].tolist(), strict=True)
    shapes = zip(slices.shape_start.tolist(), slices.end.tolist(), strict=True)
    for kind, section, spans in (
        (TextKind.INSTRUCTION, Section.USED_VALUES, instructions),
        (TextKind.SHAPE, Section.BUFFER_ASSIGNMENT, shapes),
    ):
        known: dict[bytes, int | None] = {}
        for start, end in spans:
            text = data[start:end]
            # Numbers do not decide whether a text parses.
            digest = _NUMBER.sub(b"0", text)
            if digest not in known:
                known[digest] = first_error(text)
            error = first_error(text) if known[digest] is not None else None
            if error is not None:
                place = Place(file, start + error, end)
                around = data[max(start, place.start - _BEFORE) : min(end, place.start + _AFTER)]
                yield Form(kind, file.kind, section, _form(around)), place


_BEFORE: Final = 16
_AFTER: Final = 6
"""How many bytes to show on each side of the first error."""


def _section_at(file: DumpFile, start: int) -> Section | None:
    """The innermost section around a byte."""
    sections = file.columns.sections
    around = np.flatnonzero((sections.start <= start) & (start < sections.end))
    return Section(int(sections.section[around[-1]])) if len(around) else None


_NUMBER: Final = re.compile(rb"\d+")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_LONGEST: Final = 200


def _form(text: bytes) -> str:
    """The form of a text: its first words, with N for each number and … for each string."""
    text = _NUMBER.sub(b"N", _STRING.sub('"…"'.encode(), text[: 4 * _LONGEST]))
    return text.decode("utf-8", "replace")[:_LONGEST]
