"""What made the values of a dump: the op_name and the line of the program of many instructions at once.

`frames_of` tells the same of one instruction, with all of its calls, and may parse it; here the metadata is read
without a tree.
"""

from dataclasses import dataclass, replace
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.quotes import Quotes
from xla_lens.model.hlo.stack_frames import StackFrame, own_frame, told_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction comes from. `frame` is its innermost call outside of libraries, of which no column is told.
    None is what is not known.
    """

    op_name: str | None
    frame: StackFrame | None


def origins(dump: DumpSet, module: HloModule | None, names: Column) -> dict[int, Origin]:
    """For each of some names, which may be there several times, where its instruction comes from. What the dump says of
    it is the same in the HLO module, which tells of calls, and of instructions that the dump does not quote.
    """
    quotes, found = Quotes(dump), dict[int, Origin]()
    frames: dict[tuple[str | None, ...], StackFrame | None] = {}
    for name in dict.fromkeys(names.tolist()):
        metadata = quotes.metadata(name)
        op_name = metadata.get("op_name")
        if module and not any(field in metadata for field in _SOURCE):
            row = module.instruction(dump.names[name])
            metadata = module.metadata(row) if row != NONE else metadata
        # Thousands of instructions have the same.
        source = tuple(map(metadata.get, _SOURCE))
        if source not in frames:
            own = own_frame(module.frames(metadata) if module else told_frame(metadata))
            frames[source] = replace(own, column=None) if own else None
        found[name] = Origin(op_name, frames[source])
    return found


_SOURCE: Final = ("stack_frame_id", "source_file", "source_line")
