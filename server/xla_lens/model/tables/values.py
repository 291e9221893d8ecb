"""The values of a dump set, one row each."""

from dataclasses import dataclass

from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One row a value, by id. `slice`, `used_value` and `live_range` are rows of those tables; a value that one of them
    lacks has NONE there, and in the columns that come from it. `index` is NONE where the instruction has no tuple
    shape.
    """

    id: Column
    name: Column
    index: Column
    slice: Column
    used_value: Column
    live_range: Column
    allocation: Column
    color: Column
    offset: Column
    size_bytes: Column
    start_step: Column
    end_step: Column

    def __len__(self) -> int:
        return len(self.id)
