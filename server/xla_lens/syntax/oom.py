"""XLA's out-of-memory messages in logs: the sentence, the numbers below it, and the list of buffers.

`_SENTENCES` has a row for each form of the sentence. Sources: `tf_allocator_adapter.cc`, `bfc_allocator.cc`,
`buffer_assignment.cc` and `hlo_rematerialization.cc` in XLA, and for libtpu, which is closed, the documents in
`docs/errors` of XLA and messages in public issues.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from xla_lens.syntax.oom_messages import OomBuffer, OomFact, OomKind, OomLog, OomMessage
from xla_lens.syntax.printed_size import SIZE, PrintedSize, printed_size
from xla_lens.text.patterns import lazy_pattern

MOST_MESSAGES: Final = 1000


def read_oom_log(blocks: Iterable[bytes]) -> OomLog:
    """Return the out-of-memory messages in a log that is read in blocks."""
    found: dict[object, OomMessage] = {}
    left_out = 0
    for message in chain.from_iterable(map(_most_messages, _passages(blocks))):
        sizes = (size and size.size_bytes for size in (message.needed, message.capacity, message.free))
        key = (message.kind, message.space, message.module, *sizes)
        if before := found.get(key):
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
scoped: Ran out of memory in memory space <space>\.? (?:(?!Ran out of|Used \d)[\s\S]){0,200}?Scoped allocation with
  size <needed> and limit <capacity> exceeded scoped \w+ limit(?: by <excess>)?
scoped: Scoped allocation with size <needed> and limit <capacity> exceeded scoped <space> limit(?: by <excess>)?
scoped: SparseCore async scoped (?P<space>VMEM) allocation \(<needed>\) exceeds limit \(<capacity>\)(?: at
  instruction %?<subject>)?
sparsecore: current allocation offset upper bound \(<needed>\) exceeds the legitimate user allocatable offset upper
  bound \(<capacity>\)(?: in memory space <space>)?(?: when allocating <last_allocation>)?
sparsecore: (?:Fixed|Variable) size allocations \([^()=]{1,120}= <needed>\) do not fit in (?P<space>TileSpmem)
  \(<capacity>\)
sparsecore: (?:does not fit|Cannot fit [\w ]{1,60}) in (?P<space>[Tt]ile[Ss]pmem|Spmem)\b
sparsecore: because it exceeds (?P<space>Spmem) limit\. Required: <needed>
sparsecore: (?P<space>TileSpmem|Smem) high-water mark exceeds memory capacity
sparsecore: (?P<space>SCS) high-Smem usage exceeds Smem capacity(?: <capacity>)?
sparsecore: Row pointers would exceed available (?P<space>SCS) Smem(?: \(<needed> > <capacity>\))?
compile: Ran out of memory in memory space <space>\.?(?: Used <needed> of <capacity>
  \w+(?:\. Exceeded \w+ capacity by <excess>)?)?(?:\. HLO module: <module>)?
compile: Used <needed> of <capacity> (?P<space>hbm|vmem|smem|cmem|sflag)\b(?:\. Exceeded \w+ capacity by <excess>)?
  (?:\. HLO module: <module>)?
compile: exceeds (?P<space>scalar|vector) memory size \(<capacity>
compile: Requested (?P<space>HBM) usage exceeds the max: <capacity>
compile: Gather op with operand shape <shape> does not fit in memory on TPUs
compile: Overcoloring scalars causes (?P<space>VMEM) OOM
compile: Gather slice does not fit in (?P<space>VMEM)
compile: Exceeded (?P<space>hbm|vmem|smem|cmem|sflag) capacity by <excess>
compile-total: (?:Ran out of memory on \w+, the total memory required for )?<named> \(<needed>\)
  exceeds available <space> \(<capacity>\)(?:\. HLO module: <module>)?
compile-cores: TPU TensorCore (?P<space>Hbm) usage: <TensorCore_usage>, SparseCore Hbm usage:? <SparseCore_usage>,
  exceeding available bytes: <capacity>
compile-allocation: Allocation \(size=<needed>\) would exceed memory \(size=<capacity>\)(?: :: #\w+
  \[shape = '<shape>', space=<space>(?:, size = 0x[\da-f]+)?(?:, tag = '<tag>')?)?
estimate: (?:Aborting compilation early because it's )?unlikely to have enough device memory\.?(?: Requires <needed>
  (?:, has <capacity> available)?)?
arguments: The byte size of input/output arguments \(<needed>\)(?: exceeds the base limit(?: \(<capacity>\))?)?
load-program: Attempting to load a program that failed compilation due to OOM
load-program: Error loading program(?: '<module>')?: Attempting to (?:reserve|allocate) <needed>(?: at the bottom
  of memory)?(?:\. That was not possible)?(?:\. There are <free> free(?:, <reserved> reserved, and
  <reservable> reservable)?)?
allocate: Error allocating device buffer: Attempting to (?:allocate|reserve) <needed>(?: at the bottom
  of memory)?(?:\. That was not possible)?(?:\. There are <free> free(?:, <reserved> reserved, and
  <reservable> reservable)?)?(?:\. The largest contiguous region of free memory is <largest_free_block>)?
allocate: Attempting to (?:allocate|reserve) <needed>(?: at the bottom
  of memory)?\. That was not possible(?:\. There are <free> free(?:, <reserved> reserved, and
  <reservable> reservable)?)?(?:\. The largest contiguous region of free memory is <largest_free_block>)?
embedding: TPU embedding: out of memory allocating <needed>
embedding: Found TPU table with (?P<space>HBM) usage: <needed> that does not fit in available space: <capacity>
embedding: Could not fit merged_table: %?<subject> in the TPU (?P<space>HBM)
embedding: The current embedding configuration does not fit on the TPU due to (?P<space>HBM) space constraints
allocate: Out of (?:(?P<space>host) )?memory (?:while trying to allocate|allocating) <needed>(?: with
  allocator <subject> on device \d+)?(?:\.?\s*\[executable_name='<module>'\])?
pinned-host: [Ff]ailed to alloc(?:ate)? (?:an? )?<needed>(?: on host\b|\W{1,3}(?:byte )?(?:of )?(?:pinned )?host\b)
pinned-host: (?:could not|Failed to) allocate pinned host memory of size:? <needed>
pinned-host: Failed to allocate an? <needed>-byte (?:pinned host|buffer from the custom host)
pinned-host: [Ff]ailed to allocate (?:coherent )?host memory
pinned-host: OOM in pinned host allocator
command-buffer: ran out of memory trying to instantiate (?:command buffer|(?:CUDA )?graph)(?: with <commands>
  (?: nodes and <conditionals> conditionals)?)?(?: \(total of <alive_graphs> alive)?
allocator-warning: Allocator \(<subject>\) ran out of memory trying to allocate <needed>
allocate: Failed to allocate <needed> (?:of aligned|for) (?P<space>host)
allocate: OOM when allocating (?:temporary )?tensor with shape\s?\[[\d,]*\](?: and type \w+ on \S+ by allocator
  <subject>)?
allocate: Failed to allocate request for <needed> on device ordinal \d+
allocate: Failed to allocate [\w ]{1,60} \(<needed>\) (?:of (?P<space>unified) memory|from \w+)
allocate: Failed to allocate (?:<needed> from \w+ memory|nvshmem collective memory|managed memory|memory with VMM)
allocate: Out of heap memory! Requested: <needed>(?: \(aligned\))?, Current heap size: <capacity>
allocate: [Ff]ailed to allocate (?:(?:host memory for )?transfer buffer|scratch memory|[\w ]{1,20} workspace|work area
  |[\w ]{1,40} barrier buffers|output offsets buffer|\S{1,40} for all-reduce|dropout state)
allocate: (?:Exceeded memory limit|CUDA error) \(failed to allocate <needed>
allocate: (?:Not enough memory to|Allocator failed to) allocate:? <needed>
allocate: (?:Failed|Unable) to allocate (?:\w+ )?buffer (?:of )?size:? <needed>(?: from mmap buffer with <free> free)?
allocate: Unable to allocate <needed> for an array with shape
allocate: failed to allocate memory(?= \[Op:)
allocator-warning: Autotuning candidate failed with out of memory
allocator-warning: Allocating <needed> exceeds the memory limit of <capacity>
allocator-warning: (?:(?P<subject>cuMemAllocAsync) )?failed to allocate <needed>(?: from device)?(?=[:\s]|$)
shared-memory: (?P<space>Shared) memory size limit exceeded: requested <needed>(?:, available: <capacity>)?
  (?:, context: \[?<subject>)?
shared-memory: (?<![\w.])<needed> of (?P<space>shared) memory, which exceeds the device limit of <capacity>
shared-memory: (?P<space>Tensor) memory size limit exceeded
rematerialization: Can't reduce memory use below (?:<capacity>|-<over_the_limit>) by rematerialization
  (?:; only reduced to <needed>)?(?:, down from <before_rematerialization>)?
driver: (?:(?:[Ff]ailed|Could not) [\w -]{1,60}(?:\([^()]{1,80}\)\.?)?: )?
  (?:CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory|HIP_ERROR_OutOfMemory)
driver: CU(?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS_ALLOC_FAILED
driver: could not create \w+ event: out of device memory
driver: Failure to initialize cublas may be due to OOM
driver: (?:Cuda|CUDA|HIP) failure (?:\d+ )?'out of memory'
killed: (?:Out|cgroup out) of memory: Kill(?:ed)? process \d+ \(<subject>\)
killed: \bOOMKilled\b
killed: Detected \d+ oom[_-]kill events?
list: Total <space> usage >= [^:]{1,40}:
list: Largest program allocations in <space>:
list: BufferAssignment OOM Debugging\.
unknown: (?:(?<=RESOURCE_EXHAUSTED:)|(?<=ResourceExhaustedError:)|(?<=E\d\d\d\d:)(?= (?:Compile|Run)[Tt]ime\w+:))
  (?! E\d\d\d\d:) [^\n]{0,300}?(?:\n[^\n]{0,100}?)?
  (?:(?i:memory|\boom\b|alloc|\b(?:hbm|[vs]mem|bytes|[KMG]iB)\b)[^\n]{0,300})
"""
"""All forms of the first sentence: the kind of message and a regular expression. A blank is any white space, since logs
wrap lines. Indented lines go on, joined without a blank if they begin with a bracket or a bar. Where two forms match at
the same place, the first one counts. A list without a sentence is a message of its own only if no message precedes it,
and an error of a driver, or one that no other form reads, only if the lines around it hold no other message.

Whatever people leave out when they quote a sentence is optional. `<name>` is a part: a field of the message, or the
name that we give a number. By default it is a size.
"""

