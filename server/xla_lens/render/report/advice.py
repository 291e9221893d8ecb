"""The parts of a report about what could lower the peak: buffers to free, padding, a budget, donation."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import PeakWithout, Report, SpaceReport
from xla_lens.model.advice.alive import Ending, Reason
from xla_lens.model.advice.donation import Donation, Fit
from xla_lens.model.advice.padding import padding_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.numbers import apart, as_given, capitalized, counted, human
from xla_lens.render.padding import padding_part as padding_cause
from xla_lens.render.report.blocks import WIDEST_SHAPE, Name, Role, Section, Sections, Table, Text, headers
from xla_lens.render.report.values import (
    first_names,
    live_range_text,
    op_name_text,
    reader_names,
    shape_text,
    space_of,
    step_link,
    value_link,
)

# ---------------------------------------------------------------- what keeps the peak up


def alive_sections(report: Report, one: SpaceReport) -> Sections:
    """The peak without each of the values that are live there, and what frees them."""
    if one.peak is None or not one.alive:
        return ()
    titles = ("peak without it", "at step", "saves", "own bytes", "value", "live until", "freed by")
    rows = tuple(_alive_row(report.dump, without, one.peak.live_bytes) for without in one.alive)
    title = f"{capitalized(space_of(report, one))} peak if one buffer were gone (now {human(one.peak.live_bytes)})"
    return (Section(title, (Table(headers(*titles, text=("value", "freed by")), rows),)),)


def _alive_row(dump: DumpSet, without: PeakWithout, peak_bytes: int) -> tuple[Text, ...]:
    return (
        human(without.next_peak_bytes),
        step_link(without.next_peak_step),
        human(peak_bytes - without.next_peak_bytes),
        human(without.freed_bytes),
        value_link(dump, without.value),
        step_link(int(dump.values.end_step[without.value])),
        freed_by(dump, without.ending) if without.ending else _FREED_BY[Reason.UNKNOWN],
    )


_FREED_BY: Final = {
    Reason.PARAMETER: "parameter, live to the end",
    Reason.LIVE_OUT: "part of the result, live to the end",
    Reason.READ: "last read by ",
    Reason.CALLED: "last read inside a called computation",
    Reason.REPLACED: "another value takes over its bytes",
    Reason.PASSED_ON: "passed on by ",
    Reason.UNUSED: "never read",
    Reason.COMPUTATION_END: "end of its computation",
    Reason.UNKNOWN: "unknown",
}
"""Those that end with a space are followed by the instructions."""


def freed_by(dump: DumpSet, ending: Ending) -> Text:
    """Return what ends the live range of a value: ``last read by fusion.5``."""
    words = _FREED_BY[ending.reason]
    return (words, *first_names([Name(name) for name in reader_names(dump, ending)])) if words.endswith(" ") else words


# ---------------------------------------------------------------- padding


def padding_sections(report: Report, one: SpaceReport) -> Sections:
    """The padding at the peak, and which dimension of which value causes it."""
    if one.padding is None:
        return ()
    padding = one.padding.at_peak
    unknown = f" (unknown for {human(padding.unknown_bytes)})" if padding.unknown_bytes else ""
    title = f"Padding at the {space_of(report, one)} peak: {human(padding.total_bytes)}{unknown}"
    rows = tuple(
        _padding_row(report.dump, int(padding.values[row]), int(padding.padding_bytes[row]))
        for row in one.padding.biggest
    )
    header = headers("padding", "size", "value", "shape", "cause", text=("value", "shape", "cause"))
    return (Section(title, (Table(header, rows),) if rows else ()),)


def _padding_row(dump: DumpSet, value: int, padding_bytes: int) -> tuple[Text, ...]:
    padding = padding_of(dump, value)
    causes = "; ".join(map(padding_cause, padding.parts)) if padding else ""
    return (
        human(padding_bytes),
        human(int(dump.values.size_bytes[value])),
        value_link(dump, value),
        Name(shape_text(dump, value), widest=WIDEST_SHAPE, role=Role.SHAPE),
        causes or (padding.unexplained.value if padding and padding.unexplained else ""),
    )


# ---------------------------------------------------------------- a budget


def budget_sections(report: Report, one: SpaceReport) -> Sections:
    """A small set of values to remove so that a program fits into the budget."""
    budget, space, dump = one.budget, space_of(report, one), report.dump
    if budget is None:
        return ()
    plan, size, top = budget.plan, as_given(budget.budget_bytes), report.options.top
    idle = human(budget.idle_bytes)
    if not len(plan.values):
        if one.space.needed_bytes <= budget.budget_bytes:
            return (Section(f"The program fits into {size} of {space} already"),)
        return (Section(f"Removing live buffers cannot make the program fit into {size} of {space}"),)
    which = "this buffer" if len(plan.values) == 1 else f"these {len(plan.values):,} buffers"
    at_least = f"no fewer than {budget.at_least:,} can suffice" if budget.at_least > 1 else "a smaller set may suffice"
    proof = "no smaller set suffices" if budget.is_proven_smallest else at_least
    then = apart(budget.needed_bytes, budget.budget_bytes)
    stays = f", if the {idle} that are not live at the peak stay" if budget.idle_bytes else ""
    if not budget.is_reached:
        title = f"Without {which}, the peak fits into {size} of {space}, but the program needs {idle} besides"
    else:
        title = f"To fit into {size} of {space}, remove {which} ({proof}); the program then needs {then}{stays}"
    rows = tuple(
        (
            human(int(dump.values.size_bytes[value])),
            value_link(dump, value),
            live_range_text(dump, value),
            op_name_text(report, value),
        )
        for value in plan.values[:top].tolist()
    )
    header = headers("size", "value", "live", "op_name", text=("value", "live", "op_name"))
    left_out = len(plan.values) - len(rows)
    rest = (f"... and {counted(left_out, 'more buffer')}",) if left_out else ()
    return (Section(title, (Table(header, rows), *rest)),)


# ---------------------------------------------------------------- donation


_FITS: Final = {
    Fit.FREE: "the parameter is dead before the output's buffer is first used",
    Fit.IN_PLACE: "if the parameter's last reader can write in place",
    Fit.SHARED: "other values use the output's buffer first, so less may be saved",
}


def donation_sections(report: Report) -> Sections:
    """Which parameters hold outputs, which could, and which copies keep the two apart."""
    donation = report.donation
    if donation is None:
        return ()
    donated = f"{counted(len(donation.donated), 'parameter')} ({human(donation.donated_bytes)})"
    missed = f"{len(donation.missed):,} {'more ' if donation.donated else ''}could be reused"
    more = missed if donation.missed else "no other candidates found"
    title = f"Donation: outputs reuse the memory of {donated if donation.donated else 'no parameter'}; {more}"
    return (Section(title, (*_missed(report, donation), *_copies(report, donation))),)


def _missed(report: Report, donation: Donation) -> Iterator[Text | Table]:
    if not donation.missed:
        return
    for fit in Fit:
        size_bytes = donation.missed_bytes(fit)
        if size_bytes:
            yield f"{human(size_bytes)} could be saved: {_FITS[fit]}"
    titles = ("size", "parameter", "last read", "output", "defined", "fit")
    rows = tuple(
        (
            human(row.size_bytes),
            value_link(report.dump, row.parameter),
            step_link(row.last_read) or "never",
            value_link(report.dump, row.output),
            step_link(row.birth),
            row.fit.value,
        )
        for row in donation.missed[: report.options.top]
    )
    yield Table(headers(*titles, text=("parameter", "output", "fit")), rows)


def _copies(report: Report, donation: Donation) -> Iterator[Text | Table]:
    if not donation.kept_apart:
        return
    count = len(donation.kept_apart)
    copies = "1 copy keeps" if count == 1 else f"{count:,} copies keep"
    yield f"{copies} parameters and outputs apart ({human(donation.kept_apart_bytes)}):"
    rows = tuple(
        (human(row.size_bytes), value_link(report.dump, row.copy), ("of ", value_link(report.dump, row.parameter)))
        for row in donation.kept_apart[: report.options.top]
    )
    yield Table(headers("size", "copy", "parameter", text=("copy", "parameter")), rows, has_text_header=False)
