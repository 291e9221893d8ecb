"""Places in the source of a program, in words."""

from collections.abc import Iterator, Sequence
from typing import Final

from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.render.markdown import code

_MOST_FRAMES: Final = 8


def frame_text(frame: StackFrame) -> str:
    """The file and the line of a call, as editors and terminals read it."""
    return frame.file + (f":{frame.line}" if frame.line is not None else "")


def frame_place(frame: StackFrame) -> str:
    """The same with the column, which tells calls in one line apart. There it is counted from 1."""
    is_told = frame.line is not None and frame.column is not None
    return frame_text(frame) + (f":{(frame.column or 0) + 1}" if is_told else "")


def call_text(frame: StackFrame) -> str:
    """A call with its function: ``train.py:31 in step``."""
    return frame_text(frame) + (f" in {frame.function}" if frame.function else "")


def stack_lines(frames: Sequence[StackFrame]) -> Iterator[str]:
    """The calls that made something, as lines of Markdown: the innermost first, that of the user in bold."""
    if len(frames) == 1:
        yield f"- source {_call(frames[0])}"
        return
    own = user_frame(frames)
    if frames:
        yield "- source, the innermost call first:"
    for frame in frames[:_MOST_FRAMES]:
        call = _call(frame)
        yield f"  - **{call}**" if frame is own else f"  - {call}"
    if len(frames) > _MOST_FRAMES:
        yield f"  - and {len(frames) - _MOST_FRAMES} more"


def _call(frame: StackFrame) -> str:
    return code(frame_text(frame)) + (f" in {code(frame.function)}" if frame.function else "")
