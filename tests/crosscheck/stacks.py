"""Stack frames of instructions, ours and those of xprof."""

from collections.abc import Iterator, Mapping, Sequence

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE


def wrong_stacks(module: HloModule, theirs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Describe each difference. `theirs` lists frames by instruction, innermost first, each as ``FILE:LINE:COLUMN``."""
    for name, calls in theirs.items():
        row = module.row_of(name.encode())
        frames = module.frames(module.metadata(row)) if row != NONE else ()
        ours = [f"{frame.file}:{frame.line}:{frame.column}" for frame in frames]
        if ours != list(calls):
            yield f"{name}: ours {' < '.join(ours)}, xprof's {' < '.join(calls)}"
