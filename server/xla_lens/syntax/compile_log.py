"""What the compiler for TPUs logs about each program that it compiles, also if the program fits.

I1128 07:51:35.109811 3479 deepsea_compiler_backend.cc:2125] XLA::TPU module name: jit_loss
I1128 07:51:35.109826 3479 deepsea_compiler_backend.cc:2127] XLA::TPU program HBM usage: 128.56M / 15.75G
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from xla_lens.syntax.printed_size import PrintedSize, printed_size
from xla_lens.text.patterns import lazy_pattern

_LINE: Final = lazy_pattern(
    rb"XLA::TPU (?:module name: (?P<module>[\w.-]{1,500})"
    rb"|program (?P<space>[A-Z]{1,20}) usage: (?P<used>[\d.]{1,25}\w{0,3}) / (?P<capacity>[\d.]{1,25}\w{0,3}))"
)


class SpaceUse(NamedTuple):
    """What a program needs of a memory space, and what it may use. `space` is in the words of the log, such as HBM."""

    space: str
    used: PrintedSize
    capacity: PrintedSize


class CompiledProgram(NamedTuple):
    """A program that was compiled. `module` is None if the log does not name it. `uses` begins with HBM."""

    module: str | None
    uses: tuple[SpaceUse, ...]

    @property
    def hbm_capacity(self) -> PrintedSize:
        """The size of HBM that the program may use."""
        return self.uses[0].capacity


def read_compile_log(log: bytes) -> Iterator[CompiledProgram]:
    """Yield the programs in a log whose use of HBM the compiler logged."""
    module: str | None = None
    uses: list[SpaceUse] = []
    for line in _LINE.finditer(log):
        space = line["space"].decode() if line["space"] else None
        if uses and space in (None, "HBM"):
            yield CompiledProgram(module, tuple(uses))
            module, uses = None, []
        if space is None:
            module = line["module"].decode()
        elif uses or space == "HBM":
            used, capacity = printed_size(line["used"].decode()), printed_size(line["capacity"].decode())
            if used and capacity:
                uses.append(SpaceUse(space, used, capacity))
    if uses:
        yield CompiledProgram(module, tuple(uses))


def keeping_compiler_lines(blocks: Iterable[bytes], lines: list[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a log, and append to `lines` what `read_compile_log` reads, without keeping the log."""
    rest = b""
    for block in blocks:
        data = rest + block
        lines += [line[0] for line in _WHOLE_LINE.finditer(data)]
        rest = data[data.rfind(b"\n") + 1 :][-_LONGEST_LINE:]
        yield block
    lines += [line[0] for line in _WHOLE_LINE.finditer(rest + b"\n")]


_WHOLE_LINE: Final = lazy_pattern(rb"XLA::TPU (?:module name|program [A-Z]{1,20} usage): .{0,600}(?=\n)")
_LONGEST_LINE: Final = 2000
