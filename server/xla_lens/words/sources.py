"""Stack frames as text and Markdown."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.words.command_links import NO_LINKS, CommandLinks
from xla_lens.words.markdown import code
from xla_lens.words.numbers import shortened

_MAX_FRAMES: Final = 8


def frame_text(frame: StackFrame) -> str:
    """Return the file and line of a frame in the form that editors and terminals link: ``train.py:31``."""
    return frame.file if frame.line is None else f"{frame.file}:{frame.line}"


PARAMETERS: Final = "parameters"
"""What tells the name of an argument from a source line."""


def call_text(frame: StackFrame) -> str:
    """Return a frame with its function: ``train.py:31 in step``."""
    return frame_text(frame) + (f" in {frame.function}" if frame.function else "")


def short_frame(frame: StackFrame) -> str:
    """Return the name of the file without its folders, and the line: ``train.py:31``."""
    return frame_text(without_folder(frame))


def without_folder(frame: StackFrame) -> StackFrame:
    """Return a frame with the name of its file without its folders."""
    return replace(frame, file=_name(frame))


def brief_frame(frame: StackFrame, width: int) -> StackFrame:
    """Return a frame whose names have at most `width` characters."""
    function = shortened(frame.function, width) if frame.function else None
    return replace(frame, file=shortened(frame.file, width), function=function)


def _name(frame: StackFrame) -> str:
    return re.split(r"[/\\]", frame.file)[-1] or frame.file


def source_suffix(frames: Sequence[StackFrame], links: CommandLinks = NO_LINKS) -> str:
    """Return the line of the user's program for the end of a title: `` · train.py:31``. Empty without frames."""
    own = user_frame(frames)
    return f" · {links.source(code(short_frame(own)), own)}" if own else ""


def call_chain(frames: Sequence[StackFrame], links: CommandLinks = NO_LINKS) -> Iterator[str]:
    """Yield a call stack as a line of Markdown, innermost call first. The title has the line of the user's program, so
    that this one has the function only. A loop such as `lax.scan` repeats calls, which are shown once.
    """
    calls: dict[StackFrame, StackFrame] = {}
    for frame in frames:
        calls.setdefault(replace(frame, column=None), frame)
    own = user_frame(frames)
    # Where the user cannot follow a link, the whole path helps to find the file.
    path = code(own.file) if own and not links.uri and own.file != _name(own) else ""
    shown = [text for frame in calls.values() if (text := _call(frame, links, path, is_own=frame is own))]
    more = f" ← {len(shown) - _MAX_FRAMES} more" if len(shown) > _MAX_FRAMES else ""
    repeated = ", with repeated calls left out" if len(calls) < len(frames) else ""
    if shown:
        yield f"- {' ← '.join(shown[:_MAX_FRAMES])}{more}{repeated}"


def _call(frame: StackFrame, links: CommandLinks, path: str, *, is_own: bool) -> str:
    function = f"in {code(frame.function)}" if frame.function else ""
    if is_own:
        return f"{function} of {path}" if function and path else function or (path and f"in {path}")
    return f"{links.source(code(short_frame(frame)), frame)} {function}".rstrip()
