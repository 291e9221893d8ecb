"""XLA's out-of-memory messages as dataclasses: the sentence, the numbers below it, and the list of buffers.

The sentences are in the table `_SENTENCES`, one row for each form. Sources: `tf_allocator_adapter.cc`,
`bfc_allocator.cc`, `buffer_assignment.cc` and `hlo_rematerialization.cc` in XLA, and for libtpu, which is closed, the
documents in `docs/errors` of XLA and messages in public issues.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Final

from xla_lens.syntax.oom.log import LogLine, Passage, passages
from xla_lens.syntax.oom.sizes import SIZE, PrintedSize, printed_size


class OomKind(StrEnum):
    """What ran out of memory, and when."""

    COMPILE = "compile"
    COMPILE_TOTAL = "compile-total"
    COMPILE_CORES = "compile-cores"
    COMPILE_ALLOCATION = "compile-allocation"
    SCOPED = "scoped"
    LOAD_PROGRAM = "load-program"
    ALLOCATE = "allocate"
    ALLOCATOR_WARNING = "allocator-warning"
    SHARED_MEMORY = "shared-memory"
    REMATERIALIZATION = "rematerialization"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class OomFact:
    """A number in a message. `group` is the heading that it is under, empty in the sentence itself. `size` is None
    where the message says that it is unknown. `note` is what the message adds in brackets.
    """

    group: str
    name: str
    size: PrintedSize | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class OomBuffer:
    """A buffer that a message lists. What the message does not say is None.

    `name` and `opcode` come from the XLA label, `op_name`, `source_file` and `source_line` from the operator.
    `is_parameter` is whether the message calls it an entry parameter.
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


@dataclass(frozen=True, slots=True)
class OomMessage:
    """An out-of-memory message.

    `line` is the line of the log where it begins, `times` how often the log has it. `sentence` is its first sentence.
    `code` is an error code such as E1000, `space` the memory space in XLA's words, `module` the HLO module, `subject`
    the instruction or allocator it is about. `needed`, `capacity`, `excess` and `free` are the numbers of the sentence.
    `is_cut_off` is whether the list of buffers stops in the middle of a buffer.
    """

    kind: OomKind
    line: int
    sentence: str
    code: str | None = None
    space: str | None = None
    module: str | None = None
    subject: str | None = None
    needed: PrintedSize | None = None
    capacity: PrintedSize | None = None
    excess: PrintedSize | None = None
    free: PrintedSize | None = None
    facts: tuple[OomFact, ...] = ()
    buffers: tuple[OomBuffer, ...] = ()
    is_cut_off: bool = False
    times: int = 1

    @property
    def is_failure(self) -> bool:
        """Whether the program failed; XLA's warnings come before other errors, or before none."""
        return self.kind not in (OomKind.ALLOCATOR_WARNING, OomKind.REMATERIALIZATION)

    @property
    def hbm_capacity(self) -> PrintedSize | None:
        """The size of HBM that a program of this message may use; None if the message does not say."""
        kinds = (OomKind.COMPILE, OomKind.COMPILE_TOTAL, OomKind.COMPILE_CORES, OomKind.COMPILE_ALLOCATION)
        return self.capacity if self.kind in kinds and self.space == "hbm" else None


@dataclass(frozen=True, slots=True)
class OomLog:
    """The messages of a log, in its order, each once. `left_out` counts those beyond `MOST_MESSAGES`."""

    messages: tuple[OomMessage, ...]
    left_out: int


MOST_MESSAGES: Final = 1000


def read_oom_log(blocks: Iterable[bytes]) -> OomLog:
    """Return the out-of-memory messages in a log that is read in blocks."""
    found: dict[object, OomMessage] = {}
    left_out = 0
    for message in (message for passage in passages(blocks) for message in _messages(passage)):
        key = (message.kind, message.space, message.module, message.needed, message.capacity, message.free)
        before = found.get(key)
        if before:
            # Python prints an exception twice, and each process of a job prints its own. One copy may be cut off.
            best = max(before, message, key=lambda one: (len(one.buffers), len(one.facts)))
            found[key] = replace(best, line=before.line, times=before.times + 1)
        elif len(found) < MOST_MESSAGES:
            found[key] = message
        else:
            left_out += 1
    return OomLog(tuple(sorted(found.values(), key=lambda message: message.line)), left_out)


# ---------------------------------------------------------------- sentences

_SPACED: Final = re.compile(r"(?<!\[) (?!\])")


