"""Out-of-memory messages for people: what a message says, and which numbers and values of the dump it means."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xla_lens.blocks.blocks import Name, Outline, Role, Section, Text, table
from xla_lens.blocks.entities import value_link
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.oom import oom_json
from xla_lens.oom.candidates import Candidate, Choice, ChosenBy, choose_dumps
from xla_lens.syntax.oom import DumpSum, MatchedBy, OomBuffer, OomFact, OomKind, OomLog, OomMessage, PrintedSize
from xla_lens.words.json_types import identity
from xla_lens.words.numbers import capitalized, counted, human
from xla_lens.words.sources import short_frame
from xla_lens.words.warrants import bounded_size, short_reason


@dataclass(frozen=True, slots=True, eq=False)
class OomReport:
    """The messages of a log, and the dumps of those for which a candidate fits. The answer is about the message `main`.
    `top` limits the rows of each list.
    """

    label: str
    log: OomLog
    main: OomMessage
    candidates: Sequence[Candidate]
    dumps: Mapping[OomMessage, Choice]
    top: int | None

    @property
    def choice(self) -> Choice | None:
        """The dump of the message that the answer is about."""
        return self.dumps.get(self.main)


def oom_report(label: str, log: OomLog, candidates: Sequence[Candidate], top: int | None) -> OomReport:
    """Find the dump of each message of a log, which has one at least, among some dumps. The answer is about the first
    failure, if possible with a dump.
    """
    dumps = choose_dumps(log.messages, candidates)
    main = min(log.messages, key=lambda message: (not message.is_failure, message not in dumps))
    return OomReport(label, log, main, candidates, dumps, top)


def nothing_found(label: str) -> str:
    """Return the sentence that a log has no message."""
    return f"{label}: no out-of-memory message of XLA found. Expected the log of the failed program"


# ---------------------------------------------------------------- sentences

_COMPILED: Final = "{space} ran out when XLA compiled {module}"
_WORDS: Final = {
    OomKind.COMPILE: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_TOTAL: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_CORES: (_COMPILED, "needed", "available"),
    OomKind.COMPILE_ALLOCATION: ("one buffer is bigger than {space} when XLA compiled {module}", "needed", "available"),
    OomKind.SCOPED: ("{subject} needs more scoped {space} than its limit", "needed", "limit"),
    OomKind.LOAD_PROGRAM: ("{space} has no room for {module}, which was compiled", "requested", "available"),
    OomKind.ALLOCATE: ("a buffer could not be allocated in {space} while the program ran", "requested", "available"),
    OomKind.ALLOCATOR_WARNING: ("an allocator warned that it was out of memory", "requested", "available"),
    OomKind.SHARED_MEMORY: ("a kernel needs more shared memory than the GPU has", "needed", "available"),
    OomKind.REMATERIALIZATION: (
        "rematerialization did not reach its limit when XLA compiled {module}",
        "reached",
        "limit",
    ),
    OomKind.LIST: ("{space} ran out; the first sentence of the message is missing", "needed", "available"),
}
"""What each kind of message says, and what its two numbers are."""

_SPACE_WORDS: Final = {"hbm": "HBM", "vmem": "VMEM", "smem": "SMEM", "host": "host memory", None: "device memory"}


def oom_outline(report: OomReport) -> Outline:
    """Return what the messages say, and what the dumps say about them, as blocks."""
    message, choice = report.main, report.choice
    others = [each_message for each_message in report.log.messages if each_message is not message]
    times = f", {message.times:,} times" if message.times > 1 else ""
    code = f", error code {message.code}" if message.code else ""
    count = len(others) + report.log.left_out
    more = f"; {counted(count, 'other message')}" if count else ""
    place = Name(report.label, role=Role.PATH), f", line {message.line:,}{times}{code}{more}"
    sections = (
        _dump_section(report, message, choice),
        _fact_section(choice.join.facts if choice else message.facts, choice),
        _buffer_section(choice.join.buffers if choice else message.buffers, message, choice, report.top),
        _others_section(others, report),
    )
    parts = tuple((section,) for section in sections if section)
    return Outline(_what(message), (("log", place), *_numbers(message)), parts)


def _what(message: OomMessage) -> str:
    space, module, subject = message.space, message.module or "the program", message.subject or "a kernel"
    words = _WORDS[message.kind][0]
    return capitalized(words.format(space=_SPACE_WORDS.get(space, space), module=module, subject=subject))


def _numbers(message: OomMessage) -> Iterator[tuple[str, Text]]:
    _, need, limit = _WORDS[message.kind]
    needed, capacity, excess = message.needed, message.capacity, message.excess
    for title, size in ((need, needed), (limit, capacity), ("free", message.free), ("short by", excess)):
        if size:
            yield title, size_text(size)
    if not excess and needed and capacity and (short_bytes := short_by_bytes(message)):
        # The message does not print it. The difference of two rounded numbers is no more exact than they are.
        about = "" if needed.is_exact and capacity.is_exact else "about "
        yield "short by", f"{about}{human(short_bytes)}"


def short_by_bytes(message: OomMessage) -> int | None:
    """By how much the needed size exceeds the available one: as the message gives it, or else the difference of both;
    None if it does not.
    """
    if message.excess:
        return message.excess.size_bytes
    short_bytes = message.needed.size_bytes - message.capacity.size_bytes if message.needed and message.capacity else 0
    return short_bytes if short_bytes > 0 else None


def size_text(size: PrintedSize | None) -> str:
    """A size with the digits of the message, in the units that we use everywhere: ``44.36 GiB``. Empty for None."""
    if size is None:
        return ""
    match = _DIGITS.match(size.text)
    return human(size.size_bytes) if size.is_exact or not match else f"{match[1]} {match[2]}iB"


_DIGITS: Final = re.compile(r"([\d.,]+)\s?([KMGTPE])")

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
        return Section(("Dump: ", Name(first, role=Role.PATH)), (why, *other, *_contents(choice)))
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
            size_text(fact.size) or "unknown",
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
    rows = [
        (f"{other.line:,}", f"{other.times:,}", size_text(other.needed), _what(other)) for other in others[: report.top]
    ]
    more = _first(len(rows), len(others) + report.log.left_out)
    return (
        Section(f"Other messages in the log{more}", (table("line | times | size | <message", rows),))
        if others
        else None
    )


# ---------------------------------------------------------------- JSON


def messages_data(oom: OomReport) -> list[oom_json.Message]:
    """Return the messages as JSON."""
    return [_message_data(message, oom.dumps.get(message), oom.top) for message in oom.log.messages]


def _message_data(message: OomMessage, choice: Choice | None, top: int | None) -> oom_json.Message:
    source = choice.join if choice else message
    dump = choice.analysis.dump if choice else None
    return oom_json.Message(
        kind=message.kind,
        line=message.line,
        sentence=message.sentence,
        code=message.code,
        module=message.module,
        subject=message.subject,
        needed=_size_data(message.needed),
        capacity=_size_data(message.capacity),
        short_by_bytes=short_by_bytes(message),
        excess=_size_data(message.excess),
        free=_size_data(message.free),
        facts=[_fact_data(fact) for fact in source.facts],
        buffers=[_buffer_data(buffer, dump) for buffer in source.buffers[:top]],
        is_cut_off=message.is_cut_off,
        times=message.times,
        memory_space=message.space,
        is_failure=message.is_failure,
        dump=_dump_data(choice) if choice else None,
    )


def _size_data(size: PrintedSize | None) -> oom_json.Size | None:
    return oom_json.Size(size.text, size.size_bytes, size.least_bytes, size.most_bytes) if size else None


def _fact_data(fact: OomFact) -> oom_json.Fact:
    return oom_json.Fact(
        group=fact.group,
        name=fact.name,
        size=_size_data(fact.size),
        note=fact.note,
        equals=[*fact.equals],
        meant=fact.meant,
    )


def _buffer_data(buffer: OomBuffer, dump: DumpSet | None) -> oom_json.Buffer:
    return oom_json.Buffer(
        number=buffer.number,
        size=_size_data(buffer.size),
        shape=buffer.shape,
        name=buffer.name,
        opcode=buffer.opcode,
        label=buffer.label,
        op_name=buffer.op_name,
        source_file=buffer.source_file,
        source_line=buffer.source_line,
        unpadded=_size_data(buffer.unpadded),
        padding=_size_data(buffer.padding),
        allocation_type=buffer.allocation_type,
        tag=buffer.tag,
        is_parameter=buffer.is_parameter,
        values=[
            oom_json.SizedValue(*identity(dump, value), size_bytes=dump.values.size_bytes.item(value))
            for value in buffer.values
        ]
        if dump
        else [],
        matched_by=buffer.matched_by,
        is_other_size=buffer.is_other_size,
    )


def _dump_data(choice: Choice) -> oom_json.Dump:
    return oom_json.Dump(
        files=choice.candidate.files,
        count=choice.count,
        chosen_by=choice.by,
        sums={
            part: oom_json.BoundedSize(size_bytes=size_bytes, bound=bound)
            for part, (size_bytes, bound) in choice.join.sums.items()
        },
    )