_NAME: Final = r"[\w.-]{1,500}"
_TEXTS: Final = {
    "space": r"\w+",
    "subject": _NAME,
    "module": _NAME,
    "named": r"[A-Z]\w+(?:\s+\w+){0,3}",
    "shape": r"\((?:[^()]|\([^()]{0,200}\)){0,2000}\)|\S{1,500}",
    "tag": r"[^']{1,2000}",
}
"""The parts that are no sizes."""

_COUNTS: Final = ("commands", "conditionals", "alive_graphs")
"""The parts that are counts."""

_NUMBERS: Final = ("needed", "capacity", "excess", "free")
"""The sizes that are fields of the message. The others are facts."""


def _pattern(sentence: str) -> re.Pattern[str]:
    spaced = re.sub(r"\s+", r"\\s+", re.sub(r"\n\s+(?=[(|])", "", sentence))
    parts = _TEXTS | dict.fromkeys(_COUNTS, r"\d{1,9}")
    return re.compile(re.sub(r"(?<!P)<(\w+)>", lambda name: f"(?P{name[0]}{parts.get(name[1], SIZE)})", spaced))


@cache
def _forms() -> dict[re.Pattern[str], OomKind]:
    """The patterns of all sentences. Compiling them takes longer than a report of a small dump, which needs none."""
    rows = (row.split(": ", 1) for row in re.split(r"\n(?! )", _SENTENCES.strip()))
    return {_pattern(sentence): OomKind(kind) for kind, sentence in rows}


