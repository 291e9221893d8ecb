"""Reasons why live ranges end."""

from collections import Counter
from pathlib import Path

from samples import DUMPS, SEED, SPLIT, analysis_of, analysis_of_text, on_each_dump, slots_text
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.alive import Ending, Reason, last_uses, neighbours
from xla_lens.syntax.columns import NONE


def check(analysis: Analysis, label: str, expected: str) -> None:
    """The end of a value's live range as text: the reason, the step and the instructions there."""
    rows = [row for row in range(len(analysis.dump.values)) if analysis.dump.value_label(row) == label]
    assert len(rows) == 1, rows
    ending = last_uses(analysis.dump, rows[0])
    assert (_text(analysis, ending) if ending else "None") == expected


def _text(analysis: Analysis, ending: Ending) -> str:
    dump = analysis.dump
    text = f"{ending.reason.name} at {ending.end_step}"
    for row in ending.uses:
        text += f", by {dump.label(int(dump.uses.name[row]), NONE)}"
    for row in ending.positions:
        text += f", as {dump.label(int(dump.positions.name[row]), int(dump.positions.index[row]))}"
    if ending.later_step is not None:
        text += f", later by {dump.instruction_at(ending.later_step)}"
    return text + (f", then {dump.value_label(ending.successor)}" if ending.successor != NONE else "")


def test_steps_need_not_fit_into_32_bits() -> None:
    analysis = analysis_of_text(slots_text([(0, 0, 64, 0, 2**31), (0, 0, 64, 1, 2)]))
    check(analysis, "v0", "UNKNOWN at 2147483648")


def test_real_dumps_have_each_reason() -> None:
    train = analysis_of(SPLIT)
    check(train, "x.1", "PARAMETER at 40")
    check(train, "ynn_fusion.6", "READ at 32, by multiply_add_fusion")
    check(train, "multiply_tanh_fusion.1", "READ at 32, by multiply_add_fusion, then multiply_add_fusion")
    check(train, "multiply_subtract_fusion.5", "LIVE_OUT at 40")
    loop = analysis_of(next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/module_0009*-buffer-assignment.txt")))
    check(loop, "copy.7", "CALLED at 5, later by while.5, then arg_tuple.3{0}")
    check(loop, "while.5{0}", "UNUSED at 17, as while.5{0}")
    check(loop, "wrapped_compare", "COMPUTATION_END at 9")
    aliased = analysis_of(DUMPS / "seeds" / "002_04aa0d3336074bf8.txt")
    check(aliased, "param.3", "REPLACED at 25, later by fusion.5, then fusion.5{1}")


@on_each_dump
def test_reasons_match_uses_and_positions(path: Path) -> None:
    analysis = analysis_of(path)
    dump, values = analysis.dump, analysis.dump.values
    for value in range(len(values)):
        ending = last_uses(dump, value)
        assert (ending is None) == (values.live_range[value] == NONE)
        if ending is None:
            continue
        end = int(values.end_step[value])
        assert (ending.value, ending.end_step) == (value, end)
        for row in ending.uses:
            assert dump.schedule.step[dump.schedule_row_of_name[dump.uses.name[row]]] == end
            assert dump.value_of_used_value[dump.uses.value[row]] == value
        for row in ending.positions:
            assert dump.schedule.step[dump.schedule_row_of_name[dump.positions.name[row]]] == end
            assert dump.value_of_used_value[dump.positions.value[row]] == value
        if ending.successor != NONE:
            assert ending.successor in neighbours(dump, value)
            assert values.start_step[ending.successor] in (end, end + 1)
        assert ending.reason is not Reason.UNKNOWN
        assert ending.reason is not Reason.READ or ending.uses
        assert ending.reason is not Reason.PASSED_ON or (ending.positions and not ending.uses)
        assert ending.reason is not Reason.UNUSED or (len(ending.positions) == 1 and not ending.uses)
        assert ending.reason is not Reason.REPLACED or (ending.successor != NONE and not ending.uses)
        assert ending.reason is not Reason.CALLED or (ending.later_step is not None and not ending.uses)
        assert ending.reason is not Reason.PARAMETER or end == dump.live_range_headers.maximum[0]


def test_the_reason_is_unknown_without_uses() -> None:
    text = SEED.read_text()
    without = analysis_of_text(text[: text.index("\nUsed values:")] + "\n" + text[text.index("\nHloLiveRange") :])
    reasons = Counter(
        ending.reason for row in range(len(without.dump.values)) if (ending := last_uses(without.dump, row))
    )
    assert set(reasons) <= {Reason.UNKNOWN, Reason.LIVE_OUT, Reason.PARAMETER}
    assert reasons[Reason.UNKNOWN]
