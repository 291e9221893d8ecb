"""The tooltips of document links."""

from typing import Final

from xla_lens.features.links import LinkTarget
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.render.markdown import escaped
from xla_lens.render.numbers import shortened
from xla_lens.syntax.columns import Section
from xla_lens.text.printable import printable_line

_MAX_NAME: Final = 200
_SECTIONS: Final = {
    Section.BUFFER_ASSIGNMENT: "Buffer assignment",
    Section.USED_VALUES: "Used values",
    Section.LIVE_RANGES: "Live ranges",
    Section.REPORT: "Memory usage report",
}


def link_tooltip(target: LinkTarget, *, is_markdown: bool) -> str:
    """Return the target of a link on one line. VS Code renders tooltips as Markdown, which LSP leaves open."""
    if isinstance(target, StackFrame):
        line = f":{target.line}" if target.line is not None else ""
        function = f" in {shortened(target.function, _MAX_NAME)}" if target.function else ""
        text = printable_line(f"{shortened(target.file, _MAX_NAME)}{line}{function}")
        return escaped(text) if is_markdown else text
    return _SECTIONS[target.section]