_CODE: Final = lazy_pattern(
    r"(?s)(?:RESOURCE_EXHAUSTED(?!.*RESOURCE_EXHAUSTED).*|(?<![A-Z_])(?=E\d{4}:\s+(?:Compile|Run)[Tt]ime\w+:))\b(E\d{4}):"
)
"""An error code, such as E1000, shortly before a sentence."""


_ALONE: Final = (OomKind.DRIVER, OomKind.UNKNOWN)


def _most_messages(lines: "_Passage") -> list[OomMessage]:
    """The messages of a passage. A terminal, a mail or a chat may have wrapped its lines: they are joined again where
    that shows more, or as much in fewer messages, of which the others are parts.
    """
    return max(
        ([*_messages(way)] for way in _unwrapped(lines)), key=lambda messages: (_shown(messages), -len(messages))
    )


def _shown(messages: Iterable[OomMessage]) -> int:
    """How much messages say, those of one kind together as much as the best of them."""
    most = dict.fromkeys(OomKind, 0)
    for one in messages:
        parts = (one.needed, one.capacity, one.excess, one.free, one.module, one.subject)
        of_buffers = (part for each in one.buffers for part in (each.shape, each.size, each.source_line))
        known = (*parts, *(fact.size for fact in one.facts), *of_buffers)
        most[one.kind] = max(most[one.kind], 1 + sum(part is not None for part in known))
    return sum(size for kind, size in most.items() if kind is not OomKind.UNKNOWN)


