"""Words and JSON for the text that XLA Lens does not know: material for a bug report."""

from collections.abc import Sequence
from typing import Any, Final

from xla_lens import __version__
from xla_lens.features.unknown_text import UnknownText
from xla_lens.render.numbers import counted
from xla_lens.syntax.columns import Section
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


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


_BEFORE: Final = 60
_LONGEST: Final = 160


def _example(one: UnknownText) -> str:
    """What stands at the first place, as it is printed: the text before it in the line, too."""
    document, start = one.first.file.document, one.first.start
    line_start = max(document.line_span(document.row(start))[0], start - _BEFORE)
    text = document.data[line_start : min(one.first.end, line_start + _LONGEST)]
    return text.decode("utf-8", "replace").partition("\n")[0]


def _position(one: UnknownText) -> dict[str, int]:
    row, column = to_position(one.first.file.document, one.first.start, Encoding.UTF32)
    return {"row": row + 1, "column": column + 1}
