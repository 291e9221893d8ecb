"""The calls that made an instruction, by us and by xprof."""

from collections.abc import Iterator, Mapping, Sequence

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE


def wrong_stacks(module: HloModule, told: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What is told otherwise: `told` are the calls by instruction, the innermost first, each ``FILE:LINE:COLUMN``."""
    for name, calls in told.items():
        row = module.row_of(name.encode())
        frames = module.frames(module.metadata(row)) if row != NONE else ()
        ours = [f"{frame.file}:{frame.line}:{frame.column}" for frame in frames]
        if ours != list(calls):
            yield f"{name}: {' < '.join(ours)}, and by xprof {' < '.join(calls)}"