def _sentence(text: str) -> re.Pattern[str]:
    """Compile a sentence: `<name>` is a size, and a blank is any whitespace, since logs wrap lines."""
    spaced = _SPACED.sub(r"\\s+", text)
    return re.compile(re.sub(r"(?<!P)<(\w+)>", lambda match: rf"(?P<{match[1]}>{SIZE})", spaced))


_NAME: Final = r"[\w.-]{1,500}"
_SHAPE: Final = r"\((?:[^()]|\([^()]{0,200}\)){0,2000}\)|\S{1,500}"

_SENTENCES: Final = tuple(
    (kind, _sentence(text))
    for kind, text in (
        (
            OomKind.SCOPED,
            rf"Ran out of memory in memory space (?P<space>\w+) while allocating on stack for %?(?P<subject>{_NAME})"
            rf"(?: = (?P<shape>{_SHAPE}))?(?:(?:(?!Ran out of)[\s\S]){{0,9000}}?"
            r" Scoped allocation with size <needed> and limit <capacity> exceeded scoped \w+ limit(?: by <excess>)?)?",
        ),
        (
            OomKind.SCOPED,
            r"Scoped allocation with size <needed> and limit <capacity> exceeded scoped (?P<space>\w+) limit"
            r"(?: by <excess>)?",
        ),
        (
            OomKind.COMPILE,
            r"Ran out of memory in memory space (?P<space>\w+)\.?"
            r"(?: Used <needed> of <capacity> \w+(?:\. Exceeded \w+ capacity by <excess>)?)?",
        ),
        (
            OomKind.COMPILE_TOTAL,
            r"(?:Ran out of memory on \w+, the total memory required for )?(?P<named>[A-Z]\w+(?: \w+){0,3})"
            rf" \(<needed>\) exceeds available (?P<space>\w+) \(<capacity>\)(?:\. HLO module: (?P<module>{_NAME}))?",
        ),
        (
            OomKind.COMPILE_CORES,
            r"TPU TensorCore (?P<space>Hbm) usage: <tensorcore>, SparseCore Hbm usage:? <sparsecore>,"
            r" exceeding available bytes: <capacity>",
        ),
        (
            OomKind.COMPILE_ALLOCATION,
            r"Allocation \(size=<needed>\) would exceed memory \(size=<capacity>\)"
            r"(?: :: #\w+ \[shape = '(?P<shape>[^']{1,2000})', space=(?P<space>\w+)"
            r"(?:, size = 0x[\da-f]+)?(?:, tag = '(?P<tag>[^']{1,2000})')?)?",
        ),
        (
            OomKind.LOAD_PROGRAM,
            rf"Error loading program(?: '(?P<module>{_NAME})')?: Attempting to (?:reserve|allocate) <needed>"
            r"(?: at the bottom of memory)?\. That was not possible\. There are <free> free"
            r"(?:, <reserved> reserved, and <reservable> reservable)?",
        ),
        (
            OomKind.ALLOCATE,
            r"(?:Error allocating device buffer: )?Attempting to (?:allocate|reserve) <needed>"
            r"(?: at the bottom of memory)?\. That was not possible\. There are <free> free"
            r"(?:, <reserved> reserved, and <reservable> reservable)?"
            r"(?:\. The largest contiguous region of free memory is <contiguous>)?",
        ),
        (
            OomKind.ALLOCATE,
            r"Out of (?:(?P<space>host) )?memory (?:while trying to allocate|allocating) <needed>"
            r"(?: with allocator (?P<subject>\w+) on device \d+)?"
            rf"(?:\.?\s*\[executable_name='(?P<module>{_NAME})'\])?",
        ),
        (
            OomKind.ALLOCATOR_WARNING,
            r"Allocator \((?P<subject>\w+)\) ran out of memory trying to allocate <needed>",
        ),
        (OomKind.ALLOCATE, r"Failed to allocate request for <needed> on device ordinal \d+"),
        (
            OomKind.ALLOCATOR_WARNING,
            r"(?:(?P<subject>cuMemAllocAsync) )?failed to allocate <needed>(?: from device)?(?=[: ]|$)",
        ),
        (OomKind.SHARED_MEMORY, r"Shared memory size limit exceeded: requested <needed>, available: <capacity>"),
        (
            OomKind.REMATERIALIZATION,
            r"Can't reduce memory use below <capacity> by rematerialization; only reduced to <needed>"
            r"(?:, down from <original>)?",
        ),
        (OomKind.LIST, r"Total (?P<space>\w+) usage >= <total>:"),
        (OomKind.LIST, r"Largest program allocations in (?P<space>\w+):"),
        (OomKind.LIST, r"BufferAssignment OOM Debugging\."),
    )
)
"""All forms of the first sentence. Where two match at the same place, the first one counts. A list without a sentence
is a message of its own only if no message precedes it.
"""

