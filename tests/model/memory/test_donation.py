"""Donation, on programs compiled with and without `donate_argnums`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from samples import (
    SHARED_DUMPS,
    analysis_of,
    analysis_of_text,
    module_of,
    needs_shared_dumps,
    on_all_dumps,
    on_each_dump,
)
from xla_lens.api import find_donation
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory import donation as donations
from xla_lens.model.memory.donation import Donation, Fit
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Kind


def _pairs(dump: DumpSet, donation: Donation) -> list[tuple[str, str, str]]:
    return [(dump.value_label(row.parameter), dump.value_label(row.output), row.fit.value) for row in donation.missed]


def _check(dump: DumpSet) -> Donation:
    donation = find_donation(dump)
    values, kinds = dump.values, dump.allocations.kind
    for donated in donation.donated:
        kind = Kind(int(kinds[values.allocation[donated.parameter]]))
        assert Kind.PARAMETER | Kind.MAYBE_LIVE_OUT in kind
        assert all(values.allocation[value] == values.allocation[donated.parameter] for value in donated.reused_by)
    for row in donation.missed:
        assert dump.shape(row.parameter) == dump.shape(row.output)
        assert values.color[row.parameter] == values.color[row.output]
        sizes = dump.allocations.size_bytes[values.allocation[[row.parameter, row.output]]]
        assert (sizes == row.size_bytes).all()
        assert row.birth == values.start_step[row.output if row.fit in (Fit.SHARED, Fit.READ_LATER) else row.first]
        assert row.size_bytes > 0
        if row.last_read is not None:
            is_read_then = row.last_read == row.birth and row.fit is not Fit.FREE
            assert row.last_read < row.birth or is_read_then or row.fit is Fit.READ_LATER
    assert len({row.output for row in donation.missed}) == len(donation.missed)
    assert len({row.parameter for row in donation.missed}) == len(donation.missed)
    assert not {row.parameter for row in donation.missed} & {row.parameter for row in donation.donated}
    for kept in donation.kept_apart:
        assert values.allocation[kept.copy] != values.allocation[kept.parameter]
        assert kept.is_output or kept.parameter in {donated.parameter for donated in donation.donated}
    return donation


@on_each_dump
def test_donation_is_consistent_on_real_dumps(path: Path) -> None:
    dump = analysis_of(path).dump
    # A release of 2020 prints no live ranges.
    assert _check(dump).is_known == (len(dump.live_ranges) > 0)


def _check_analysis(analysis: Analysis) -> Donation:
    return _check(analysis.dump)


@on_all_dumps(_check_analysis)
def test_donation_on_all_dumps(of_all_dumps: Mapping[str, Donation]) -> None:
    assert sum(len(donation.donated) for donation in of_all_dumps.values()) == 11201
    fits = [row.fit for donation in of_all_dumps.values() for row in donation.missed]
    # Without HLO modules, only what makes an output may be seen to update a parameter.
    assert [fits.count(fit) for fit in Fit] == [0, 66, 49, 44]


def _named(pattern: str) -> tuple[DumpSet, Donation]:
    path = next(SHARED_DUMPS.glob(pattern))
    dump = analysis_of(path).dump
    return dump, find_donation(dump, module_of(path))


@needs_shared_dumps
@pytest.mark.parametrize(
    ("donating", "plain", "count"),
    [
        ("tpu-v5e2x2*/mlp_train/module_0000*-buffer-assignment.txt", "module_0013*-buffer-assignment.txt", 6),
        ("cpu-jaxlib0.12*/mlp_train/module_0000*-buffer-assignment.txt", "module_0002*-buffer-assignment.txt", 6),
        ("cpu-jaxlib0.4.20/mlp_train/module_0000*-buffer-assignment.txt", "module_0001*-buffer-assignment.txt", 6),
        ("gpu-h100-jaxlib0.10.2/mlp_train/module_0001*-buffer-assignment.txt", "module_0664*-assignment.txt", 6),
    ],
)
def test_missed_donations_match_those_of_the_donating_program(donating: str, plain: str, count: int) -> None:
    """The same program, compiled with `donate_argnums` and without."""
    dump, donation = _named(donating)
    twin, missing = _named(str(Path(donating).parent / plain))
    donated = {dump.value_label(row.parameter) for row in donation.donated}
    missed = {twin.value_label(row.parameter) for row in missing.missed}
    assert len(donated) == 6
    assert not donation.missed
    assert not missing.donated
    assert missed <= donated
    assert len(missed) == count


def _copies(dump: DumpSet, donation: Donation) -> list[str]:
    """Each copy that keeps a parameter and an output apart: ``copy of a, output``."""
    return [
        f"{dump.value_label(row.copy)} of {dump.value_label(row.parameter)}{', output' if row.is_output else ''}"
        for row in donation.kept_apart
    ]


@needs_shared_dumps
def test_copies_that_keep_parameters_and_outputs_apart() -> None:
    # Both parameters are donated, and each is the other's output.
    dump, donation = _named("cpu-jaxlib0.10.2/donation/*jit_swap*-buffer-assignment.txt")
    assert _copies(dump, donation) == ["copy of a.1", "copy.1 of b.1"]
    assert donation.kept_apart_bytes == 800
    reused_by = [[dump.value_label(value) for value in row.reused_by] for row in donation.donated]
    assert reused_by == [["copy.2"], ["copy.3"]]
    # One parameter is returned three times.
    dump, donation = _named("cpu-jaxlib0.10.2/donation/*jit_same*-buffer-assignment.txt")
    assert _copies(dump, donation) == ["copy.2 of a.1, output", "copy.3 of a.1, output"]
    assert [row.reused_by for row in donation.donated] == [()]
    # On a TPU the copies go through VMEM.
    dump, donation = _named("tpu-v5e2x2*/donation/*jit_same*-buffer-assignment.txt")
    assert _copies(dump, donation) == ["copy.4 of a.1, output", "copy.5 of a.1, output"]


_TEXT = """BufferAssignment:
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {{}}:
 value: <0 a @0> (size=400,offset=0): f32[100]{{0}}
