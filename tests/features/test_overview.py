"""The overview: its numbers and places agree with all other answers."""

from collections.abc import Mapping
from typing import Any, cast

from samples import SHARED_DUMPS, SPLIT, analysis_of, facts, module_of, on_all_dumps
from xla_lens.features.hover import hover
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Mention, Role, Target, Value, mention_at
from xla_lens.model.places.places import Place, value_place
from xla_lens.render.overview import Locate, overview_data

_TOP = 5


def overview(analysis: Analysis, module: HloModule | None, top: int) -> Any:
    """The overview of a dump set, with places instead of locations."""
    return overview_data(analysis, module, top, Locate(cast(Any, lambda place: place), lambda value: None))


def test_overview_lists_the_values_at_the_peak() -> None:
    found = overview(analysis_of(SPLIT), module_of(SPLIT), 3)
    (space,) = found["spaces"]
    assert (found["module"], space["peakInstruction"], space["liveCount"]) == ("jit_train_step", "ynn_fusion.1", 13)
    assert [(entry["label"], entry["sizeBytes"]) for entry in space["live"]] == [
        ("params_0__0_.1", 1605632),
        ("dot", 1605632),
        ("multiply_subtract_fusion.3", 524288),
    ]
    assert [
        (entry["index"], entry["kind"], entry["sizeBytes"], entry["mostLiveBytes"]) for entry in found["allocations"]
    ] == [
        (29, "temp", 1869824, 1869824),
        (0, "parameter", 1605632, 1605632),
        (1, "parameter", 524288, 524288),
    ]


def _check(analysis: Analysis) -> list[tuple[int, int]]:
    """Return the allocations and the live bytes of each memory space, after a check of the order of all entries."""
    found = overview(analysis, None, _TOP)
    for space in found["spaces"]:
        sizes = [entry["sizeBytes"] for entry in space["live"]]
        assert sizes == sorted(sizes, reverse=True)
        assert len(sizes) == min(space["liveCount"], _TOP)
        for entry in space["live"]:
            assert entry["label"] == analysis.dump.value_label(entry["value"])
            _check_place(analysis, Value(entry["value"]), value_place(analysis.dump, entry["value"]))
    for allocation in found["allocations"]:
        assert -1 <= allocation["mostLiveBytes"] <= allocation["sizeBytes"]
        assert allocation["mostLiveBytes"] <= analysis.memory.allocation(allocation["allocation"]).peak_bytes
        _check_place(analysis, Allocation(allocation["allocation"]), allocation["location"])
    return [(space["peakLiveBytes"], space["reservedBytes"]) for space in found["spaces"]]


def _check_place(analysis: Analysis, target: Target, place: Place | None) -> None:
    """Check that the text at each place is the entry."""
    assert place
    mention = mention_at(analysis.dump, place.file, place.start)
    assert mention
    assert mention.target == target
    assert hover(analysis, None, mention) == _described(analysis, target)


def _described(analysis: Analysis, target: Target) -> str:
    return hover(analysis, None, Mention(target, Role.USED_VALUE, 0, 0))


@on_all_dumps(_check)
def test_overviews_are_consistent_on_all_dumps(of_all_dumps: Mapping[str, Any]) -> None:
    expected = {
        fact["file"]: [space["reserved_bytes"] for space in fact["memory_spaces"]] for fact in facts(SHARED_DUMPS)
    }
    assert {file: [reserved for _, reserved in found] for file, found in of_all_dumps.items()} == expected
