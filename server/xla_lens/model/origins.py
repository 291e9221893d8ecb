"""What made the values of a dump: the op_name and the line of the program of many instructions at once.

`frames_of` tells the same of one instruction, with all of its calls, and may parse it; here the metadata is read
without a tree.
"""

from dataclasses import dataclass, replace

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.hlo_module import HloModule
from xla_lens.model.quotes import Quotes
from xla_lens.model.stack_frames import StackFrame, own_frame, told_frame
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction comes from. `frame` is its innermost call outside of libraries, of which no column is told.
    None is what is not known.
    """

    op_name: str | None
    frame: StackFrame | None


def origins(dump: DumpSet, module: HloModule | None, names: Column) -> dict[int, Origin]:
    """For each of some names, which may be there several times, where its instruction comes from. The op_name is what
    the dump says, the line what the HLO module says of those that it has.
    """
    quotes, found = Quotes(dump), dict[int, Origin]()
    for name in dict.fromkeys(names.tolist()):
        told = quotes.metadata(name)
        row = module.instruction(dump.names[name]) if module else NONE
        metadata = module.metadata(row) if module and row != NONE else told
        frames = module.frames(metadata) if module else told_frame(metadata)
        own = own_frame(frames)
        found[name] = Origin(told.get("op_name"), replace(own, column=None) if own else None)
    return found