_IN_SENTENCE: Final = {
    "tensorcore": "TensorCore usage",
    "sparsecore": "SparseCore usage",
    "reserved": "reserved",
    "reservable": "reservable",
    "contiguous": "largest free block",
    "original": "before rematerialization",
}
"""The other numbers of sentences, and how we name them."""

_CODE: Final = re.compile(r"\b(E\d{4}):")


def _messages(lines: Passage) -> Iterator[OomMessage]:
    text = "\n".join(line.text for line in lines)
    found: list[tuple[OomKind, re.Match[str]]] = []
    for start, _, kind, match in sorted(
        (match.start(), row, kind, match)
        for row, (kind, sentence) in enumerate(_SENTENCES)
        for match in sentence.finditer(text)
    ):
        is_inside = found and start < found[-1][1].end()
        is_list_below = kind is OomKind.LIST and found and found[-1][0] is not OomKind.REMATERIALIZATION
        if not is_inside and not is_list_below:
            found.append((kind, match))
    starts = [*accumulate((len(line.text) + 1 for line in lines), initial=0)]
    ends = [*(match.start() for _, match in found), len(text)]
    for (kind, match), (_, end) in zip(found, pairwise(ends), strict=True):
        line = lines[bisect_right(starts, match.start()) - 1]
        before = text[max(0, match.start() - 200) : match.start()]
        body = _body(text[match.start() if kind is OomKind.LIST else match.end() : end].split("\n"))
        yield _message(kind, match, line, before[before.rfind("RESOURCE_EXHAUSTED") :], body)


def _message(kind: OomKind, match: re.Match[str], line: LogLine, before: str, body: "_Body") -> OomMessage:
    words = {name: " ".join(text.split()) for name, text in match.groupdict().items() if text}
    needed = printed_size(words.get("needed"))
    facts = [OomFact("", name, printed_size(words[group])) for group, name in _IN_SENTENCE.items() if group in words]
    if "named" in words:
        facts.append(OomFact("", words["named"], needed))
    code = _CODE.findall(before)
    return OomMessage(
        kind=kind,
        line=line.number,
        sentence=" ".join(match[0].split()),
        code=code[-1] if code else None,
        space=(words.get("space") or body.space or ("hbm" if body.capacity else "")).lower() or None,
        module=words.get("module", "").rstrip(".") or None,
        subject=words.get("subject"),
        needed=needed,
        capacity=printed_size(words.get("capacity")) or body.capacity,
        excess=printed_size(words.get("excess")),
        free=printed_size(words.get("free")),
        facts=(*facts, *body.facts),
        buffers=(*_buffer_of_sentence(kind, words, needed), *map(_buffer, body.entries)),
        is_cut_off=body.is_cut_off,
    )


def _buffer_of_sentence(kind: OomKind, words: Mapping[str, str], needed: PrintedSize | None) -> Iterator[OomBuffer]:
    if "shape" in words:
        tag = words.get("tag")
        tagged = _TAGGED.search(tag or "")
        # The scratch memory of an instruction is not the buffer that it defines.
        is_scratch = kind is OomKind.SCOPED or (tag or "").startswith("scoped")
        yield OomBuffer(
            size=None if is_scratch else needed,
            shape=None if tag and is_scratch else words["shape"],
            name=tagged[0] if tagged else words.get("subject"),
            tag=tag,
        )


_TAGGED: Final = re.compile(r"(?<=output of )[\w.-]+|(?<=scoped memory for )[\w.-]+")

# ---------------------------------------------------------------- what is below a sentence


@dataclass(slots=True)
class _Body:
    """What is below a sentence. `entries` are the buffers of the list, as the fields of each by name."""

    space: str | None = None
    capacity: PrintedSize | None = None
    facts: list[OomFact] = field(default_factory=list)
    entries: list[dict[str, str]] = field(default_factory=list)
    is_cut_off: bool = False


_UNKNOWN: Final = r"unknown(?: size)?"

