"""What the compiler for TPUs logs about each program that it compiles, also if the program fits.

I1128 07:51:35.109811 3479 deepsea_compiler_backend.cc:2125] XLA::TPU module name: jit_loss
I1128 07:51:35.109826 3479 deepsea_compiler_backend.cc:2127] XLA::TPU program HBM usage: 128.56M / 15.75G
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from xla_lens.syntax.oom import PrintedSize, printed_size

_LINE: Final = re.compile(
    rb"XLA::TPU (?:module name: (?P<module>[\w.-]{1,500})"
    rb"|program HBM usage: [\d.]{1,25}\w{0,3} / (?P<capacity>[\d.]{1,25}\w{0,3}))"
)


class CompiledProgram(NamedTuple):
    """A program that was compiled. `module` is None if the log does not name it. `hbm_capacity` is the size of HBM
    that the program may use.
    """

    module: str | None
    hbm_capacity: PrintedSize


def read_compile_log(log: bytes) -> Iterator[CompiledProgram]:
    """Yield the programs in a log whose use of HBM the compiler logged."""
    module = None
    for line in _LINE.finditer(log):
        if line["module"]:
            module = line["module"].decode()
        elif capacity := printed_size(line["capacity"].decode()):
            yield CompiledProgram(module, capacity)
            module = None