def _unwrapped(lines: "_Passage") -> "list[_Passage]":
    """What a passage may have been before its lines were wrapped, the likeliest first: in the middle of words, as
    terminals do with lines that are full, or between words.
    """
    width = max((line.width for line in lines), default=0)
    if not _NARROWEST <= width <= _WIDEST:
        return [lines]
    # A blank at the end of a full line is not copied.
    in_words = _joined(lines, lambda line: {width: "", width - 1: " "}.get(line.width))
    between_words = _joined(lines, lambda line: " " if line.width * 2 > width else None)
    # One line is always the longest. Where there are several, the numbers at their ends are cut.
    is_likely = len({line.text for line in lines if line.width == width}) > 1
    ways = [in_words, lines, between_words] if is_likely else [lines, in_words, between_words]
    return [way for way in ways if way is lines or len(way) < len(lines)]


def _joined(lines: "_Passage", between: "Callable[[_Line], str | None]") -> "_Passage":
    """The lines with what stands between each and the next, None if they are two. What has the prefix of a logger
    begins a line.
    """
    joined: _Passage = []
    text: str | None = None
    for line in lines:
        if text is not None and line.text.strip() and not line.is_logged:
            joined[-1] = joined[-1]._replace(text=f"{joined[-1].text}{text}{line.text.strip() if text else line.text}")
        else:
            joined.append(line)
        text = between(line)
    return joined


_NARROWEST: Final = 40
_WIDEST: Final = 250
"""The widths to which lines are wrapped."""


def _messages(lines: "_Passage") -> Iterator[OomMessage]:
    forms, text = _forms(), "\n".join(line.text for line in lines)
    matches = [*chain.from_iterable(form.finditer(text) for form in forms)]
    if any(forms[match.re] not in (*_ALONE, OomKind.REMATERIALIZATION) for match in matches):
        # XLA repeats the error of a driver in its own message.
        matches = [match for match in matches if forms[match.re] not in _ALONE]
    found: list[re.Match[str]] = []
    # The order of the forms decides between those that start at the same place.
    for match in sorted(matches, key=lambda one: one.start()):
        above = forms[found[-1].re] if found else None
        is_list_below = forms[match.re] is OomKind.LIST and above not in (None, OomKind.REMATERIALIZATION)
        if not is_list_below and (not found or match.start() >= found[-1].end()):
            found.append(match)
    row = last = 0
    for match, end in zip(found, [*(match.start() for match in found[1:]), len(text)], strict=False):
        row, last = row + text.count("\n", last, match.start()), match.start()
        code = _CODE.search(text, max(0, last - 200), last)
        below = text[last if forms[match.re] is OomKind.LIST else match.end() : end]
        yield _message(match, lines[row].number, code and code[1], below)


def _message(match: re.Match[str], line: int, code: str | None, below: str) -> OomMessage:
    kind = _forms()[match.re]
    words = {name: " ".join(text.split()) for name, text in match.groupdict().items() if text}
    counts = [OomFact(None, _spaced(name), None, count=int(words[name])) for name in _COUNTS if name in words]
    sizes = {name: printed_size(text) for name, text in words.items() if name not in (*_TEXTS, *_COUNTS)}
    needed, capacity, excess, free = map(sizes.get, _NUMBERS)
    buffers, outside, is_cut_off = _buffers(_in_lines(below))
    own = {_spaced(name): size for name, size in sizes.items() if name not in _NUMBERS}
    own |= {words["named"]: needed} if "named" in words else {}
    facts = (*(OomFact(None, name, size) for name, size in own.items()), *counts, *_facts(outside))
    hbm = next((fact.size for fact in facts if fact.name == "HBM capacity"), None)
    is_host = kind in (OomKind.PINNED_HOST, OomKind.KILLED) or " for an array with shape" in match[0]
    space = words.get("space") or next(iter(_SPACE.findall(outside)), "hbm" if hbm else "host" if is_host else None)
    return OomMessage(
        kind=kind,
        line=line,
        sentence=" ".join(match[0].split()),
        code=code,
        space=_SPACE_WORDS.get(space, space.lower()) if space else None,
        module=words.get("module", "").rstrip(".") or None,
        subject=words.get("subject"),
        needed=needed,
        capacity=capacity or hbm,
        excess=excess,
        free=free or _not_in_use(facts),
        facts=facts,
        buffers=(*_buffer_of_sentence(kind, words, needed), *buffers),
        is_cut_off=is_cut_off,
    )


def _spaced(name: str) -> str:
    return name.replace("_", " ")


