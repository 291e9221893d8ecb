"""The first lines of a report: the answer in a few sentences."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import Report, SpaceReport
from xla_lens.model.advice.donation import Fit
from xla_lens.model.capacity import over_bytes
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.numbers import apart, as_given, capitalized, counted, human, percent
from xla_lens.render.report.blocks import LONGEST_NAME, Inline, Linked, Name, Role, Text, joined
from xla_lens.render.report.values import kind_counted, space_of, step_link
from xla_lens.render.sources import frame_text
from xla_lens.render.warrants import bounded_size, reasons


def answer(report: Report) -> tuple[Text, ...]:
    """Return the answer: the peak, where most of it comes from, how far off XLA's own number is, and what could go."""
    one = report.hbm
    if one is None and not report.warrants.of(Quantity.LIVE).is_exact:
        return (f"The peak is unknown: {'; '.join(reasons(report.warrants.of(Quantity.LIVE).gaps))}.",)
    return tuple(_sentences(report, one)) if one else ()


def _sentences(report: Report, one: SpaceReport) -> Iterator[Text]:
    space, name = one.space, capitalized(space_of(report, one))
    why = "; ".join(reasons(report.warrants.of(Quantity.LIVE).gaps))
    if one.peak is None and space.live_bound is not Bound.EXACT:
        yield f"The peak of {space_of(report, one)} is unknown: {why}."
        return
    if one.peak is None:
        yield f"Nothing is ever live in {space_of(report, one)}."
        return
    if space.live_bound is Bound.EXACT:
        yield (
            f"{name} peaks at {human(space.peak_live_bytes)}",
            *_of_budget(report, one),
            " at ",
            *_where(report, one),
        )
    else:
        size = bounded_size(space.peak_live_bytes, space.live_bound)
        yield f"The peak of {space_of(report, one)} is {size}: {why}."
        yield ("In what is left, most bytes are live at ", *_where(report, one))
        yield from _fit(report, one)
        return
    yield from _fit(report, one)
    if report.warrants.of(Quantity.SOURCES).is_exact:
        yield from _origin(one)
    yield from _printed(report, one)
    yield from savings(report, one)


def _of_budget(report: Report, one: SpaceReport) -> tuple[Inline, ...]:
    budget_bytes = report.options.budget_bytes
    if budget_bytes is None and report.capacity:
        budget_bytes = report.capacity.size_bytes
    if budget_bytes is None:
        return ()
    return (f" of {as_given(budget_bytes)} ({percent(one.space.peak_live_bytes, budget_bytes)})",)


def _fit(report: Report, one: SpaceReport) -> Iterator[Text]:
    """Whether the program fits the device."""
    if report.capacity is None:
        return
    over = over_bytes(one.space, report.capacity)
    if over:
        held = bounded_size(one.space.held_bytes, one.space.reserved_bound)
        yield f"It does not fit the device: it needs {held}, {human(over)} more than there is."
    elif over == 0:
        yield f"It fits the device: {human(report.capacity.size_bytes - one.space.held_bytes)} stay free."


def _where(report: Report, one: SpaceReport) -> Iterator[Inline]:
    step = one.space.peak_step
    yield step_link(step, f"step {step}")
    if report.instruction_count and report.warrants.of(Quantity.SCHEDULE).is_exact:
        yield f" of {report.instruction_count}"
    instruction = report.dump.instruction_at(step) if step is not None else None
    if instruction:
        yield from (" (", Name(instruction), ")")
    yield "."


_MAX_ARGUMENTS: Final = 3


def _origin(one: SpaceReport) -> Iterator[Text]:
    """Where most of the peak comes from."""
    if one.lines is None or not one.lines.lines:
        return
    total = one.lines.size_bytes
    line = next((line for line in one.lines.lines if line.frame), None)
    found: list[tuple[int, tuple[Inline, ...]]] = []
    if line and line.frame:
        in_function = (" in ", Name(line.frame.function)) if line.frame.function else ()
        place = Name(frame_text(line.frame), widest=LONGEST_NAME, role=Role.SOURCE, frame=line.frame)
        share = percent(line.size_bytes, total)
        found.append((line.size_bytes, (f"{share} of it comes from ", place, *in_function)))
    arguments = one.lines.arguments
    if arguments:
        size_bytes = sum(line.size_bytes for line in arguments)
        names = joined([(Name(line.argument or "", role=Role.PATH),) for line in arguments[:_MAX_ARGUMENTS]], ", ")
        more = ", …)" if len(arguments) > _MAX_ARGUMENTS else ")"
        found.append((size_bytes, (f"{percent(size_bytes, total)} of it is in parameters (", *names, more)))
    for kind in one.lines.without_source[:1]:
        words = f"{percent(kind.size_bytes, total)} of it is in {kind_counted(kind.kind, kind.count)}"
        found.append((kind.size_bytes, (words,)))
    found.sort(key=lambda part: -part[0])
    # The second part matters if it is of the size of the first.
    big = [words for size_bytes, words in found if 4 * size_bytes >= found[0][0]]
    yield (*joined(big, ", "), ".")


def _printed(report: Report, one: SpaceReport) -> Iterator[Text]:
    """How far off the step is that XLA prints."""
    live_bytes, peak_bytes = one.live_at_printed_peak, one.space.peak_live_bytes
    if report.printed is None or live_bytes is None or live_bytes == peak_bytes:
        return
    step, _ = report.printed
    short = percent(peak_bytes - live_bytes, peak_bytes)
    yield (
        Linked("XLA prints its peak", Entity(EntityKind.PRINTED_PEAK, 0)),
        " at ",
        step_link(step, f"step {step}"),
        f", where {apart(live_bytes, peak_bytes)} are live: {short} short.",
    )


def savings(report: Report, one: SpaceReport) -> Iterator[Text]:
    """Yield whether the arguments alone exceed the budget, and what could go."""
    advice = report.advice
    if advice and advice.color == one.space.color:
        # Reports without the advice start sooner without these modules.
        from xla_lens.model.advice.codes import Rule
        from xla_lens.render.report.actions import largest_saving

        if advice.budget and advice.budget.do_arguments_exceed:
            limit, over = advice.budget.budget_bytes, advice.argument_bytes - advice.budget.budget_bytes
            yield f"The arguments alone take {human(advice.argument_bytes)}, {human(over)} more than {as_given(limit)}."
        if advice.actions:
            yield largest_saving(advice.actions[0])
            if advice.actions[0].rule is Rule.DONATE:
                return
    donation = report.donation
    free_bytes = donation.missed_bytes(Fit.FREE) if donation else 0
    if donation and free_bytes:
        count = sum(row.fit is Fit.FREE for row in donation.missed)
        parameters = counted(count, "more parameter" if donation.donated else "parameter")
        yield f"Donating {parameters} could free {human(free_bytes)}."