# Loggers may print anything in front of a line, so these are searched.
_GROUP: Final = re.compile(
    rf"(?P<name>Total (?P<space>\w+) usage >=|Program (?P<space2>\w+) requirement|BufferAssignment stats"
    rf"|HBM capacity|Heap allocator status|Persistent allocations include some or all of)"
    rf"\s*(?P<size>{SIZE}|{_UNKNOWN})?:"
)
_FACT: Final = re.compile(
    rf"(?P<name>[A-Za-z_][\w -]{{1,40}}?(?:\s?\([^()]{{1,60}}\))?)(?::\s+|\s{{2,}}|(?<=\))\s)"
    rf"(?P<size>{SIZE}|{_UNKNOWN})\s*(?P<note>[(\[].*)?$"
)
_OUTPUT: Final = re.compile(rf"Output size (?:(?P<size>{SIZE})|unknown)(?:; shares (?P<shared>{SIZE}))?")
_LIST: Final = re.compile(r"Largest program allocations in (?P<space>\w+)\s*:")
_ENTRY: Final = re.compile(r"\bBuffer (\d{1,9}):|(?:^|\s)(\d{1,9})\.\s+(?=Size: \d)")
_END: Final = re.compile(r"={8,}")
_FIELD: Final = re.compile(
    r"\b(Size|Operator|Shape|Unpadded size|Extra memory due to padding|XLA label|XLA Label|Allocation type|Tag|"
    r"Entry Parameter Subshape): ?(.*)"
)
_LABEL: Final = re.compile(r"%?(?P<name>[\w.-]+) = (?:\(.{0,4000}\)\s|\S{1,500}\s)?(?P<opcode>[a-z][a-z0-9-]*)\(")
_OPCODE: Final = re.compile(r"[a-z][a-z0-9-]*")
_METADATA: Final = re.compile(r'(op_name|source_file)="((?:[^"\\]|\\.)*)"|(source_line)=(\d{1,9})')

_LONGEST_FIELD: Final = 20_000


def _body(lines: Iterable[str]) -> _Body:
    body = _Body()
    group = last = ""
    for whole in lines:
        line = whole[:_LONGEST_FIELD]
        if match := _ENTRY.search(line):
            body.entries.append({"number": match[1] or match[2]})
            body.is_cut_off, last, line = True, "", line[match.end() :]
        entry = body.entries[-1] if body.is_cut_off else None
        if entry and _END.search(line):
            body.is_cut_off = False
        elif entry and (match := _FIELD.search(line)):
            last = match[1]
            entry[last] = match[2]
        elif entry and last and line.strip():
            # A long label or op_name that the log wraps.
            entry[last] = f"{entry[last]} {line.strip()}"[:_LONGEST_FIELD]
        elif match := _GROUP.search(line):
            group, size = match["name"].removesuffix(" >="), printed_size(match["size"])
            body.space = body.space or match["space"] or match["space2"]
            if match["size"]:
                body.facts.append(OomFact("", group, size))
            body.capacity = body.capacity or (size if group == "HBM capacity" else None)
        elif match := _LIST.search(line):
            body.space = body.space or match["space"]
        elif match := _OUTPUT.search(line):
            body.facts.append(OomFact("", "Output size", printed_size(match["size"])))
            if match["shared"]:
                body.facts.append(OomFact("", "Output shared with arguments", printed_size(match["shared"])))
        elif group and (match := _FACT.search(line)):
            body.facts.append(OomFact(group, match["name"], printed_size(match["size"]), match["note"] or ""))
    return body


def _buffer(fields: Mapping[str, str]) -> OomBuffer:
    label = fields.get("XLA label") or fields.get("XLA Label")
    named = _LABEL.match(label) if label else None
    metadata = {match[1] or match[3]: match[2] or match[4] for match in _METADATA.finditer(fields.get("Operator", ""))}
    parameter = fields.get("Entry Parameter Subshape")
    return OomBuffer(
        number=int(fields["number"]),
        size=printed_size(fields.get("Size")),
        shape=(parameter or fields.get("Shape", "")).strip() or None,
        name=named["name"] if named else None,
        opcode=named["opcode"] if named else label if label and _OPCODE.fullmatch(label) else None,
        label=label,
        op_name=metadata.get("op_name"),
        source_file=metadata.get("source_file"),
        source_line=int(metadata["source_line"]) if "source_line" in metadata else None,
        unpadded=printed_size(fields.get("Unpadded size")),
        padding=printed_size(fields.get("Extra memory due to padding")),
        allocation_type=fields.get("Allocation type"),
        tag=fields.get("Tag"),
        is_parameter=parameter is not None,
    )
