"""Out-of-memory messages in the JSON that `xla-lens oom` prints, from which `make docs` generates
`docs/oom.schema.json`. Sizes are in bytes.
"""

from typing import Annotated

from msgspec import Meta

from xla_lens.model.warrants import Bound
from xla_lens.oom.candidates import ChosenBy
from xla_lens.syntax.oom_messages import DumpSum, MatchedBy, OomKind
from xla_lens.words.json_types import Count, CountFrom1, Files, JsonObject, Value, keyed_by


class Size(JsonObject):
    """A size as the message prints it. XLA rounds or truncates, so the real size is in a range."""

    text: str
    """The size in the words of the message, such as `15.75G`. Units are powers of 1024."""
    size_bytes: Count
    """The printed size."""
    least_bytes: Count
    """The least real size."""
    most_bytes: Count
    """The greatest real size."""


class Fact(JsonObject):
    """A number of a message."""

    group: str | None
    """The heading that the number is under; null in the sentence itself."""
    name: str
    """The name of the number in the message."""
    size: Size | None
    """The number; null if the message calls it unknown, and for counts."""
    count: int | None
    """The number, if it counts something, such as graphs."""
    note: str | None
    """What the message adds in brackets."""
    equals: list[DumpSum]
    """The sums of the dump that the number may be, within its rounding."""
    meant: DumpSum | None
    """The sum that the name stands for; null if it stands for none."""


class SizedValue(Value):
    """A value of the dump with its size."""

    size_bytes: Annotated[int, Meta(ge=-1)]
    """Its assigned size; -1 if it is in no allocation."""


class Buffer(JsonObject):
    """A buffer that a message lists. What the message does not say is null."""

    number: int | None
    """Its number in the list."""
    size: Size | None
    """Its size."""
    shape: str | None
    """Its shape."""
    name: str | None
    """The name of its instruction, from the XLA label."""
    opcode: str | None
    """The opcode of its instruction."""
    label: str | None
    """The XLA label."""
    op_name: str | None
    """Its op_name."""
    source_file: str | None
    """The source file of its instruction."""
    source_line: int | None
    """The line in that file."""
    unpadded: Size | None
    """Its size without padding."""
    padding: Size | None
    """The padding."""
    allocation_type: str | None
    """The type of its allocation, such as `HLO temp`."""
    tag: str | None
    """The tag of its allocation, such as `scratch operand`."""
    is_parameter: bool
    """Whether the message calls it an entry parameter."""
    values: list[SizedValue]
    """The values of the dump that it may be; several if the message does not tell them apart."""
    matched_by: MatchedBy | None
    """How it was found in the dump; null if it was not."""
    is_other_size: bool
    """Whether the dump has the name, but with another size."""


class BoundedSize(JsonObject):
    """A sum over allocations, or the peak."""

    size_bytes: Count
    """The sum."""
    bound: Bound
    """Whether the sum is exact; the dump may be cut off."""


class Dump(JsonObject):
    """The dump that a message is about."""

    files: Files
    """The path of each file of the dump by what the file holds."""
    count: CountFrom1
    """The number of dumps that the message may be about."""
    chosen_by: ChosenBy
    """Why: `module`: the message names it, and it is the only dump of that name; `buffers`: it has the listed buffers;
    `number`: one of its sums is a number of the message; `biggest`: of the dumps of that name, it reserves the most;
    `only`: there is no other.
    """
    sums: Annotated[dict[DumpSum, BoundedSize], keyed_by(DumpSum)]
    """The sums over the allocations in the memory space of the message."""


class SpaceUse(JsonObject):
    """What a program needs of a memory space."""

    memory_space: str
    """The memory space in the words of the log, such as `hbm` or `vmem`."""
    used: Size
    """What the program needs."""
    capacity: Size
    """What it may use."""


class CompiledProgram(JsonObject):
    """What the compiler for TPUs logged about a program."""

    module: str | None
    """The name of the HLO module; null if the log does not name it."""
    uses: list[SpaceUse]
    """The memory spaces, HBM first."""


class Message(JsonObject):
    """An out-of-memory message. What the message does not say is null."""

    kind: OomKind
    """What ran out of memory, and when."""
    line: CountFrom1
    """The line of the log where the message begins, counted from 1."""
    sentence: str
    """The first sentence, without line breaks."""
    code: str | None
    """The error code, such as `E1000`."""
    module: str | None
    """The name of the HLO module."""
    subject: str | None
    """The instruction or the allocator that the sentence is about."""
    needed: Size | None
    """The size that was needed or requested."""
    capacity: Size | None
    """The size that was available, or the limit."""
    short_by_bytes: int | None
    """By how much `needed` exceeds `capacity`, or `free`: as the message gives it, or else their difference, which is
    no more exact than they are; null if it does not.
    """
    excess: Size | None
    """The difference of the two, if the message gives it."""
    free: Size | None
    """The size that was free. For an allocator that printed its statistics, its limit without what is in use."""
    facts: list[Fact]
    """The numbers with names, in the order of the message."""
    buffers: list[Buffer]
    """The buffers that the message lists, in its order."""
    is_cut_off: bool
    """Whether the list stops in the middle of a buffer."""
    times: CountFrom1
    """How often the log has the message."""
    memory_space: str | None
    """The memory space in the words of the message, such as `hbm`, `vmem`, `smem` or `host`."""
    is_failure: bool
    """Whether the program failed; otherwise XLA only warned."""
    dump: Dump | None
    """The dump that the message is about; null if there is none, and after the first 20 failures."""
