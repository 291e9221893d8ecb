"""Values as JSON."""

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.words.messages import Json


def value_name(dump: DumpSet, value: int, columns: str = "") -> Json:
    """Return a value by its id, name and index, and some columns of its row. The index is null where the instruction
    has no tuple shape.
    """
    name, index = dump.name_of(value), dump.values.index.item(value)
    return {
        "id": dump.values.id.item(value),
        "name": dump.label(name, NONE),
        "index": dump.indices[index].decode() if index != NONE else None,
        **{column: int(getattr(dump.values, column)[value]) for column in columns.split()},
    }
