"""Values in reports: by name, and with what they take."""

from collections.abc import Iterator

from xla_lens.features.report.facts import LiveSet, LiveValue, ValueName
from xla_lens.model.memory.over_time import MemorySpace, live_in_space
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


def value_name(dump: DumpSet, value: int) -> ValueName:
    """A value by its id and name."""
    return ValueName(*name_cells(dump, value))


def name_cells(dump: DumpSet, value: int) -> tuple[int, str, str | None]:
    """The cells of `ValueName`."""
    index = int(dump.values.index[value])
    name = dump.label(int(dump.values.name[value]), NONE)
    return int(dump.values.id[value]), name, dump.indices[index].decode() if index != NONE else None


def names_of(dump: DumpSet, values: Column, top: int | None = None) -> tuple[ValueName, ...]:
    """The first of some values, by id and name."""
    return tuple(value_name(dump, value) for value in values[:top].tolist())


def end_step(dump: DumpSet) -> int | None:
    """The step after the last instruction, where the program ends; None without a schedule."""
    return dump.last_step + 1 if dump.last_step is not None else None


def live_set(dump: DumpSet, space: MemorySpace, step: int, top: int | None) -> LiveSet:
    """What takes bytes of a memory space at a step."""
    live = live_in_space(dump, step, space.color)
    return LiveSet(
        step=step,
        instruction=dump.instruction_at(step),
        live_bytes=space.live.at(step),
        count=len(live),
        values=tuple(live_value_rows(dump, live[:top])),
    )


def live_value_rows(dump: DumpSet, values: Column) -> Iterator[LiveValue]:
    """Some values with what they take."""
    table = dump.values
    for row in values.tolist():
        instruction = dump.instruction(int(table.name[row]))
        yield LiveValue(
            *name_cells(dump, row),
            allocation=int(dump.allocations.index[table.allocation[row]]),
            offset=int(table.offset[row]),
            size_bytes=int(table.size_bytes[row]),
            shape=shape_text(dump, row),
            start_step=int(table.start_step[row]),
            end_step=int(table.end_step[row]),
            op_name=instruction.op_name if instruction else None,
        )


def shape_text(dump: DumpSet, value: int) -> str:
    """The shape of a value with its layout, empty if it is not known."""
    return (dump.shape(value) or b"").decode("utf-8", "replace")
