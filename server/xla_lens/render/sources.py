"""Stack frames as text and Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.render.markdown import code

_MAX_FRAMES: Final = 8


def frame_text(frame: StackFrame) -> str:
    """Return the file and line of a frame in the form that editors and terminals link: ``train.py:31``."""
    return frame.file + (f":{frame.line}" if frame.line is not None else "")


def frame_place(frame: StackFrame) -> str:
    """Return `frame_text` with the column, counted from 1, which tells calls in one line apart."""
    has_column = frame.line is not None and frame.column is not None
    return frame_text(frame) + (f":{(frame.column or 0) + 1}" if has_column else "")


def call_text(frame: StackFrame) -> str:
    """Return a frame with its function: ``train.py:31 in step``."""
    return frame_text(frame) + (f" in {frame.function}" if frame.function else "")


def stack_lines(frames: Sequence[StackFrame]) -> Iterator[str]:
    """Yield a call stack as lines of Markdown, innermost frame first, with the user frame in bold."""
    if len(frames) == 1:
        yield f"- source {_call(frames[0])}"
        return
    own = user_frame(frames)
    if frames:
        yield "- source, the innermost call first:"
    for frame in frames[:_MAX_FRAMES]:
        call = _call(frame)
        yield f"  - **{call}**" if frame is own else f"  - {call}"
    if len(frames) > _MAX_FRAMES:
        yield f"  - and {len(frames) - _MAX_FRAMES} more"


def _call(frame: StackFrame) -> str:
    return code(frame_text(frame)) + (f" in {code(frame.function)}" if frame.function else "")
