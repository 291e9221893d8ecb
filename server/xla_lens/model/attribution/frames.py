"""Where instructions come from in the program: their op_names and stack frames, for one instruction or many at once.

The dump quotes the metadata of instructions that define values. Until jaxlib 0.8.2 it contains a file and a line; since
then it contains a `stack_frame_id`, which the tables of the HLO module resolve. Instructions that the dump does not
quote are looked up in the module.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, metadata_frames, user_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.records import dataclass
from xla_lens.syntax.columns import NONE


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction comes from.

    `frames` are the calls that made it, innermost first, empty if they are unknown. `line` is the user frame among them
    without its column, so that calls on one line are equal. `is_unresolved` says that the metadata refers to a frame
    that no HLO module resolves.
    """

    op_name: str | None
    frames: tuple[StackFrame, ...]
    line: StackFrame | None
    is_unresolved: bool


def origins(dump: DumpSet, module: HloModule | None, names: Iterable[int]) -> dict[int, Origin]:
    """Return the origins of the instructions with some names, which may repeat."""
    found: dict[int, Origin] = {}
    frames: dict[tuple[str | None, ...], tuple[tuple[StackFrame, ...], StackFrame | None]] = {}
    for name in dict.fromkeys(names):
        instruction = dump.instruction(name)
        metadata: Mapping[str, str] = instruction.metadata() if instruction else {}
        op_name = metadata.get("op_name")
        if module and name != NONE and not any(field in metadata for field in _SOURCE_FIELDS):
            row = module.row_of(dump.names[name])
            metadata = module.metadata(row) if row != NONE else metadata
        # Thousands of instructions share one source.
        source = tuple(map(metadata.get, _SOURCE_FIELDS))
        if source not in frames:
            calls = module.frames(metadata) if module else metadata_frames(metadata)
            own = user_frame(calls)
            frames[source] = calls, replace(own, column=None) if own else None
        calls, line = frames[source]
        found[name] = Origin(op_name, calls, line, is_unresolved=not calls and source[0] is not None)
    return found


def frames_of(dump: DumpSet, module: HloModule | None, name: int) -> tuple[StackFrame, ...]:
    """Return the calls that made the instruction with a name, innermost first; empty if they are unknown."""
    return origins(dump, module, (name,))[name].frames


_SOURCE_FIELDS: Final = ("stack_frame_id", "source_file", "source_line")
