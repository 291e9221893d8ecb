"""Out-of-memory messages for people: what a message says, and which numbers and values of the dump it means."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.oom import (
    BufferMatch,
    Candidate,
    Choice,
    ChosenBy,
    DumpSum,
    FactMatch,
    MatchedBy,
    OomJoin,
    choose_dumps,
    unjoined,
)
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import capitalized, counted, human
from xla_lens.render.report.blocks import (
    Name,
    Outline,
    Role,
    Section,
    Sections,
    Table,
    Text,
    table,
)
from xla_lens.render.report.values import value_link
from xla_lens.render.warrants import bounded_size, short_reason
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.oom import OomBuffer, OomFact, OomKind, OomLog, OomMessage, PrintedSize


@dataclass(frozen=True, slots=True, eq=False)
class OomReport:
    """The messages of a log, and the dump of each.

    `dumps` has one item for each message, None where no dump fits. `files` are the paths of the candidates' files, and
    `top` limits the rows of each list.
    """

    label: str
    log: OomLog
    dumps: tuple[Choice | None, ...]
    files: Sequence[Mapping[FileKind, str]]
    top: int | None

    @property
    def main(self) -> int:
        """The place of the message that the answer is about: the first failure, if possible with a dump."""
        messages = self.log.messages
        order = sorted(range(len(messages)), key=lambda one: (not messages[one].is_failure, self.dumps[one] is None))
        return order[0]


def oom_report(
    label: str, log: OomLog, sets: Sequence[tuple[Candidate, Mapping[FileKind, str]]], top: int | None
) -> OomReport:
    """Find the dump of each message among some sets, which come with the paths of their files."""
    chosen = choose_dumps(log.messages, [candidate for candidate, _ in sets])
    return OomReport(label, log, chosen, [files for _, files in sets], top)


def nothing_found(label: str) -> str:
    """Return the sentence that a log has no message."""
    return f"{label}: no out-of-memory message of XLA found. Expected the log of the failed program"


# ---------------------------------------------------------------- sentences

_WHEN_COMPILED: Final = "{space} ran out when XLA compiled {module}"

_WORDS: Final = {
    OomKind.COMPILE: (_WHEN_COMPILED, "needed", "available"),
    OomKind.COMPILE_TOTAL: (_WHEN_COMPILED, "needed", "available"),
    OomKind.COMPILE_CORES: (_WHEN_COMPILED, "needed", "available"),
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
    messages = report.log.messages
    message = messages[report.main]
    facts = (("log", (*_place(report.label, message), _also(report))), *_numbers(message))
    parts: list[Sections] = [(section,) for section in _detail(report, report.main)]
    others = [place for place in range(len(messages)) if place != report.main]
    if others:
        parts.append((_others(report, others),))
    return Outline(capitalized(_what(message)), facts, tuple(parts))


def _what(message: OomMessage) -> str:
    return _WORDS[message.kind][0].format(
        space=_SPACE_WORDS.get(message.space, message.space),
        module=message.module or "the program",
        subject=message.subject or "a kernel",
    )


def _place(label: str, message: OomMessage) -> tuple[str | Name, ...]:
    times = f", {message.times:,} times" if message.times > 1 else ""
    code = f", error code {message.code}" if message.code else ""
    return (Name(label, role=Role.PATH), f", line {message.line:,}{times}{code}")


def _also(report: OomReport) -> str:
    more = len(report.log.messages) - 1 + report.log.left_out
    return f"; {counted(more, 'other message')}" if more else ""


def _numbers(message: OomMessage) -> Iterator[tuple[str, Text]]:
    _, need, limit = _WORDS[message.kind]
    needed, capacity = message.needed, message.capacity
    for title, size in ((need, needed), (limit, capacity), ("free", message.free), ("short by", message.excess)):
        if size:
            yield title, size_text(size)
    if not message.excess and needed and capacity and needed.size_bytes > capacity.size_bytes:
        # The message does not print it. The difference of two rounded numbers is no more exact than they are.
        about = "" if needed.is_exact and capacity.is_exact else "about "
        yield "short by", f"{about}{human(needed.size_bytes - capacity.size_bytes)}"


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


def _join(message: OomMessage, choice: Choice | None) -> OomJoin:
    return choice.join if choice else unjoined(message)


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
    other = (_OTHER_RUN,) if choice.join.is_refuted else ()
    return Section(("Dump: ", Name(first, role=Role.PATH)), (why, *other, *_contents(choice)))


_OTHER_RUN: Final = "It is of another run: all its sizes are far from those in the message."


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
    count = len(report.files)
    if message.module:
        why = f"{'it is not' if count == 1 else 'none is'} of module {message.module}"
    else:
        why = "it has other sizes or buffers" if count == 1 else "the message does not say which one it means"
    which = "The dump is not" if count == 1 else f"None of the {count:,} dumps is known to be"
    return Section(f"{which} about this message: {why}")


def _fact_sections(message: OomMessage, choice: Choice | None) -> Iterator[Section]:
    facts = _join(message, choice).facts
    if not facts:
        return
    rows = tuple(
        (
            size_text(match.fact.size) if match.fact.size else "unknown",
            " ".join(filter(None, (f"{match.fact.group}:" * bool(match.fact.group), match.fact.name, match.fact.note))),
            *([_in_dump(match, choice)] if choice else []),
        )
        for match in facts
    )
    shown = table(f"size | <in the message{' | <in the dump' if choice else ''}", rows)
    yield Section("What the numbers are" if choice else "What the message says", (shown, *_misnamed(facts, choice)))


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
    for match in facts:
        if choice and match.is_misnamed and match.meant and match.fact.size:
            dump, join, size = choice.analysis.dump, choice.join, size_text(match.fact.size)
            others = " or ".join(_sum_name(dump, join, one) for one in match.equals)
            yield (
                f'The message calls {size} "{match.fact.name}", but {_sum_name(dump, join, match.meant)} take '
                f"{_sum_size(join, match.meant)}. {size} is the size of {others}."
            )


def _buffer_sections(message: OomMessage, choice: Choice | None, top: int | None) -> Iterator[Section]:
    if not message.buffers:
        return
    matches = _join(message, choice).buffers[:top]
    titles = f"size | padding | <shape | <buffer{' | <in the dump' if choice else ''} | <source | <op_name"
    rows = tuple(
        (
            size_text(match.buffer.size) if match.buffer.size else "",
            _padding(match.buffer),
            Name(match.buffer.shape, role=Role.SHAPE) if match.buffer.shape else "",
            _buffer_name(match.buffer),
            *([_value(match, choice.analysis.dump)] if choice else []),
            _source(match.buffer),
            Name(match.buffer.op_name, role=Role.PATH) if match.buffer.op_name else "",
        )
        for match in matches
    )
    blocks: list[Text | Table] = [table(titles, rows)]
    if message.is_cut_off:
        blocks.append("The message is cut off: the last buffer is incomplete, and there may be more.")
    yield Section(f"Buffers that the message lists{_first(len(matches), len(message.buffers))}", tuple(blocks))


def _first(shown: int, count: int) -> str:
    return f" (the first {shown:,} of {count:,})" if shown < count else ""


def _source(buffer: OomBuffer) -> Text:
    if not buffer.source_file:
        return ""
    name = re.split(r"[/\\]", buffer.source_file)[-1]
    frame = StackFrame(buffer.source_file, buffer.source_line)
    return Name(name if frame.line is None else f"{name}:{frame.line}", role=Role.SOURCE, target=frame)


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
    more = _first(len(shown), len(places) + report.log.left_out)
    return Section(f"Other messages in the log{more}", (table("line | times | size | <message", rows),))


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
    join = _join(message, choice)
    dump: dict[str, Any] | None = None
    if choice:
        sums = {one: {"size_bytes": size, "bound": bound} for one, (size, bound) in join.sums.items()}
        dump = {"files": {**report.files[choice.place]}, "chosen_by": choice.by, "sums": sums}
    facts = [_data(match.fact) | {"equals": match.equals, "meant": match.meant} for match in join.facts]
    buffers = [_buffer_data(match, choice) for match in join.buffers[: report.top]]
    own = {"is_failure": message.is_failure, "facts": facts, "buffers": buffers, "dump": dump}
    data = _data(message) | own
    return {"memory_space" if name == "space" else name: value for name, value in data.items()}


def _buffer_data(match: BufferMatch, choice: Choice | None) -> dict[str, Any]:
    values = [_value_data(choice.analysis.dump, value) for value in match.values] if choice else []
    return _data(match.buffer) | {"values": values, "matched_by": match.by, "is_other_size": match.is_other_size}


def _data(record: OomMessage | OomFact | OomBuffer) -> dict[str, Any]:
    """The fields of a record, with None for empty texts and unknown sizes."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    sizes = {name: _size_data(value) for name, value in values.items() if isinstance(value, PrintedSize)}
    return {name: None if value == "" else value for name, value in values.items()} | sizes


def _size_data(size: PrintedSize) -> dict[str, Any]:
    most_bytes = size.end_bytes - 1
    return {"text": size.text, "size_bytes": size.size_bytes, "least_bytes": size.least_bytes, "most_bytes": most_bytes}


def _value_data(dump: DumpSet, value: int) -> dict[str, Any]:
    index = int(dump.values.index[value])
    return {
        "id": int(dump.values.id[value]),
        "name": dump.label(int(dump.values.name[value]), NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
        "size_bytes": int(dump.values.size_bytes[value]),
    }
