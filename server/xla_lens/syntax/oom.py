"""XLA's out-of-memory messages in logs: the sentence, the numbers below it, and the list of buffers.

`_SENTENCES` has a row for each form of the sentence. Sources: `tf_allocator_adapter.cc`, `bfc_allocator.cc`,
`buffer_assignment.cc` and `hlo_rematerialization.cc` in XLA, and for libtpu, which is closed, the documents in
`docs/errors` of XLA and messages in public issues.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate, chain, pairwise
from typing import Any, Final

# ---------------------------------------------------------------- sizes

_SIZE: Final = (
    r"\d[\d,]{0,25}(?:\.\d{1,9})?(?:\s?(?:[KMGTPE]i?B?|bytes?|B)\b)?"
    r"(?:\s\(\s*(?:rounded\sto\s)?\d[\d,]{0,25}(?:\s?bytes|B)?\))?"
)
"""A size in powers of 1024, which may have the exact one behind it: ``15.75G``, ``3.39GiB (3640655872B)``."""

_EXACT: Final = re.compile(r"[^(]*\((?:\s*|rounded\sto\s)(\d[\d,]*(?:\s?bytes|B)?)\)")
_PARTS: Final = re.compile(r"(?P<digits>\d[\d,]*)(?:\.(?P<fraction>\d+))?(?:\s?(?:(?P<unit>[KMGTPE])i?B?|bytes?|B)\b)?")


@dataclass(frozen=True, slots=True)
class PrintedSize:
    """A size as a message prints it, and the bytes that it stands for.

    XLA rounds some sizes and truncates others. The real size is at least `least_bytes` and less than `end_bytes`.
    """

    text: str
    size_bytes: int
    least_bytes: int
    end_bytes: int

    @property
    def is_exact(self) -> bool:
        """Whether the message prints all digits."""
        return self.end_bytes - self.least_bytes == 1

    def may_be(self, size_bytes: int) -> bool:
        """Whether this text can stand for a number of bytes."""
        return self.least_bytes <= size_bytes < self.end_bytes


def printed_size(text: str | None) -> PrintedSize | None:
    """Read a size, the exact one if the text has two; None if the text does not begin with one."""
    exact = _EXACT.match(text or "")
    match = _PARTS.match(exact[1] if exact else text or "")
    if not match:
        return None
    digits, fraction = match["digits"].replace(",", ""), match["fraction"] or ""
    unit = 1024 ** ("KMGTPE".index(match["unit"]) + 1 if match["unit"] else 0)
    if unit == 1 and not fraction:
        return PrintedSize(match[0], int(digits), int(digits), int(digits) + 1)
    value, digit = Decimal(f"{digits}.{fraction or 0}") * unit, Decimal(unit).scaleb(-len(fraction))
    return PrintedSize(match[0], round(value), max(0, int(value - digit / 2)), int(value + digit) + 1)


# ---------------------------------------------------------------- messages


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
        return self.kind not in (OomKind.ALLOCATOR_WARNING, OomKind.REMATERIALIZATION)

    @property
    def hbm_capacity(self) -> PrintedSize | None:
        """The size of HBM that a program of this message may use; None if the message does not say."""
        return self.capacity if self.kind.startswith("compile") and self.space == "hbm" else None


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
    for message in (message for passage in _passages(blocks) for message in _messages(passage)):
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

_SENTENCES: Final = r"""
scoped: Ran out of memory in memory space <space> while allocating on stack for %?<subject>(?: = <shape>)?
  (?:(?:(?!Ran out of)[\s\S]){0,9000}? Scoped allocation with size <needed> and limit <capacity> exceeded
  scoped \w+ limit(?: by <excess>)?)?
scoped: Scoped allocation with size <needed> and limit <capacity> exceeded scoped <space> limit(?: by <excess>)?
compile: Ran out of memory in memory space <space>\.?(?: Used <needed> of <capacity>
  \w+(?:\. Exceeded \w+ capacity by <excess>)?)?
