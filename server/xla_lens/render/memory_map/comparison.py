"""The memory maps of two dumps that are compared, on one axis of steps."""

from typing import Final, Literal

import numpy as np

from xla_lens.features.diff.facts import Diff, DiffSide
from xla_lens.features.diff.values import Category, ValuePairs, categories
from xla_lens.model.diff.axis import common_axis
from xla_lens.render import contract
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.syntax.columns import NONE, Column

CATEGORY_NAMES: Final = {
    Category.UNCHANGED: "unchanged",
    Category.ADDED: "added",
    Category.REMOVED: "removed",
    Category.BIGGER: "bigger",
    Category.SMALLER: "smaller",
    Category.LONGER: "longer",
    Category.SHORTER: "shorter",
    Category.OTHER: "changed otherwise",
}


def compared_maps(one: Diff, pairs: ValuePairs, old_uri: str = "", new_uri: str = "") -> contract.ComparedMaps:
    """Return the maps of both dumps of a comparison, with the URI of a file of each if an editor needs it."""
    compared = one.comparison
    assert compared is not None
    assert isinstance(one.old, DiffSide)
    old, new = (memory_map_data(side.analysis, side.module) for side in (one.old, one.new))
    matching = compared.matching
    axis = common_axis(matching.old_steps, matching.new_steps, len(old["steps"]), len(new["steps"]))
    found = categories(compared)
    values = compared.values
    own = _move(old, axis.old, axis.length), _move(new, axis.new, axis.length)
    old["comparison"] = _comparison(old, "old", own[0], found[pairs.of_old], values.new[pairs.of_old])
    new["comparison"] = _comparison(new, "new", own[1], found[pairs.of_new], values.old[pairs.of_new])
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
    data["strings"] += CATEGORY_NAMES.values()
    return {
        "side": side,
        "ownStep": own_step.tolist(),
        "change": (category + first).tolist(),
        "partner": partner.tolist(),
    }
