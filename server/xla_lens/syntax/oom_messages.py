"""What XLA's out-of-memory messages say, as `oom.py` reads them. Reading needs many patterns; reports in JSON only name
what is read.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from xla_lens.syntax.columns import Rows
from xla_lens.syntax.printed_size import PrintedSize


class OomKind(StrEnum):
    """What ran out of memory, and when."""

    COMPILE = "compile"
    COMPILE_TOTAL = "compile-total"
    COMPILE_CORES = "compile-cores"
    COMPILE_ALLOCATION = "compile-allocation"
    ESTIMATE = "estimate"
    ARGUMENTS = "arguments"
    SCOPED = "scoped"
    SPARSECORE = "sparsecore"
    LOAD_PROGRAM = "load-program"
    ALLOCATE = "allocate"
    ALLOCATOR_WARNING = "allocator-warning"
    COMMAND_BUFFER = "command-buffer"
    PINNED_HOST = "pinned-host"
    EMBEDDING = "embedding"
    SHARED_MEMORY = "shared-memory"
    REMATERIALIZATION = "rematerialization"
    DRIVER = "driver"
    KILLED = "killed"
    LIST = "list"
    UNKNOWN = "unknown"


class DumpSum(StrEnum):
    """A sum over the allocations of a memory space, or its peak. A program is everything but its parameters."""

    RESERVED = "reserved"
    TEMPORARIES = "temporaries"
    PARAMETERS = "parameters"
    PROGRAM = "program"
    OUTPUTS = "outputs"
    CONSTANTS = "constants"
    PEAK = "peak"


class OomFact(Struct, frozen=True):
    """A number in a message. `group` is the heading that it is under, None in the sentence itself. `size` is None
    where the message says that it is unknown, and for a `count`, such as that of graphs. `note` is what the message
    adds in brackets.

    `join_oom` fills in the rest: `equals` are the sums of the dump that the number may be, within the rounding of the
    message, and `meant` is the sum that its name stands for, None if the name stands for none.
    """

    group: str | None
    name: str
    size: PrintedSize | None
    note: str | None = None
    count: int | None = None
    equals: tuple[DumpSum, ...] = ()
    meant: DumpSum | None = None

    @property
    def is_misnamed(self) -> bool:
        """Whether the number is another sum than the one that its name stands for."""
        return self.meant is not None and bool(self.equals) and self.meant not in self.equals


class MatchedBy(StrEnum):
    """How a listed buffer was found in the dump: by its name, or by its shape and size, with or without its op_name."""

    NAME = "name"
    OP_NAME = "op_name"
    SHAPE = "shape"


class OomBuffer(Struct, frozen=True):
    """A buffer that a message lists. What the message does not say is None.

    `name` and `opcode` come from the XLA label, `op_name`, `source_file` and `source_line` from the operator.
    `is_parameter` is whether the message calls it an entry parameter.

    `join_oom` fills in the rest: `values` are the rows of `DumpSet.values` that the buffer may be. Where there are
    several, the message does not tell them apart. `is_other_size` is whether the dump has the name, but with another
    size.
    """

    number: int | None = None
    size: PrintedSize | None = None
    shape: str | None = None
    name: str | None = None
    opcode: str | None = None
    label: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    unpadded: PrintedSize | None = None
    padding: PrintedSize | None = None
    allocation_type: str | None = None
    tag: str | None = None
    is_parameter: bool = False
    values: Rows = ()
    matched_by: MatchedBy | None = None
    is_other_size: bool = False


WARNINGS: Final = frozenset(
    {OomKind.ALLOCATOR_WARNING, OomKind.REMATERIALIZATION, OomKind.ARGUMENTS, OomKind.PINNED_HOST}
)
"""The kinds that do not end a program by themselves."""


class OomMessage(Struct, frozen=True):
    """An out-of-memory message.

    `line` is the line of the log where it begins, `times` how often the log has it. `sentence` is its first sentence.
    `code` is an error code such as E1000, `space` the memory space in XLA's words, `module` the HLO module, `subject`
    the instruction or allocator it is about. `needed`, `capacity`, `excess` and `free` are the numbers of the sentence.
    For an allocator that printed its statistics, `free` is its limit without what is in use.
    `is_cut_off` is whether the list of buffers stops in the middle of a buffer.
    """

    kind: OomKind
    line: int
    sentence: str
    code: str | None
    space: str | None
    module: str | None
    subject: str | None
    needed: PrintedSize | None
    capacity: PrintedSize | None
    excess: PrintedSize | None
    free: PrintedSize | None
    facts: tuple[OomFact, ...]
    buffers: tuple[OomBuffer, ...]
    is_cut_off: bool
    times: int = 1

    @property
    def is_failure(self) -> bool:
        """Whether the program failed; XLA's warnings come before other errors, or before none."""
        return self.kind not in WARNINGS

    @property
    def hbm_capacity(self) -> PrintedSize | None:
        """The size of HBM that a program of this message may use; None if the message does not say."""
        return self.capacity if self.kind.startswith("compile") and self.space == "hbm" else None


class OomLog(NamedTuple):
    """The messages of a log, in its order, each once. `left_out` counts those beyond `MOST_MESSAGES`."""

    messages: tuple[OomMessage, ...]
    left_out: int
