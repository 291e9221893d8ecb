"""Out-of-memory messages for people: what a message says, and which numbers and values of the dump it means."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.oom import BufferMatch, Choice, ChosenBy, DumpSum, FactMatch, MatchedBy, OomJoin
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import capitalized, counted, human
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_SHAPE,
    Name,
    Outline,
    Role,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import value_link
from xla_lens.render.warrants import bounded_size, short_reason
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.oom.messages import OomBuffer, OomFact, OomKind, OomLog, OomMessage
from xla_lens.syntax.oom.sizes import PrintedSize


@dataclass(frozen=True, slots=True, eq=False)
class OomReport:
    """The messages of a log, and the dump of each.

    `dumps` has one item for each message, None where no dump fits. `files` are the paths of the candidates' files, and
    `top` limits the rows of each list.
    """

    label: str
    log: OomLog
    dumps: tuple[Choice | None, ...]
    files: Sequence[Mapping[str, str]]
    top: int | None

    @property
    def main(self) -> int:
        """The place of the message that the answer is about: the first failure, if possible with a dump."""
        messages = self.log.messages
        order = sorted(range(len(messages)), key=lambda one: (not messages[one].is_failure, self.dumps[one] is None))
        return order[0]


def nothing_found(label: str) -> str:
    """Return the sentence that a log has no message."""
    return f"{label}: no out-of-memory message of XLA found. Expected the log of the failed program"


# ---------------------------------------------------------------- sentences

_WHAT: Final = {
    OomKind.COMPILE: "{space} ran out when XLA compiled {module}",
    OomKind.COMPILE_TOTAL: "{space} ran out when XLA compiled {module}",
    OomKind.COMPILE_CORES: "{space} ran out when XLA compiled {module}",
    OomKind.COMPILE_ALLOCATION: "one buffer is bigger than {space} when XLA compiled {module}",
    OomKind.SCOPED: "{subject} needs more scoped {space} than its limit",
    OomKind.LOAD_PROGRAM: "{module} was compiled, but could not be loaded into {space}",
    OomKind.ALLOCATE: "a buffer could not be allocated in {space} while the program ran",
    OomKind.ALLOCATOR_WARNING: "an allocator warned that it was out of memory",
    OomKind.SHARED_MEMORY: "a kernel needs more shared memory than the GPU has",
    OomKind.REMATERIALIZATION: "rematerialization did not reach its limit when XLA compiled {module}",
    OomKind.LIST: "{space} ran out; the first sentence of the message is missing",
}

_SPACE_WORDS: Final = {"hbm": "HBM", "vmem": "VMEM", "smem": "SMEM", "host": "host memory"}

_NUMBERS: Final = {
    OomKind.SCOPED: ("needed", "limit"),
    OomKind.ALLOCATE: ("requested", "available"),
    OomKind.ALLOCATOR_WARNING: ("requested", "available"),
    OomKind.LOAD_PROGRAM: ("requested", "available"),
    OomKind.REMATERIALIZATION: ("reached", "limit"),
}


def oom_outline(report: OomReport) -> Outline:
    """Return what the messages say, and what the dumps say about them, as blocks."""
    messages = report.log.messages
    message = messages[report.main]
    facts = (("log", (*_place(report.label, message), _also(report))), *_numbers(message))
    parts: list[Sections] = [(section,) for section in _detail(report, report.main)]
    others = [place for place in range(len(messages)) if place != report.main]
    if others:
        parts.append((_others(report, others),))
    return Outline(capitalized(_what(message)), facts, tuple(parts))


def _what(message: OomMessage) -> str:
    return _WHAT[message.kind].format(
        space=_space(message),
        module=message.module or "the program",
        subject=message.subject or "a kernel",
    )


def _space(message: OomMessage) -> str:
    return _SPACE_WORDS.get(message.space or "", message.space or "device memory")


def _place(label: str, message: OomMessage) -> tuple[str | Name, ...]:
    times = f", {message.times:,} times" if message.times > 1 else ""
    code = f", error code {message.code}" if message.code else ""
    return (Name(label, widest=None, role=Role.PATH), f", line {message.line:,}{times}{code}")


def _also(report: OomReport) -> str:
    more = len(report.log.messages) - 1 + report.log.left_out
    return f"; {counted(more, 'other message')}" if more else ""


def _numbers(message: OomMessage) -> Iterator[tuple[str, Text]]:
    needed, limit = _NUMBERS.get(message.kind, ("needed", "available"))
    if message.needed:
        yield needed, size_text(message.needed)
    if message.capacity:
        yield limit, size_text(message.capacity)
    if message.free:
        yield "free", size_text(message.free)
    if message.excess:
        yield "short by", size_text(message.excess)
    elif message.needed and message.capacity and message.needed.size_bytes > message.capacity.size_bytes:
        # The message does not print it. The difference of two rounded numbers is no more exact than they are.
        is_exact = message.needed.is_exact and message.capacity.is_exact
        yield (
            "short by",
            f"{'' if is_exact else 'about '}{human(message.needed.size_bytes - message.capacity.size_bytes)}",
        )


def size_text(size: PrintedSize) -> str:
    """A size with the digits of the message, in the units that we use everywhere: ``44.36 GiB``."""
    match = _DIGITS.match(size.text)
    return human(size.size_bytes) if size.is_exact or not match else f"{match[1]} {match[2]}iB"


_DIGITS: Final = re.compile(r"([\d.,]+)\s?([KMGTPE])")

# ---------------------------------------------------------------- one message


def _detail(report: OomReport, place: int) -> Iterator[Section]:
    message, choice = report.log.messages[place], report.dumps[place]
    if choice:
        yield _dump_section(report, choice)
    elif report.files:
        yield _no_dump(report, message)
    yield from _fact_sections(message, choice)
    yield from _buffer_sections(message, choice, report.top)


_CHOSEN_BY: Final = {
    ChosenBy.MODULE: "The only dump of the module that the message names.",
    ChosenBy.BUFFERS: "Chosen because it has the buffers that the message lists.",
    ChosenBy.NUMBER: "Chosen because one of its totals is the number in the message.",
    ChosenBy.BIGGEST: "Of the {count:,} dumps of this module, the one that reserves the most; no number confirms it.",
    ChosenBy.ONLY: "The only dump. The message does not name its module, and no number confirms it.",
}


def _dump_section(report: OomReport, choice: Choice) -> Section:
    first = next(iter(report.files[choice.place].values()))
    why = _CHOSEN_BY[choice.by].format(count=choice.count)
    return Section(("Dump: ", Name(first, widest=None, role=Role.PATH)), (why, *_contents(choice)))


def _contents(choice: Choice) -> Iterator[str]:
    """What the memory space of the message holds, in a sentence."""
    join, dump = choice.join, choice.analysis.dump
    if join.sums:
        parts = [one for one in (DumpSum.PARAMETERS, DumpSum.TEMPORARIES) if join.sums[one][0]]
        holds = " and ".join(f"{_sum_size(join, one)} of {_sum_name(dump, join, one)}" for one in parts)
        space = choice.analysis.memory.space(join.color)
        if space is not None:
            needed = bounded_size(space.needed_bytes, space.reserved_bound)
            yield f"It needs {needed} of {space_name(space.id)}{f', with {holds}' if holds else ''}."


def _no_dump(report: OomReport, message: OomMessage) -> Section:
    dumps = counted(len(report.files), "dump")
    why = f"none is of module {message.module}" if message.module else "the message does not say which one it means"
    return Section(f"No dump of this message found in {dumps}: {why}")


def _fact_sections(message: OomMessage, choice: Choice | None) -> Iterator[Section]:
    facts = choice.join.facts if choice else tuple(FactMatch(fact, (), None) for fact in message.facts)
    if not facts:
        return
    rows = tuple(
        (
            size_text(match.fact.size) if match.fact.size else "unknown",
            _fact_name(match.fact),
            *([_in_dump(match, choice)] if choice else []),
        )
        for match in facts
    )
    titles = ("size", "in the message", "in the dump") if choice else ("size", "in the message")
    table = Table(headers(*titles, text=("in the message", "in the dump")), rows)
    yield Section("What the numbers are" if choice else "What the message says", (table, *_misnamed(facts, choice)))


def _fact_name(fact: OomFact) -> str:
    group = f"{fact.group}: " if fact.group else ""
    return f"{group}{fact.name}{f' {fact.note}' if fact.note else ''}"


_SUMS: Final = {
    DumpSum.RESERVED: "all allocations in {space}",
    DumpSum.TEMPORARIES: "preallocated temporaries",
    DumpSum.PARAMETERS: "parameters",
    DumpSum.PROGRAM: "everything but the parameters",
    DumpSum.OUTPUTS: "outputs",
    DumpSum.CONSTANTS: "constants",
    DumpSum.PEAK: "the peak of {space}",
}


def _in_dump(match: FactMatch, choice: Choice) -> str:
    join, dump = choice.join, choice.analysis.dump
    if match.equals:
        # Sums that the message cannot tell apart differ in their last digits.
        return ", or ".join(f"{_sum_name(dump, join, one)} ({join.sums[one][0]:,} bytes)" for one in match.equals)
    if any(bound is not Bound.EXACT for _, bound in join.sums.values()):
        return f"unknown: {short_reason(choice.analysis.warrants)}"
    if match.meant and match.meant in join.sums and match.fact.size:
        return f"no such sum: {_sum_name(dump, join, match.meant)} take {_sum_size(join, match.meant)}"
    return ""


def _sum_name(dump: DumpSet, join: OomJoin, one: DumpSum) -> str:
    return _SUMS[one].format(space=space_name(dump.space_id(join.color)))


def _sum_size(join: OomJoin, one: DumpSum) -> str:
    return bounded_size(*join.sums[one])


def _misnamed(facts: Sequence[FactMatch], choice: Choice | None) -> Iterator[str]:
    for match in facts if choice else ():
        if match.is_misnamed and match.meant and match.fact.size and choice:
            dump, join = choice.analysis.dump, choice.join
            yield (
                f'The message calls {size_text(match.fact.size)} "{match.fact.name}", but '
                f"{_sum_name(dump, join, match.meant)} take {_sum_size(join, match.meant)}. "
                f"{size_text(match.fact.size)} is the size of "
                f"{' or '.join(_sum_name(dump, join, one) for one in match.equals)}."
            )


def _buffer_sections(message: OomMessage, choice: Choice | None, top: int | None) -> Iterator[Section]:
    if not message.buffers:
        return
    shown = message.buffers[:top]
    matches = choice.join.buffers[:top] if choice else tuple(BufferMatch(buffer, (), None) for buffer in shown)
    titles = ["size", "padding", "shape", "buffer", *(["in the dump"] if choice else []), "source", "op_name"]
    rows = tuple(
        (
            size_text(match.buffer.size) if match.buffer.size else "",
            _padding(match.buffer),
            Name(match.buffer.shape, widest=WIDEST_SHAPE, role=Role.SHAPE) if match.buffer.shape else "",
            _buffer_name(match.buffer),
            *([_value(match, choice.analysis.dump)] if choice else []),
            _source(match.buffer),
            Name(match.buffer.op_name, widest=LONGEST_NAME, role=Role.PATH) if match.buffer.op_name else "",
        )
        for match in matches
    )
    blocks: list[Text | Table] = [
        Table(headers(*titles, text=("shape", "buffer", "in the dump", "source", "op_name")), rows),
    ]
    if message.is_cut_off:
        blocks.append("The message is cut off: the last buffer is incomplete, and there may be more.")
    count = len(message.buffers)
    more = f" (the first {len(shown):,} of {count:,})" if len(shown) < count else ""
    yield Section(f"Buffers that the message lists{more}", tuple(blocks))


def _source(buffer: OomBuffer) -> Text:
    if not buffer.source_file:
        return ""
    name = re.split(r"[/\\]", buffer.source_file)[-1]
    frame = StackFrame(buffer.source_file, buffer.source_line)
    return Name(name if frame.line is None else f"{name}:{frame.line}", role=Role.SOURCE, frame=frame)


def _padding(buffer: OomBuffer) -> str:
    if buffer.padding:
        return size_text(buffer.padding)
    return "none" if buffer.unpadded and buffer.size and buffer.unpadded.text == buffer.size.text else ""


def _buffer_name(buffer: OomBuffer) -> Text:
    if buffer.name:
        return Name(buffer.name)
    if buffer.is_parameter:
        return "parameter"
    return Name(buffer.label or buffer.tag or "") if buffer.label or buffer.tag else ""


def _value(match: BufferMatch, dump: DumpSet) -> Text:
    if not match.values:
        is_named = match.buffer.name or match.buffer.shape
        return "not found" if is_named else "the message does not name it"
    more = f" or {len(match.values) - 1:,} like it" if len(match.values) > 1 else ""
    size = f", but {human(int(dump.values.size_bytes[match.values[0]]))}" if match.is_other_size else ""
    return (value_link(dump, match.values[0]), f"{more}{size}{_MATCHED[match.by]}")


_MATCHED: Final = {
    MatchedBy.NAME: "",
    MatchedBy.OP_NAME: " (by op_name, shape and size)",
    MatchedBy.SHAPE: " (by shape and size)",
    None: "",
}


def _others(report: OomReport, places: Sequence[int]) -> Section:
    shown = places[: report.top]
    rows = tuple(
        (
            f"{message.line:,}",
            f"{message.times:,}",
            size_text(message.needed) if message.needed else "",
            capitalized(_what(message)),
        )
        for message in (report.log.messages[place] for place in shown)
    )
    count = len(places) + report.log.left_out
    more = f" (the first {len(shown):,} of {count:,})" if len(shown) < count else ""
    table = Table(headers("line", "times", "size", "message", text=("message",)), rows)
    return Section(f"Other messages in the log{more}", (table,))


# ---------------------------------------------------------------- JSON


def oom_data(report: OomReport) -> dict[str, Any]:
    """Return the messages as a JSON object; `docs/oom.schema.json` describes it."""
    return {
        "log": report.label,
        "messages": [
            _message_data(report, message, choice)
            for message, choice in zip(report.log.messages, report.dumps, strict=True)
        ],
        "left_out": report.log.left_out,
    }


def _message_data(report: OomReport, message: OomMessage, choice: Choice | None) -> dict[str, Any]:
    join = choice.join if choice else None
    facts = join.facts if join else tuple(FactMatch(fact, (), None) for fact in message.facts)
    buffers = join.buffers if join else tuple(BufferMatch(buffer, (), None) for buffer in message.buffers)
    return {
        "kind": message.kind.value,
        "is_failure": message.is_failure,
        "line": message.line,
        "times": message.times,
        "sentence": message.sentence,
        "code": message.code,
        "memory_space": message.space,
        "module": message.module,
        "subject": message.subject,
        "needed": _size_data(message.needed),
        "capacity": _size_data(message.capacity),
        "excess": _size_data(message.excess),
        "free": _size_data(message.free),
        "facts": [_fact_data(match) for match in facts],
        "buffers": [_buffer_data(match, choice) for match in buffers[: report.top]],
        "is_cut_off": message.is_cut_off,
        "dump": choice
        and {
            "files": dict(report.files[choice.place]),
            "chosen_by": choice.by.value,
            "sums": {
                one.value: {"size_bytes": size, "bound": bound} for one, (size, bound) in choice.join.sums.items()
            },
        },
    }


def _size_data(size: PrintedSize | None) -> dict[str, Any] | None:
    if size is None:
        return None
    return {
        "text": size.text,
        "size_bytes": size.size_bytes,
        "least_bytes": size.least_bytes,
        "most_bytes": size.end_bytes - 1,
    }


def _fact_data(match: FactMatch) -> dict[str, Any]:
    return {
        "group": match.fact.group or None,
        "name": match.fact.name,
        "size": _size_data(match.fact.size),
        "note": match.fact.note or None,
        "equals": [one.value for one in match.equals],
        "meant": match.meant,
    }


def _buffer_data(match: BufferMatch, choice: Choice | None) -> dict[str, Any]:
    buffer = match.buffer
    return {
        "number": buffer.number,
        "size": _size_data(buffer.size),
        "shape": buffer.shape,
        "name": buffer.name,
        "opcode": buffer.opcode,
        "label": buffer.label,
        "op_name": buffer.op_name,
        "source_file": buffer.source_file,
        "source_line": buffer.source_line,
        "unpadded": _size_data(buffer.unpadded),
        "padding": _size_data(buffer.padding),
        "allocation_type": buffer.allocation_type,
        "tag": buffer.tag,
        "is_parameter": buffer.is_parameter,
        "values": [_value_data(choice.analysis.dump, value) for value in match.values] if choice else [],
        "matched_by": match.by,
        "is_other_size": match.is_other_size,
    }


def _value_data(dump: DumpSet, value: int) -> dict[str, Any]:
    index = int(dump.values.index[value])
    return {
        "id": int(dump.values.id[value]),
        "name": dump.label(int(dump.values.name[value]), NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
        "size_bytes": int(dump.values.size_bytes[value]),
    }
