"""Which calls of a program an instruction of a dump comes from."""

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.hlo_module import HloModule
from xla_lens.model.stack_frames import StackFrame
from xla_lens.syntax.columns import NONE


def frames_of(dump: DumpSet, module: HloModule | None, name: int) -> tuple[StackFrame, ...]:
    """The calls that made an instruction, by the number of its name, the innermost first. The dump itself tells of one
    until jaxlib 0.8.2 and of none since: then they stand in the HLO module.
    """
    row = module.instruction(dump.names[name]) if module and name != NONE else NONE
    if module and row != NONE:
        return module.frames(module.metadata(row))
    instruction = dump.instruction(name) if name != NONE else None
    if instruction is None:
        return ()
    if module and instruction.stack_frame_id is not None:
        return module.frames({"stack_frame_id": str(instruction.stack_frame_id)})
    return (StackFrame(instruction.source_file, instruction.source_line),) if instruction.source_file else ()