_SPACE_WORDS: Final = {
    "0": "smem",
    "201": "tilespmem",
    "202": "spmem",
    "203": "hbm",
    "204": "sflag",
    "scalar": "smem",
    "vector": "vmem",
}
"""Other words for memory spaces: the numbers of SparseCores, from `docs/errors/error_3000.md` of XLA, and libtpu's."""


def _not_in_use(facts: Iterable[OomFact]) -> PrintedSize | None:
    """The part of its limit that an allocator has left, from its statistics; None if the message has none."""
    sizes = {fact.name: fact.size.size_bytes for fact in facts if fact.group == "Stats" and fact.size}
    free_bytes = max(0, sizes["Limit"] - sizes["InUse"]) if {"Limit", "InUse"} <= sizes.keys() else None
    return printed_size(None if free_bytes is None else str(free_bytes))


def _buffer_of_sentence(kind: OomKind, words: Mapping[str, str], needed: PrintedSize | None) -> Iterator[OomBuffer]:
    if "shape" in words:
        tag = words.get("tag", "")
        tagged = _TAGGED.search(tag)
        # The scratch memory of an instruction is not the buffer that it defines.
        is_scratch = kind is OomKind.SCOPED or tag.startswith("scoped")
        yield OomBuffer(
            size=None if is_scratch else needed,
            shape=None if tag and is_scratch else words["shape"],
            name=tagged[0] if tagged else words.get("subject"),
            tag=tag or None,
        )


_TAGGED: Final = lazy_pattern(r"(?<=output of )[\w.-]+|(?<=scoped memory for )[\w.-]+")

# ---------------------------------------------------------------- what is below a sentence

# Loggers may print anything in front of a line, so these are searched.
_SPACE: Final = lazy_pattern(
    r"(?:(?<=\bTotal )|(?<=\bProgram ))\w+(?= usage >=| requirement)|(?<=program allocations in )\w+"
)
_GROUP: Final = lazy_pattern(
    r"(Total \w+ usage(?= >=)|Program \w+ requirement|BufferAssignment stats|HBM capacity|Heap allocator status"
    rf"|Persistent allocations include some or all of|(?<=\] )Stats|^Stats)(?: >=)?\s*({SIZE}|unknown(?: size)?)?\s*:"
)
_STATISTICS: Final = ("Limit", "InUse", "MaxInUse", "MaxAllocSize", "Reserved", "PeakReserved", "LargestFreeBlock")
"""The sizes in the statistics of an allocator of GPUs. The other number, `NumAllocs`, is a count."""
_FACT: Final = lazy_pattern(
    r"([A-Za-z_][\w -]{1,40}?(?:\s?\([^()]{1,60}\))?)(?::\s+|\s{2,}|(?<=\))\s)"
    rf"({SIZE}|unknown(?: size)?)\s*([(\[].*)?$"
)
_OUTPUT: Final = lazy_pattern(rf"Output size (?:({SIZE})|unknown)(?:; shares ({SIZE}))?")
_LONGEST_FIELD: Final = 20_000


def _facts(text: str) -> Iterator[OomFact]:
    """The numbers below a sentence, outside the list of buffers."""
    group = None
    for line in (line[:_LONGEST_FIELD] for line in text.split("\n")):
        if match := _GROUP.search(line):
            group = match[1]
            if match[2]:
                yield OomFact(None, group, printed_size(match[2]))
        elif match := _OUTPUT.search(line):
            yield OomFact(None, "Output size", printed_size(match[1]))
            if match[2]:
                yield OomFact(None, "Output shared with arguments", printed_size(match[2]))
        elif group and (match := _FACT.search(line)) and (group != "Stats" or match[1] in _STATISTICS):
            yield OomFact(group, match[1], printed_size(match[2]), match[3])


_NAMES_OF_TOTALS: Final = (
    r"(?:reserved|program|arguments|global|scoped|overlays|HLO temp"
    r"|(?:parameter|constant|maybe_live_out|preallocated temp|total) allocation"
    r"|(?:preallocated temp|total) fragmentation)"
)
_ITEM: Final = lazy_pattern(
    r"(?:\d{1,9}\. )?Size: \d|Buffer \d{1,9}:|Operator: |(?:Entry Parameter Sub)?[Ss]hape: |Unpadded size: "
    r"|Extra memory due to padding: |XLA [Ll]abel: |Allocation type: |Tag: |={8,}|Output size |Peak buffers"
    r"|Total \w+ usage >=|Program \w+ requirement|Largest program allocations in|BufferAssignment stats"
    rf"|\bStats: |\b(?:{'|'.join((*_STATISTICS, 'NumAllocs'))}):\s+(?=\d)"
    rf"|{_NAMES_OF_TOTALS}:?\s+(?={SIZE}|unknown size)"
)
"""What begins a line below a sentence."""

