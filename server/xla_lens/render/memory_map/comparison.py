"""The memory maps of two dumps that are compared, on one axis of steps."""

from typing import Final, Literal

import numpy as np

from xla_lens.features.diff.facts import Diff, DiffSide
from xla_lens.model.diff.alignment import common_axis
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.tables.lookup import taken
from xla_lens.render import contract
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.syntax.columns import NONE, Column

_CATEGORIES: Final = (
    "unchanged",
    *("added", "removed"),
    *("bigger", "smaller", "longer", "shorter", "changed otherwise"),
)
"""What happened to a value, in one word. A value whose size changed may live longer or shorter as well."""


def _categories(compared: Comparison) -> Column:
    """The number of the category of each row of the values."""
    values = compared.values
    sizes = (side.dump.values.size_bytes for side in (compared.old, compared.new))
    old, new = (taken(column, rows) for column, rows in zip(sizes, (values.old, values.new), strict=True))
    cases = (
        values.value_class == ValueClass.ADDED,
        values.value_class == ValueClass.REMOVED,
        new > old,
        new < old,
        values.longer_by > 0,
        values.longer_by < 0,
        values.value_class != ValueClass.UNCHANGED,
    )
    return np.select(cases, range(1, len(_CATEGORIES)), 0)


def compared_maps(one: Diff, old_uri: str = "", new_uri: str = "") -> contract.ComparedMaps:
    """Return the maps of both dumps of a comparison, with the URI of a file of each if an editor needs it."""
    compared = one.comparison
    assert compared is not None
    assert isinstance(one.old, DiffSide)
    old, new = (memory_map_data(side.analysis, side.module) for side in (one.old, one.new))
    matching, values, found = compared.matching, compared.values, _categories(compared)
    axis = common_axis(matching.old_steps, matching.new_steps, len(old["steps"]), len(new["steps"]))
    own = _move(old, axis.old, axis.length), _move(new, axis.new, axis.length)
    old["comparison"] = _comparison(old, "old", own[0], found[values.of_old], matching.new_of_old)
    new["comparison"] = _comparison(new, "new", own[1], found[values.of_new], matching.old_of_new)
    return {"old": old, "new": new, "oldUri": old_uri, "newUri": new_uri}


def _move(data: contract.MemoryMap, places: Column, length: int) -> Column:
    """Move a map to the axis. Return the step of the dump at each place, NONE before the first one."""

    def start(steps: list[int]) -> list[int]:
        column = np.array(steps, np.int64)
        moved: list[int] = np.where(column < 0, NONE, places[np.clip(column, 0, len(places) - 1)]).tolist()
        return moved

    def end(steps: list[int]) -> list[int]:
        column = np.array(steps, np.int64)
        moved: list[int] = np.where(column < 0, NONE, places[np.clip(column + 1, 0, len(places) - 1)] - 1).tolist()
        return moved

    own: Column = places[:-1].searchsorted(np.arange(length), "right") - 1
    steps = np.array(data["steps"], np.int64)
    data["steps"] = np.where(own < 0, NONE, steps[own]).tolist() if len(steps) else [NONE] * length
    for space in data["spaces"]:
        space["curveStep"] = start(space["curveStep"])
        (space["peakStep"],) = start([space["peakStep"]])
    if data["printedPeak"]:
        (data["printedPeak"]["step"],) = start([data["printedPeak"]["step"]])
    values = data["values"]
    values["startStep"], values["endStep"] = start(values["startStep"]), end(values["endStep"])
    return own


def _comparison(
    data: contract.MemoryMap, side: Literal["old", "new"], own_step: Column, category: Column, partner: Column
) -> contract.MapComparison:
    first = len(data["strings"])
    data["strings"] += _CATEGORIES
    return {
        "side": side,
        "ownStep": own_step.tolist(),
        "change": (category + first).tolist(),
        "partner": partner.tolist(),
    }
