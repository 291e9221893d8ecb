"""Out-of-memory messages as JSON."""

from collections.abc import Sequence

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.oom import oom_json
from xla_lens.oom.candidates import Choice
from xla_lens.oom.explanation import OomReport, short_by_bytes
from xla_lens.syntax.compile_log import CompiledProgram
from xla_lens.syntax.oom_messages import OomBuffer, OomFact, OomMessage
from xla_lens.syntax.printed_size import PrintedSize
from xla_lens.words.json_types import identity


def compiled_data(programs: Sequence[CompiledProgram]) -> list[oom_json.CompiledProgram]:
    """Return what the compiler for TPUs logged about programs as JSON."""
    return [
        oom_json.CompiledProgram(
            program.module,
            [oom_json.SpaceUse(use.space.lower(), _printed(use.used), _printed(use.capacity)) for use in program.uses],
        )
        for program in programs
    ]


def _printed(size: PrintedSize) -> oom_json.Size:
    return oom_json.Size(size.text, size.size_bytes, size.least_bytes, size.most_bytes)


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
    return _printed(size) if size else None


def _fact_data(fact: OomFact) -> oom_json.Fact:
    return oom_json.Fact(
        group=fact.group,
        name=fact.name,
        size=_size_data(fact.size),
        count=fact.count,
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