_TOTAL: Final = lazy_pattern(rf"(?m)^([ \t]*{_NAMES_OF_TOTALS})[ \t]+(?={SIZE}|unknown size)")


def _in_lines(text: str) -> str:
    """A text with its lines as XLA prints them, where a shell, a chat or a traceback has joined them with blanks."""
    lines = text.split("\n")
    for row, line in enumerate(lines):
        if len(line) <= _LONGEST_JOINED and len(starts := [item.start() for item in _ITEM.finditer(line)]) > 1:
            parts = [line[start:end].strip() for start, end in pairwise((0, *starts, len(line)))]
            lines[row] = "\n" + "\n".join(filter(None, parts))
    return _TOTAL.sub(r"\1  ", "\n".join(lines))


_LONGEST_JOINED: Final = 1 << 18
"""The longest line that may be a whole list. The longest real message is 20 KB long."""

_ENTRY: Final = lazy_pattern(r"(?m)^.*?(?:\bBuffer (?=\d{1,9}:)|(?<!\S)(?=\d{1,9}\.[ \t]+Size: \d))(\d{1,9})[:.]")
_END: Final = lazy_pattern(r"\n.*={8}.*")
_LAST_FIELD: Final = lazy_pattern(r"Allocation type: \S|(?:XLA Label: .*\s+Shape|Subshape): .*\n\s*\Z")
"""The last field of a buffer in the lists of TPUs and of GPUs."""

_FIELDS: Final = {
    "Size": "size",
    "Operator": "operator",
    "Shape": "shape",
    "Entry Parameter Subshape": "shape",
    "Unpadded size": "unpadded",
    "Extra memory due to padding": "padding",
    "XLA label": "label",
    "XLA Label": "label",
    "Allocation type": "allocation_type",
    "Tag": "tag",
}
_FIELD: Final = lazy_pattern(r"(?m)^.*?\b(NAMES): ?(.*(?:\n(?!.*\b(?:NAMES):).*)*)".replace("NAMES", "|".join(_FIELDS)))
"""A field of a buffer. Logs may wrap long labels and op_names."""

_LABEL: Final = lazy_pattern(
    r"(?:%?(?P<name>[\w.-]+) = (?:\(.{0,4000}\)\s|\S{1,500}\s)?)?(?P<opcode>[a-z][a-z0-9-]*)(?:\(|\Z)"
)
_METADATA: Final = lazy_pattern(r'(op_name|source_file|source_line)=(?:"((?:[^"\\]|\\.)*)"|(\d{1,9}))')


def _buffers(text: str) -> tuple[list[OomBuffer], str, bool]:
    """The listed buffers, the text outside of the list, and whether the list is cut off."""
    outside, *entries = _ENTRY.split(text)
    buffers: list[OomBuffer] = []
    is_cut_off = False
    for number, entry in zip(entries[::2], entries[1::2], strict=True):
        inside, *after = _END.split(entry, maxsplit=1)
        # The last field shows that only the line below the buffer is missing.
        is_cut_off = not after and not _LAST_FIELD.search(inside)
        outside += "".join(after)
        buffers.append(_buffer(int(number), inside))
    return buffers, outside, is_cut_off


def _buffer(number: int, text: str) -> OomBuffer:
    fields: dict[str, Any] = {
        _FIELDS[name]: " ".join(filter(None, map(str.strip, value.split("\n"))))[:_LONGEST_FIELD] or None
        for name, value in _FIELD.findall(text)
    }
    label = _LABEL.match(fields.get("label") or "")
    for name, word, line in _METADATA.findall(fields.pop("operator", None) or ""):
        fields[name] = word or int(line)
    fields |= {name: printed_size(fields.get(name)) for name in ("size", "unpadded", "padding")}
    fields |= label.groupdict() if label else {}
    return OomBuffer(number=number, is_parameter="Entry Parameter Subshape:" in text, **fields)


# ---------------------------------------------------------------- logs


class _Line(NamedTuple):
    """A line of a log with its number from 1, or a part of a line with escaped line ends. `text` is without colors,
    carriage returns, and whatever loggers, clusters and terminals print in front of a line. `width` counts the
    characters with that, and `is_logged` says whether more than a mark of quoted text was in front.
    """

    number: int
    text: str
    width: int
    is_logged: bool


_Passage = list[_Line]
"""Lines of a log that may contain messages."""

