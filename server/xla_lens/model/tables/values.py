"""The values of a dump set, one row each."""

from xla_lens.syntax.columns import Column, Columns


class Values(Columns):
    """One row for each value, by id. `slice`, `used_value` and `live_range` are rows of the tables with these names,
    NONE if the table lacks the value; then the columns that come from the table are NONE too. `index` is NONE if the
    instruction has no tuple shape.
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