allocation 1: size 400, output shape is |f32[100]|, maybe-live-out:
 value: <1 b @0> (size=400,offset=0): f32[100]{{0}}

Total bytes used: 800 (800B)

Used values:
<0 a @0>
 positions:
  a
 uses:
  b, operand 0
 from instruction: %a = f32[100]{{0}} parameter(0)
<1 b @0>
 positions:
  b
 uses:
 from instruction: %b = f32[100]{{0}} {instruction}


HloLiveRange (max 2):
  InstructionSequence:
    0:a
    1:b
  BufferLiveRange:
    a{{}}:0-2
    b{{}}:1-2
"""


@pytest.mark.parametrize(
    ("instruction", "fits"),
    [
        ("negate(%a)", ["in place"]),
        ("copy(%a)", ["in place"]),
        ("fusion(%a), kind=kLoop, calls=%f", ["in place"]),
        ("fusion(%a), kind=kOutput, calls=%f", ["read later"]),
        ("reverse(%a), dimensions={0}", []),
        ("dynamic-update-slice(%a)", ["in place"]),
    ],
)
def test_the_last_reader_may_overwrite_its_operand(instruction: str, fits: list[str]) -> None:
    dump = analysis_of_text(_TEXT.format(instruction=instruction)).dump
    assert [fit for *_, fit in _pairs(dump, donations.find_donation(dump, {1: 0}))] == fits


def test_nothing_is_missed_without_uses_or_a_schedule() -> None:
    text = _TEXT.format(instruction="negate(%a)")
    for part in (text[: text.index("HloLiveRange")], text[: text.index("Total")]):
        donation = find_donation(analysis_of_text(part).dump)
        assert (donation.missed, donation.kept_apart, donation.is_known) == ((), (), False)