_NEEDLES: Final = (
    b"ut of memory|RESOURCE_EXHAUSTED|exceed memory|Attempting to |was not possible|reduce memory use"
    b"|Largest program alloc|OOM Debugging|exceeds available|Hbm usage|Scoped allocation|ailed to allocate"
    b"|size limit exceeded|base limit|enough device memory|pinned host|input/output arg|SparseCore async"
    b"|mark exceeds|OOM when|capacity by|legitimate user|SCS Smem|high-Smem|G hbm|M hbm|M vmem|M smem|K smem"
    b"|OUT_OF_MEM|rrorOutOfMem|rrorMemoryAlloc|STATUS_ALLOC|due to OOM|oom_kill|oom-kill|ceExhaustedError"
    b"|fit in Tile|fit in tile|fit in Spmem|in Spmem with|Spmem limit|scalar memory size|vector memory size"
    b"|Requested HBM|fit in memory on|fit in VMEM|of heap memory|of device memory|fit in available|Could not fit merged"
    b"|OOMKilled"
    b"|causes VMEM|HBM space|exceeds the memory|exceeds the device limit|nable to allocate|enough memory to alloc"
).split(b"|")
"""Each message contains one of these in its first lines, however it is wrapped. Logs have hundreds of megabytes, so
blocks without any of them are skipped as a whole.
"""

_BODY: Final = lazy_pattern(
    r"Size:|Operator:|[Ss]hape:|XLA [Ll]abel|Allocation type|Unpadded size|Extra memory|={8}|Tag:|Buffer \d|"
    r"allocation:|fragmentation|usage >=|requirement|stats:|[Pp]eak buffers|Output size|"
    r"bfc_allocator\.cc|\b(?:Limit|InUse|MaxInUse|NumAllocs|MaxAllocSize|Reserved|PeakReserved|LargestFreeBlock):\s|"
    r"^\s*(?:reserved|program|arguments|global|scoped|HLO temp)\s{2}"
)
"""The lines that may follow the sentence of a message."""

_CHUNK: Final = lazy_pattern(rb"bfc_allocator\.cc:\d+\] (?:InUse|Free|Bin|Chunk|Next region)\b")
"""The lines between a warning of an allocator and its statistics. There may be a hundred thousand."""

_IDLE_LINES: Final = 12
"""A passage ends after so many lines that belong to no message."""

_LINES_ABOVE: Final = 3
"""How many lines above a needle the sentence, or its error code, may begin in a log that is wrapped."""

_LONGEST_NEEDLE: Final = 64
_LONG_LINE: Final = 300
"""Shorter lines are not several that somebody has joined."""

_LONGEST_LINE: Final = 1 << 20
_LONGEST_PASSAGE: Final = 4 << 20
"""Longer lines and passages are cut, in bytes. The longest real message is 20 KB long."""

_ANSI: Final = lazy_pattern(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")

_WORKER: Final = lazy_pattern(r"\s*\([^()]{0,80}\bpid=\d+[^()]{0,80}\)")
"""What Ray and vLLM print in front of each line of a worker. The lines of several workers alternate."""

_PREFIX: Final = lazy_pattern(
    r"""\A(?:\s*(?:
        \([^()]{0,80}\bpid=\d+[^()]{0,80}\)                                   # (EngineCore pid=106339)
      | \[?(?:\d{4}-)?\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?!\S)
      | \d\d:\d\d:\d\d+(?:[.,]\d+)?:?(?!\S)                                   # 07:35:00.272763
      | (?:stdout|stderr)\ [FP](?!\S)                                         # the container runtime of Kubernetes
      | [\w.-]{1,40}:(?=\ (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\ )   # wandb: ERROR
      | (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?::[\w.]{0,60}:|:|(?!\S))
      | [IWEF](?:\d{4})?(?!\S)
      | \d{1,16}(?=\s+[\w./\\-]{1,200}:\d+\])                                 # the number of a thread
      | \[?[\w./\\-]{1,200}:\d+\]                                             # xla_util.cc:76]
      | >(?!\S)                                                               # quoted text
      | \|(?!\S)
      | `{1,3}                                                                # a line as code
    )[ ]?)+""",
    re.VERBOSE,
)

_SUFFIX: Final = lazy_pattern(r"(?:\s*\||`{1,3})?\s*\Z")
"""What ends a line that is a cell of a table or code."""

_RECORD: Final = lazy_pattern(
    r"""\A\s*\{.{0,2000}?"(?:message|msg|log|text|textPayload|line|content)"\s*:\s*"((?:[^"\\]|\\.)*)"""
)
"""A line of a structured log, in JSON, and its text."""

_INNER_PREFIX: Final = lazy_pattern(
    r"(?<=\S)\s+(?=\([^()]{0,80}\bpid=\d+[^()]{0,80}\)\s"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d+:? [IWEF]\s+(?:\d{1,16}\s+)?[\w./\\-]{1,200}:\d+\])"
)
"""Where a line began that somebody has joined with the one above."""

