"""What links say where they lead."""

from typing import Final

from xla_lens.features.links import LinkTarget
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.render.numbers import shortened
from xla_lens.syntax.columns import Section

_WIDEST: Final = 200
_SECTIONS: Final = {
    Section.BUFFER_ASSIGNMENT: "Buffer assignment",
    Section.USED_VALUES: "Used values",
    Section.LIVE_RANGES: "Live ranges",
    Section.REPORT: "Memory usage report",
}


def link_tooltip(target: LinkTarget) -> str:
    """Where a link leads, plain text on one line."""
    if isinstance(target, StackFrame):
        line = f":{target.line}" if target.line is not None else ""
        function = f" in {shortened(target.function, _WIDEST)}" if target.function else ""
        return f"{shortened(target.file, _WIDEST)}{line}{function}"
    return _SECTIONS[target.section]
