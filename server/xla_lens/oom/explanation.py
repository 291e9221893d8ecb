"""Out-of-memory messages for people: what a message says, and which numbers and values of the dump it means."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.blocks.blocks import FileLine, Name, Outline, Role, Section, Text, table
from xla_lens.blocks.entities import value_link
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity, CapacitySource
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.oom.candidates import Candidate, Choice, ChosenBy, choose_dumps
from xla_lens.syntax.compile_log import CompiledProgram
from xla_lens.syntax.oom_messages import DumpSum, MatchedBy, OomBuffer, OomFact, OomKind, OomLog, OomMessage
from xla_lens.syntax.printed_size import PrintedSize
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import capitalized, counted, human
from xla_lens.words.sources import short_frame
from xla_lens.words.warrants import bounded_size, short_reason


class OomReport(Struct, frozen=True, eq=False):
    """The messages of a log, and the dumps of those for which a candidate fits. The answer is about the message `main`.
    `top` limits the rows of each list. `path` is the absolute path of the log, None if it is in no file.
    """

    label: str
    log: OomLog
    main: OomMessage
    candidates: Sequence[Candidate]
    dumps: Mapping[OomMessage, Choice]
    top: int | None
    path: str | None = None

    @property
    def choice(self) -> Choice | None:
        """The dump of the message that the answer is about."""
        return self.dumps.get(self.main)

    def on_device(self, analysis: Analysis) -> Analysis:
        """Return the analysis of the chosen dump on the device that ran out of memory, whose capacity the message may
        tell.
        """
        size = self.main.hbm_capacity
        if size is None:
            return analysis
        capacity = Capacity(size.size_bytes, CapacitySource.OOM_MESSAGE, self.label, analysis.chip)
        return replace(analysis, capacity=capacity)


def oom_report(
    label: str, log: OomLog, candidates: Sequence[Candidate], top: int | None, path: str | None = None
) -> OomReport:
    """Find the dump of each message of a log, which has one at least, among some dumps. The answer is about the first
    failure, if possible with a dump.
    """
    dumps = choose_dumps(log.messages, candidates)
    main = min(log.messages, key=lambda message: (not message.is_failure, message not in dumps))
    return OomReport(label, log, _cause(main, log, dumps) or main, candidates, dumps, top, path)


def _cause(main: OomMessage, log: OomLog, dumps: Mapping[OomMessage, Choice]) -> OomMessage | None:
    """The warning that arguments and outputs alone are too big, if it explains a message and has as much to say."""
    if main.kind in (OomKind.SHARED_MEMORY, OomKind.COMMAND_BUFFER):
        return None
    return next(
        (
            message
            for message in log.messages
            if message.kind is OomKind.ARGUMENTS
            and (message.line < main.line or not main.is_failure)
            and (message in dumps or main not in dumps)
        ),
        None,
    )


def nothing_found(label: str) -> str:
    """Return the sentence that a log has no message."""
    return (
        f"{label}: no out-of-memory message of XLA found. Looked for RESOURCE_EXHAUSTED and the sentences about memory "
        "of compilers, runtimes and allocators of TPUs, GPUs and CPUs. Expected the log of the failed program"
    )


def compiled_outline(label: str, programs: Sequence[CompiledProgram], top: int | None) -> Outline:
    """Return what the compiler for TPUs logged about the programs of a log without a message, the biggest first."""
    biggest = sorted(programs, key=lambda program: -program.uses[0].used.size_bytes)
    fits = all(use.used.least_bytes <= use.capacity.size_bytes for program in programs for use in program.uses)
    spaces = [*dict.fromkeys(use.space for program in programs for use in program.uses)]
    rows = []
    for program in biggest[:top]:
        uses = {use.space: f"{size_text(use.used)} of {size_text(use.capacity)}" for use in program.uses}
        module = _named(program.module, Role.NAME) or "not named"
        rows.append((*(uses.get(space, "") for space in spaces), module))
    shown = table(f"{' | '.join(spaces)} | <module", rows)
    counts = counted(len(programs), "program")
    verdict = "not all of which fit" if not fits else "which fits" if len(programs) == 1 else "which fit"
    what = f"No out-of-memory message: {counts} compiled for a TPU, {verdict}"
    section = Section(f"What the programs need, of what they may use{_first(len(rows), len(programs))}", (shown,))
    return Outline(what, (("log", (Name(label, role=Role.PATH),)),), ((section,),))


# ---------------------------------------------------------------- sentences

_COMPILED: Final = "{space} ran out when XLA compiled {module}"
_WORDS: Final = {
    OomKind.COMPILE: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_TOTAL: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_CORES: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_ALLOCATION: ("one buffer is bigger than {space} when XLA compiled {module}", "needed", "available"),
    OomKind.ESTIMATE: ("XLA stopped before it compiled {module}, which is unlikely to fit", "needed", "available"),
    OomKind.ARGUMENTS: ("the arguments and outputs of {module} alone exceed what XLA may use", "needed", "limit"),
    OomKind.SCOPED: ("{subject} needs more scoped {space} than its limit", "needed", "limit"),
    OomKind.SPARSECORE: ("a program of a SparseCore needs more {space} than its limit", "needed", "limit"),
    OomKind.LOAD_PROGRAM: ("{space} has no room for {module}, which was compiled", "requested", "available"),
    OomKind.ALLOCATE: ("a buffer could not be allocated in {space} while the program ran", "requested", "available"),
    OomKind.ALLOCATOR_WARNING: ("an allocator warned that it was out of memory", "requested", "available"),
    OomKind.COMMAND_BUFFER: (
        "the driver had no memory for a CUDA graph (command buffer) while the program ran",
        "requested",
        "available",
    ),
    OomKind.PINNED_HOST: (
        "host memory could not be pinned; this is not the memory of the GPU",
        "requested",
        "available",
    ),
    OomKind.EMBEDDING: ("a buffer of TPU embedding could not be allocated", "requested", "available"),
    OomKind.SHARED_MEMORY: ("{subject} needs more {space} than the GPU has", "needed", "available"),
    OomKind.REMATERIALIZATION: (
        "rematerialization did not reach its limit when XLA compiled {module}",
        "reached",
        "limit",
    ),
    OomKind.DRIVER: ("the driver of the GPU was out of memory", "requested", "available"),
    OomKind.KILLED: (
        "the operating system ended a process because the host had no memory left",
        "requested",
        "available",
    ),
    OomKind.UNKNOWN: ("an error about memory in a form that XLA Lens does not know", "needed", "available"),
    OomKind.LIST: ("{space} ran out; the first sentence of the message is missing", "needed", "available"),
}
"""What each kind of message says, and what its two numbers are."""

_SPACE_WORDS: Final = {
    "hbm": "HBM",
    "vmem": "VMEM",
    "smem": "SMEM",
    "cmem": "CMEM",
    "sflag": "memory for sync flags",
    "tilespmem": "TileSpmem",
    "spmem": "Spmem",
    "scs": "SMEM of its sequencer",
    "host": "host memory",
    "shared": "shared memory",
    "tensor": "tensor memory",
    "unified": "unified memory",
    None: "device memory",
}


def oom_outline(report: OomReport) -> Outline:
    """Return what the messages say, and what the dumps say about them, as blocks."""
    message, choice = report.main, report.choice
    others = [each_message for each_message in report.log.messages if each_message is not message]
    times = f", {message.times:,} times" if message.times > 1 else ""
    code = f", error code {message.code}" if message.code else ""
    count = len(others) + report.log.left_out
    more = f"; {counted(count, 'other message')}" if count else ""
    line = FileLine(report.path, message.line) if report.path else None
    place = Name(report.label, line, Role.PATH), f", line {message.line:,}{times}{code}{more}"
    sections = (
        _meaning_section(message, others),
        _dump_section(report, message, choice),
        _fact_section(choice.join.facts if choice else message.facts, choice),
        _buffer_section(choice.join.buffers if choice else message.buffers, message, choice, report.top),
        _others_section(others, report),
    )
    parts = tuple((section,) for section in sections if section)
    return Outline(_what(message), (("log", place), *_numbers(message)), parts)


def _what(message: OomMessage) -> str:
    space, module = message.space, message.module or "the program"
    # The name itself must not begin the sentence, which begins with a capital letter.
    subject = f"kernel {message.subject}" if message.subject else "a kernel"
    words = _WORDS[message.kind][0]
    return capitalized(words.format(space=_SPACE_WORDS.get(space, space), module=module, subject=subject))


def _numbers(message: OomMessage) -> Iterator[tuple[str, Text]]:
    _, need, limit = _WORDS[message.kind]
    needed, capacity, excess = message.needed, message.capacity, message.excess
    for title, size in ((need, needed), (limit, capacity), ("free", message.free), ("short by", excess)):
        if size:
            yield title, size_text(size)
    available = message.free or capacity
    if not excess and needed and available and (short_bytes := short_by_bytes(message)):
        # The message does not print it. The difference of two rounded numbers is no more exact than they are.
        about = "" if needed.is_exact and available.is_exact else "about "
        yield "short by", f"{about}{human(short_bytes)}"


def short_by_bytes(message: OomMessage) -> int | None:
    """By how much the needed size exceeds the available one, or what is free: as the message gives it, or else the
    difference of both; None if it does not.
    """
    if message.excess:
        return message.excess.size_bytes
    available = message.free or message.capacity
    short_bytes = message.needed.size_bytes - available.size_bytes if message.needed and available else 0
    return short_bytes if short_bytes > 0 else None


def size_text(size: PrintedSize | None) -> str:
    """A size with the digits of the message, in the units that we use everywhere: ``44.36 GiB``. Empty for None."""
    if size is None:
        return ""
    match = _DIGITS.match(size.text)
    return human(size.size_bytes) if size.is_exact or not match else f"{match[1]} {match[2]}iB"


_DIGITS: Final = lazy_pattern(r"([\d.,]+)\s?([KMGTPE])")

# ---------------------------------------------------------------- what it means, and what to do


def _meaning_section(message: OomMessage, others: Sequence[OomMessage]) -> Section | None:
    """What the numbers alone do not say."""
    sentences = [*_meaning(message)]
    if message.kind is OomKind.ARGUMENTS:
        later = [other for other in others if other.kind in _FOLLOWS]
        sentences += [f"The message in line {other.line:,} follows from this." for other in later[:1]]
        if any(other.kind is OomKind.REMATERIALIZATION for other in others):
            sentences.append("Rematerialization cannot help.")
    return Section("What this means", (*sentences,)) if sentences else None


_FOLLOWS: Final = (OomKind.ALLOCATE, OomKind.ALLOCATOR_WARNING)

_FEWER_ARGUMENTS: Final = "Pass fewer or smaller arguments, donate those that outputs can replace, or shard them."


def _meaning(message: OomMessage) -> Iterator[Text]:
    needed, available = message.needed, message.capacity
    match message.kind:
        case OomKind.ARGUMENTS:
            yield "Arguments and outputs are in memory as a whole, so nothing inside the program helps."
            yield _FEWER_ARGUMENTS
        case OomKind.REMATERIALIZATION:
            over = next((fact.size for fact in message.facts if fact.name == "over the limit"), None)
            if over:
                yield f"What must stay is already {size_text(over)} over the limit before any temporary."
            elif available and not available.size_bytes:
                yield "Nothing is left for temporaries: what must stay takes all that XLA may use."
            if over or (available and not available.size_bytes):
                yield f"Rematerialization cannot help. {_FEWER_ARGUMENTS}"
        case OomKind.ESTIMATE:
            yield "This is an estimate before compilation."
            if needed and available and needed.size_bytes > _ABSURD * available.size_bytes:
                yield "A size in the program is wrong by orders of magnitude."
            yield (
                "To compile anyway, and get a detailed message: ",
                _command("--xla_tpu_impure_oom_fast_exit_threshold=-1"),
            )
        case OomKind.COMMAND_BUFFER:
            yield "Either give the driver more memory: lower ", _command("XLA_CLIENT_MEM_FRACTION"), "."
            yield "Or switch command buffers off: ", _command("XLA_FLAGS=--xla_gpu_enable_command_buffer=")
        case OomKind.PINNED_HOST:
            yield (
                "The driver refused page-locked memory of the host, which other processes, a container's limit, or the "
                "program's own data may have used up. Less memory on the GPU does not help."
            )
        case OomKind.DRIVER:
            yield "Kernels and libraries need memory beside what the process reserves for arrays when it starts."
            yield (
                "Leave them more: lower ",
                _command("XLA_CLIENT_MEM_FRACTION"),
                ", or stop other programs on this GPU.",
            )
        case OomKind.KILLED:
            yield "This is the memory of the host, not of the device: data, checkpoints and compilation count."
        case OomKind.UNKNOWN:
            yield ("It says: ", Name(message.sentence, role=Role.PATH))
        case OomKind.LOAD_PROGRAM | OomKind.ALLOCATE if needed and "Attempting to" in message.sentence:
            yield f"The {size_text(needed)} must be free in one piece."
            if not message.free:
                yield "How much was free is not said: the message is quoted without its end."
        case OomKind.ALLOCATOR_WARNING if message.free and needed:
            sizes = {fact.name: fact.size for fact in message.facts if fact.group}
            in_use = f"{size_text(sizes['InUse'])} of the limit of {size_text(sizes['Limit'])} are in use"
            block = sizes.get("LargestFreeBlock")
            largest = f", and the largest free block has {size_text(block)}" if block else ""
            yield f"{in_use}, so {size_text(message.free)} are free{largest}."
            if message.free.size_bytes < needed.size_bytes:
                yield "The memory is full: the request would not fit in one piece either."
            else:
                yield "The memory is fragmented: enough is free, but in no block that is big enough."


_ABSURD: Final = 1000
"""From this multiple of the available memory, no program is meant."""


def _command(text: str) -> Name:
    return Name(text, role=Role.COMMAND)


# ---------------------------------------------------------------- one message

_CHOSEN_BY: Final = {
    ChosenBy.MODULE: "The only dump of the module that the message names.",
    ChosenBy.BUFFERS: "Chosen because it has the buffers that the message lists.",
    ChosenBy.NUMBER: "Chosen because one of its totals is the number in the message.",
    ChosenBy.BIGGEST: "Of the {count:,} dumps of this module, the one that reserves the most; no number confirms it.",
    ChosenBy.ONLY: "The only dump. The message does not name its module, and no number confirms it.",
}
_OTHER_RUN: Final = "It is of another run: all its sizes are far from those in the message."


def _dump_section(report: OomReport, message: OomMessage, choice: Choice | None) -> Section | None:
    """The dump of a message, or why it has none, if there are dumps."""
    count = len(report.candidates)
    if choice:
        first = next(iter(choice.candidate.files.values()))
        why = _CHOSEN_BY[choice.by].format(count=choice.count)
        other = (_OTHER_RUN,) if choice.join.is_refuted else ()
        return Section(("Dump: ", Name(first, FileLine(first), Role.PATH)), (why, *other, *_contents(choice)))
    if not count:
        return None
    if message.module:
        why = f"{'it is not' if count == 1 else 'none is'} of module {message.module}"
    else:
        why = "it has other sizes or buffers" if count == 1 else "the message does not say which one it means"
    which = "The dump is not" if count == 1 else f"None of the {count:,} dumps is known to be"
    return Section(f"{which} about this message: {why}")


def _contents(choice: Choice) -> Iterator[str]:
    """What the memory space of the message holds, in a sentence."""
    sums, space = choice.join.sums, choice.analysis.memory.space(choice.join.color)
    if space:
        parts = [part for part in (DumpSum.PARAMETERS, DumpSum.TEMPORARIES) if sums[part][0]]
        holds = " and ".join(f"{bounded_size(*sums[part])} of {_sum_name(choice, part)}" for part in parts)
        needed = bounded_size(space.needed_bytes, space.reserved_bound)
        yield f"It needs {needed} of {space.id.name}{f', with {holds}' if holds else ''}."


def _fact_section(facts: Sequence[OomFact], choice: Choice | None) -> Section | None:
    """The numbers of a message, and what they are in its dump."""
    rows = [
        (
            (size_text(fact.size) or "unknown") if fact.count is None else f"{fact.count:,}",
            " ".join(filter(None, (fact.group and f"{fact.group}:", fact.name, fact.note))),
            *([_in_dump(fact, choice)] if choice else []),
        )
        for fact in facts
    ]
    shown = table(f"size | <in the message{' | <in the dump' if choice else ''}", rows)
    misnamed = [_misnamed(fact, choice) for fact in facts if choice and fact.is_misnamed]
    return Section("What the numbers are" if choice else "What the message says", (shown, *misnamed)) if rows else None


_SUMS: Final = {
    DumpSum.RESERVED: "all allocations in {space}",
    DumpSum.TEMPORARIES: "preallocated temporaries",
    DumpSum.PARAMETERS: "parameters",
    DumpSum.PROGRAM: "everything but the parameters",
    DumpSum.OUTPUTS: "outputs",
    DumpSum.CONSTANTS: "constants",
    DumpSum.PEAK: "the peak of {space}",
}


def _sum_name(choice: Choice, part: DumpSum) -> str:
    return _SUMS[part].format(space=choice.analysis.dump.space_id(choice.join.color).name)


def _meant(fact: OomFact, choice: Choice) -> str:
    """The size of the sum that the name of a number stands for, empty if it stands for none."""
    part, sums = fact.meant, choice.join.sums
    return f"{_sum_name(choice, part)} take {bounded_size(*sums[part])}" if part and part in sums else ""


def _in_dump(fact: OomFact, choice: Choice) -> str:
    sums, meant = choice.join.sums, _meant(fact, choice)
    if fact.equals:
        # Sums that the message cannot tell apart differ in their last digits.
        return ", or ".join(f"{_sum_name(choice, equal)} ({sums[equal][0]:,} bytes)" for equal in fact.equals)
    if any(bound is not Bound.EXACT for _, bound in sums.values()):
        return f"unknown: {short_reason(choice.analysis.warrants)}"
    return f"no such sum: {meant}" if fact.size and meant else ""


def _misnamed(fact: OomFact, choice: Choice) -> str:
    size, others = size_text(fact.size), " or ".join(_sum_name(choice, equal) for equal in fact.equals)
    return f'The message calls {size} "{fact.name}", but {_meant(fact, choice)}. {size} is the size of {others}.'


def _buffer_section(
    buffers: Sequence[OomBuffer], message: OomMessage, choice: Choice | None, top: int | None
) -> Section | None:
    """The buffers that a message lists, and the values that they are in its dump."""
    rows = [
        (
            size_text(buffer.size),
            size_text(buffer.padding) or ("none" if buffer.size and buffer.unpadded == buffer.size else ""),
            _named(buffer.shape, Role.SHAPE),
            "parameter"
            if buffer.is_parameter and not buffer.name
            else _named(buffer.name or buffer.label or buffer.tag, Role.NAME),
            *([_value(buffer, choice.analysis.dump)] if choice else []),
            _source(buffer),
            _named(buffer.op_name, Role.PATH),
        )
        for buffer in buffers[:top]
    ]
    titles = f"size | padding | <shape | <buffer{' | <in the dump' if choice else ''} | <source | <op_name"
    cut = ("The message is cut off: the last buffer is incomplete, and there may be more.",) * message.is_cut_off
    title = f"Buffers that the message lists{_first(len(rows), len(buffers))}"
    return Section(title, (table(titles, rows), *cut)) if buffers else None


def _named(text: str | None, role: Role) -> Text:
    return Name(text, role=role) if text else ""


def _first(shown: int, count: int) -> str:
    return f" (the first {shown:,} of {count:,})" if shown < count else ""


def _source(buffer: OomBuffer) -> Text:
    frame = StackFrame(buffer.source_file or "", buffer.source_line)
    return Name(short_frame(frame), frame, Role.SOURCE) if frame.file else ""


def _value(buffer: OomBuffer, dump: DumpSet) -> Text:
    if not buffer.values:
        return "not found" if buffer.name or buffer.shape else "the message does not name it"
    more = f" or {len(buffer.values) - 1:,} like it" if len(buffer.values) > 1 else ""
    size = f", but {human(dump.values.size_bytes.item(buffer.values[0]))}" if buffer.is_other_size else ""
    return (value_link(dump, buffer.values[0]), f"{more}{size}{_MATCHED[buffer.matched_by]}")


_MATCHED: Final = {
    MatchedBy.NAME: "",
    MatchedBy.OP_NAME: " (by op_name, shape and size)",
    MatchedBy.SHAPE: " (by shape and size)",
    None: "",
}


def _others_section(others: Sequence[OomMessage], report: OomReport) -> Section | None:
    limits = ["limit"] if any(other.capacity for other in others[: report.top]) else []
    titles = " | ".join(("line", "times", "size", *limits, "<message"))
    rows = [
        (
            f"{other.line:,}",
            f"{other.times:,}",
            size_text(other.needed),
            *(size_text(other.capacity) for _ in limits),
            _what(other),
        )
        for other in others[: report.top]
    ]
    more = _first(len(rows), len(others) + report.log.left_out)
    return Section(f"Other messages in the log{more}", (table(titles, rows),)) if others else None