_PROGRESS: Final = lazy_pattern(r"\A[^|\n]{0,80}?\d{1,3}%\|")
"""A progress bar of tqdm, which a message overwrites."""

_ENTITY: Final = lazy_pattern(r"&(?:[a-z]{2,6}|#\d{1,6}|#x[\da-fA-F]{1,5});")

_PLAIN: Final = {
    **dict.fromkeys(map(ord, "\xa0\u2007\u202f"), " "),
    **dict.fromkeys(map(ord, "\u200b\ufeff")),
    **dict.fromkeys(map(ord, "\u2018\u2019"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d"), '"'),
}
"""Blanks and quotes of web pages and chats, and those of XLA."""


def _has_needle(data: bytes) -> bool:
    """Whether a needle is in some lines, or is wrapped at one of their ends, also in quoted text."""
    joined = data.replace(b"\r", b"").replace(b"\n> ", b" ").replace(b"\n", b" ").replace(b"\xc2\xa0", b" ")
    return any(needle in joined for needle in _NEEDLES)


def _end_of(lines: Sequence[tuple[int, bytes]]) -> bytes:
    return lines[-1][1][-_LONGEST_NEEDLE:] + b"\n" if lines else b""


def _passages(blocks: Iterable[bytes]) -> Iterator[_Passage]:
    """The passages of a log that is read in blocks; a passage has the lines of one process."""
    number, rest = 1, b""
    lines: list[tuple[int, bytes]] = []
    above: deque[tuple[int, bytes]] = deque(maxlen=_LINES_ABOVE)
    size = idle = 0
    for block in chain(blocks, (b"\n",)):
        data = rest + block
        has_needle = _has_needle(_end_of(above) + data)
        # Without a needle, the lines are only counted.
        *whole, rest = data.split(b"\n") if lines or has_needle else data.rsplit(b"\n", 1)
        if len(rest) > _LONGEST_LINE:
            whole, rest = ([*whole, rest], b"") if lines or has_needle else (whole, rest[-_LONGEST_NEEDLE:])
        for place, line in enumerate(whole, number) if lines or has_needle else ():
            is_needle = has_needle and _has_needle(_end_of(above) + line)
            if is_needle and not lines:
                lines.extend(above)
            above.append((place, line))
            if lines and _CHUNK.search(line):
                continue
            if lines or is_needle:
                lines.append((place, line))
                size += len(line)
                idle = 0 if is_needle or _BODY.search(line[:4096].decode("utf-8", "replace")) else idle + 1
            if idle >= _IDLE_LINES or size > _LONGEST_PASSAGE:
                yield from _by_process(lines)
                lines, size, idle = [], 0, 0
        number += data.count(b"\n")
        if whole and not lines and not has_needle:
            last = whole[0].rsplit(b"\n", _LINES_ABOVE)[-_LINES_ABOVE:]
            above.extend(zip(range(number - len(last), number), last, strict=True))
    yield from _by_process(lines)


def _by_process(lines: Iterable[tuple[int, bytes]]) -> Iterator[_Passage]:
    found: defaultdict[str, _Passage] = defaultdict(list)
    for number, line in lines:
        text = _ANSI.sub("", line.decode("utf-8", "replace"))
        if not text.isascii():
            text = text.translate(_PLAIN)
        if "&" in text and _ENTITY.search(text):
            text = unescape(text)
        record = _RECORD.match(text)
        text = record[1] if record else text
        if record or ("\\n" in text and _has_needle(line)):
            # A structured log, or the `repr` of an exception.
            text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        worker = _WORKER.match(text)
        # Progress bars end with a carriage return.
        parts = re.split(r"[\r\n]", _INNER_PREFIX.sub("\n", text) if len(text) > _LONG_LINE else text)
        shown = (part for part in parts if part and not ("%|" in part and _PROGRESS.match(part)))
        found[worker[0].strip() if worker else ""] += [_line(number, part) for part in shown]
    yield from filter(None, found.values())


def _line(number: int, raw: str) -> _Line:
    prefix = _PREFIX.match(raw)
    text = _SUFFIX.sub("", raw[prefix.end() :] if prefix else raw)
    is_logged = prefix is not None and prefix[0].strip(" >|`") != ""
    return _Line(number, text, len(raw.rstrip()), is_logged)
