"""The memory maps of two dumps that are compared, on one axis of steps."""

from typing import Final, Literal

import numpy as np

from xla_lens.diff.compare import Diff
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.model.diff.alignment import common_axis
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import DiffSide
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.words import contract

_CATEGORIES: Final = (
    "unchanged",
    *("added", "removed"),
    *("bigger", "smaller", "longer", "shorter", "changed otherwise"),
)
"""What happened to a value, in one word. A value whose size changed may live longer or shorter as well."""


def _categories(compared: Comparison) -> Column:
    """The number of the category of each row of the values."""
    values = compared.values
    old = taken(compared.old.dump.values.size_bytes, values.old)
    new = taken(compared.new.dump.values.size_bytes, values.new)
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


def compared_maps(diff: Diff, old_uri: str = "", new_uri: str = "") -> contract.ComparedMaps:
    """Return the maps of both dumps of a comparison, with the URI of a file of each if an editor needs it."""
    compared = diff.comparison
    assert compared is not None
    assert isinstance(diff.old, DiffSide)
    old, new = (memory_map_data(side.analysis) for side in (diff.old, diff.new))
    matching, values, categories = compared.matching, compared.values, _categories(compared)
    axes = common_axis(matching.old_steps, matching.new_steps, len(old["steps"]), len(new["steps"]))
    _compare(old, "old", axes[0], categories[values.of_old], matching.new_of_old)
    _compare(new, "new", axes[1], categories[values.of_new], matching.old_of_new)
    return {"old": old, "new": new, "old_uri": old_uri, "new_uri": new_uri}


def _compare(
    data: contract.MemoryMap, side: Literal["old", "new"], places: Column, category: Column, partner: Column
) -> None:
    """Move a map to the axis, on which its steps have some `places`, and add the comparison."""

    def moved(steps: list[int], next_step: int = 0) -> list[int]:
        """The first place of each step; with a `next_step` of 1 its last place."""
        column = np.array(steps, np.int64)
        of_step = places[np.clip(column + next_step, 0, len(places) - 1)] - next_step
        found: list[int] = np.where(column < 0, NONE, of_step).tolist()
        return found

    # The step of the dump at each place, NONE before the first one.
    own = places[:-1].searchsorted(np.arange(places[-1]), "right") - 1
    data["steps"] = taken(np.array(data["steps"], np.int64), own).tolist()
    values, printed_peak = data["values"], data["printed_peak"]
    for space in data["spaces"]:
        space["curve_step"] = moved(space["curve_step"])
        if space["peak_step"] is not None:
            (space["peak_step"],) = moved([space["peak_step"]])
    if printed_peak:
        (printed_peak["step"],) = moved([printed_peak["step"]])
    values["start_step"], values["end_step"] = moved(values["start_step"]), moved(values["end_step"], 1)
    first = len(data["strings"])
    data["strings"] += _CATEGORIES
    data["comparison"] = {
        "side": side,
        "own_step": own.tolist(),
        "change": (category + first).tolist(),
        "partner": partner.tolist(),
    }