compile-total: (?:Ran out of memory on \w+, the total memory required for )?<named> \(<needed>\)
  exceeds available <space> \(<capacity>\)(?:\. HLO module: <module>)?
compile-cores: TPU TensorCore (?P<space>Hbm) usage: <tensorcore>, SparseCore Hbm usage:? <sparsecore>,
  exceeding available bytes: <capacity>
compile-allocation: Allocation \(size=<needed>\) would exceed memory \(size=<capacity>\)(?: :: #\w+
  \[shape = '<shape>', space=<space>(?:, size = 0x[\da-f]+)?(?:, tag = '<tag>')?)?
load-program: Error loading program(?: '<module>')?: Attempting to (?:reserve|allocate) <needed>(?: at the bottom
  of memory)?\. That was not possible\. There are <free> free(?:, <reserved> reserved, and <reservable> reservable)?
allocate: (?:Error allocating device buffer: )?Attempting to (?:allocate|reserve) <needed>(?: at the bottom
  of memory)?\. That was not possible\. There are <free> free(?:, <reserved> reserved, and <reservable> reservable)?
  (?:\. The largest contiguous region of free memory is <contiguous>)?
allocate: Out of (?:(?P<space>host) )?memory (?:while trying to allocate|allocating) <needed>(?: with
  allocator <subject> on device \d+)?(?:\.?\s*\[executable_name='<module>'\])?
allocator-warning: Allocator \(<subject>\) ran out of memory trying to allocate <needed>
allocate: Failed to allocate request for <needed> on device ordinal \d+
allocator-warning: (?:(?P<subject>cuMemAllocAsync) )?failed to allocate <needed>(?: from device)?(?=[:\s]|$)
shared-memory: Shared memory size limit exceeded: requested <needed>, available: <capacity>
rematerialization: Can't reduce memory use below <capacity> by rematerialization; only reduced to <needed>(?:,
  down from <original>)?
list: Total <space> usage >= <total>:
list: Largest program allocations in <space>:
list: BufferAssignment OOM Debugging\.
"""
"""All forms of the first sentence: the kind of message and a regular expression, in which `<name>` is a part, by
default a size, and a blank is any white space, since logs wrap lines. Indented lines go on, joined without a blank if
they begin with a bracket. Where two forms match at the same place, the first one counts. A list without a sentence is a
message of its own only if no message precedes it.
"""

_NAME: Final = r"[\w.-]{1,500}"
_PARTS_OF_SENTENCES: Final = {
    "space": r"\w+",
    "subject": _NAME,
    "module": _NAME,
    "named": r"[A-Z]\w+(?:\s+\w+){0,3}",
    "shape": r"\((?:[^()]|\([^()]{0,200}\)){0,2000}\)|\S{1,500}",
    "tag": r"[^']{1,2000}",
}


def _pattern(sentence: str) -> re.Pattern[str]:
    spaced = re.sub(r"\s+", r"\\s+", re.sub(r"\n\s+(?=\()", "", sentence))
    parts = re.sub(
        r"(?<!P)<(\w+)>", lambda match: f"(?P<{match[1]}>{_PARTS_OF_SENTENCES.get(match[1], _SIZE)})", spaced
    )
    return re.compile(parts)


_PATTERNS: Final = [
    (OomKind(kind), _pattern(sentence))
    for kind, sentence in (row.split(": ", 1) for row in re.split(r"\n(?! )", _SENTENCES.strip()))
]

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


def _messages(lines: "_Passage") -> Iterator[OomMessage]:
    text = "\n".join(line for _, line in lines)
    found: list[tuple[OomKind, re.Match[str]]] = []
    for start, _, kind, match in sorted(
        (match.start(), row, kind, match)
        for row, (kind, sentence) in enumerate(_PATTERNS)
        for match in sentence.finditer(text)
    ):
        is_inside = found and start < found[-1][1].end()
        is_list_below = kind is OomKind.LIST and found and found[-1][0] is not OomKind.REMATERIALIZATION
        if not is_inside and not is_list_below:
            found.append((kind, match))
    starts = [*accumulate((len(line) + 1 for _, line in lines), initial=0)]
    ends = [*(match.start() for _, match in found), len(text)]
    for (kind, match), (_, end) in zip(found, pairwise(ends), strict=True):
        line, _ = lines[bisect_right(starts, match.start()) - 1]
        before = text[max(0, match.start() - 200) : match.start()]
        codes = _CODE.findall(before[before.rfind("RESOURCE_EXHAUSTED") :])
        below = text[match.start() if kind is OomKind.LIST else match.end() : end].split("\n")
        yield _message(kind, match, line, codes[-1] if codes else None, below)


def _message(kind: OomKind, match: re.Match[str], line: int, code: str | None, below: Iterable[str]) -> OomMessage:
    words = {name: " ".join(text.split()) for name, text in match.groupdict().items() if text}
    numbers = ("needed", "capacity", "excess", "free")
    needed, capacity, excess, free = (printed_size(words.get(name)) for name in numbers)
    facts = [OomFact("", name, printed_size(words[group])) for group, name in _IN_SENTENCE.items() if group in words]
    if "named" in words:
        facts.append(OomFact("", words["named"], needed))
    buffers = [*_buffer_of_sentence(kind, words, needed)]
    space, is_cut_off = _read_below(below, facts, buffers)
    hbm = next((fact.size for fact in facts if fact.name == "HBM capacity"), None)
    return OomMessage(
        kind=kind,
        line=line,
        sentence=" ".join(match[0].split()),
        code=code,
        space=(words.get("space") or space or ("hbm" if hbm else "")).lower() or None,
        module=words.get("module", "").rstrip(".") or None,
        subject=words.get("subject"),
        needed=needed,
        capacity=capacity or hbm,
        excess=excess,
        free=free,
        facts=tuple(facts),
        buffers=tuple(buffers),
        is_cut_off=is_cut_off,
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

# Loggers may print anything in front of a line, so these are searched.
_GROUP: Final = re.compile(
    rf"(?P<name>Total (?P<space>\w+) usage(?= >=)|Program (?P<space2>\w+) requirement|BufferAssignment stats"
    rf"|HBM capacity|Heap allocator status|Persistent allocations include some or all of"
    rf"|Largest program allocations in (?P<space3>\w+))(?: >=)?\s*(?P<size>{_SIZE}|unknown(?: size)?)?\s*:"
)
_FACT: Final = re.compile(
    rf"(?P<name>[A-Za-z_][\w -]{{1,40}}?(?:\s?\([^()]{{1,60}}\))?)(?::\s+|\s{{2,}}|(?<=\))\s)"
    rf"(?P<size>{_SIZE}|unknown(?: size)?)\s*(?P<note>[(\[].*)?$"
)
_OUTPUT: Final = re.compile(rf"Output size (?:(?P<size>{_SIZE})|unknown)(?:; shares (?P<shared>{_SIZE}))?")
_ENTRY: Final = re.compile(r"\bBuffer (\d{1,9}):|(?:^|\s)(\d{1,9})\.\s+(?=Size: \d)")
_END: Final = re.compile(r"={8,}")
_FIELDS: Final = {
    "Size": "size",
    "Operator": "operator",
    "Shape": "shape",
    "Unpadded size": "unpadded",
    "Extra memory due to padding": "padding",
    "XLA label": "label",
    "XLA Label": "label",
    "Allocation type": "allocation_type",
    "Tag": "tag",
    "Entry Parameter Subshape": "parameter_shape",
}
_FIELD: Final = re.compile(rf"\b({'|'.join(_FIELDS)}): ?(.*)")
_LABEL: Final = re.compile(
    r"%?(?P<name>[\w.-]+) = (?:\(.{0,4000}\)\s|\S{1,500}\s)?(?P<opcode>[a-z][a-z0-9-]*)\(|(?P<only>[a-z][a-z0-9-]*)\Z"
)
_METADATA: Final = re.compile(r'(op_name|source_file)="((?:[^"\\]|\\.)*)"|(source_line)=(\d{1,9})')

_LONGEST_FIELD: Final = 20_000


def _read_below(lines: Iterable[str], facts: list[OomFact], buffers: list[OomBuffer]) -> tuple[str | None, bool]:
    """Read what is below a sentence into `facts` and `buffers`. Return the memory space that it names, and whether the
    list of buffers is cut off.
    """
    entries: list[dict[str, str]] = []
    space: str | None = None
    is_open, group, last = False, "", ""
    for whole in lines:
        line = whole[:_LONGEST_FIELD]
        if match := _ENTRY.search(line):
            entries.append({"number": match[1] or match[2]})
            is_open, last, line = True, "", line[match.end() :]
        if is_open and _END.search(line):
            is_open = False
        elif is_open and (match := _FIELD.search(line)):
            last = _FIELDS[match[1]]
            entries[-1][last] = match[2]
        elif is_open and last and line.strip():
            # A long label or op_name that the log wraps.
            entries[-1][last] = f"{entries[-1][last]} {line.strip()}"[:_LONGEST_FIELD]
        elif match := _GROUP.search(line):
            space = space or match["space"] or match["space2"] or match["space3"]
            if not match["space3"]:
                group = match["name"]
                facts += [OomFact("", group, printed_size(match["size"]))] if match["size"] else []
        elif match := _OUTPUT.search(line):
            facts.append(OomFact("", "Output size", printed_size(match["size"])))
            if match["shared"]:
                facts.append(OomFact("", "Output shared with arguments", printed_size(match["shared"])))
        elif group and (match := _FACT.search(line)):
            facts.append(OomFact(group, match["name"], printed_size(match["size"]), match["note"] or ""))
    buffers += map(_buffer, entries)
    return space, is_open


def _buffer(fields: Mapping[str, str]) -> OomBuffer:
    label, parameter = fields.get("label"), fields.get("parameter_shape")
    named = _LABEL.match(label or "")
    operator: dict[str, Any] = {
        match[1] or match[3]: match[2] or match[4] for match in _METADATA.finditer(fields.get("operator", ""))
    }
    return OomBuffer(
        number=int(fields["number"]),
        shape=(parameter or fields.get("shape", "")).strip() or None,
        name=named["name"] if named else None,
        opcode=named["opcode"] or named["only"] if named else None,
        label=label,
        op_name=operator.get("op_name"),
        source_file=operator.get("source_file"),
        source_line=int(operator["source_line"]) if "source_line" in operator else None,
        allocation_type=fields.get("allocation_type"),
        tag=fields.get("tag"),
        is_parameter=parameter is not None,
        **{name: printed_size(fields.get(name)) for name in ("size", "unpadded", "padding")},
    )


# ---------------------------------------------------------------- logs

_Passage = list[tuple[int, str]]
"""Lines of a log that may contain messages, with their numbers from 1, or parts of lines with escaped line ends. They
are without colors, carriage returns, and whatever loggers, clusters and terminals print in front of a line.
"""

_NEEDLES: Final = (
    b"ut of memory",
    b"RESOURCE_EXHAUSTED",
    b"exceed memory",
    b"Attempting to ",
    b"was not possible",
    b"reduce memory use",
    b"Largest program alloc",
    b"OOM Debugging",
    b"exceeds available",
    b"Hbm usage",
    b"Scoped allocation",
    b"ailed to allocate",
    b"size limit exceeded",
)
"""Each message contains one of these in its first lines, however it is wrapped. Logs have hundreds of megabytes, so
blocks without any of them are skipped as a whole.
"""

_BODY: Final = re.compile(
    r"Size:|Operator:|[Ss]hape:|XLA [Ll]abel|Allocation type|Unpadded size|Extra memory|={8}|Tag:|Buffer \d|"
    r"allocation:|fragmentation|usage >=|requirement|stats:|[Pp]eak buffers|Output size|"
    r"^\s*(?:reserved|program|arguments|global|scoped|HLO temp)\s{2}"
)
"""The lines that may follow the sentence of a message."""

_IDLE_LINES: Final = 12
"""A passage ends after so many lines that belong to no message."""

_LONGEST_NEEDLE: Final = 64
_LONGEST_LINE: Final = 1 << 20
_LONGEST_PASSAGE: Final = 4 << 20
"""Longer lines and passages are cut, in bytes. The longest real message is 20 KB long."""

_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")

_WORKER: Final = re.compile(r"\s*\([^()]{0,80}\bpid=\d+[^()]{0,80}\)")
"""What Ray and vLLM print in front of each line of a worker. The lines of several workers alternate."""

_PREFIX: Final = re.compile(
    r"""(?:\s*(?:
        \([^()]{0,80}\bpid=\d+[^()]{0,80}\)                                   # (EngineCore pid=106339)
      | \[?(?:\d{4}-)?\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?!\S)
      | \d\d:\d\d:\d\d+(?:[.,]\d+)?:?(?!\S)                                   # 07:35:00.272763
      | (?:stdout|stderr)\ [FP](?!\S)                                         # the container runtime of Kubernetes
      | (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?::[\w.]{0,60}:|:|(?!\S))
      | [IWEF](?:\d{4})?(?!\S)
      | \d{1,16}(?=\s+[\w./\\-]{1,200}:\d+\])                                 # the number of a thread
      | \[?[\w./\\-]{1,200}:\d+\]                                             # xla_util.cc:76]
      | >(?!\S)                                                               # quoted text
      | \|(?!\S)
    )[ ]?)+""",
    re.VERBOSE,
)


def _has_needle(data: bytes) -> bool:
    return any(needle in data for needle in _NEEDLES)


def _passages(blocks: Iterable[bytes]) -> Iterator[_Passage]:
    """The passages of a log that is read in blocks; a passage has the lines of one process."""
    number, rest = 1, b""
    lines: list[tuple[int, bytes]] = []
    size = idle = 0
    for block in chain(blocks, (b"\n",)):
        data = rest + block
        has_needle = _has_needle(data)
        if not lines and not has_needle:
            number += data.count(b"\n")
            rest = data[data.rfind(b"\n") + 1 :]
            rest = rest if len(rest) <= _LONGEST_LINE else rest[-_LONGEST_NEEDLE:]
            continue
        *whole, rest = data.split(b"\n")
        pieces, rest = (whole, rest) if len(rest) <= _LONGEST_LINE else ([*whole, rest], b"")
        for place, line in enumerate(pieces, number):
            is_needle = has_needle and _has_needle(line)
            if lines or is_needle:
                lines.append((place, line))
                size += len(line)
                idle = 0 if is_needle or _BODY.search(line[:4096].decode("utf-8", "replace")) else idle + 1
            if idle >= _IDLE_LINES or size > _LONGEST_PASSAGE:
                yield from _by_process(lines)
                lines, size, idle = [], 0, 0
        number += len(whole)
    yield from _by_process(lines)


def _by_process(lines: Iterable[tuple[int, bytes]]) -> Iterator[_Passage]:
    found: dict[str, _Passage] = {}
    for number, line in lines:
        text = _ANSI.sub("", line.decode("utf-8", "replace"))
        if "\\n" in text and _has_needle(line):
            # A structured log, or the `repr` of an exception.
            text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        worker = _WORKER.match(text)
        own = found.setdefault(worker[0].strip() if worker else "", [])
        # Progress bars end with a carriage return.
        own += ((number, _cleaned(part)) for part in re.split(r"[\r\n]", text) if part)
    yield from (own for own in found.values() if own)


def _cleaned(text: str) -> str:
    prefix = _PREFIX.match(text)
    return text[prefix.end() :].rstrip() if prefix else text.rstrip()
