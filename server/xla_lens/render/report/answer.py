"""The first lines of a report: the answer in a few sentences."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from xla_lens.features.report.facts import Report, SpaceReport
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.needed import not_live_parts
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.numbers import apart, as_given, capitalized, human, percent
from xla_lens.render.report.actions import arguments_exceed, largest_saving
from xla_lens.render.report.blocks import Inline, Name, Role, Text, joined, linked, plain_text
from xla_lens.render.report.values import kind_counted, source_name, step_link
from xla_lens.render.warrants import bounded_size, reasons


def answer(report: Report) -> tuple[Text, ...]:
    """Return the answer: what the program needs, the peak, where most of it comes from, how far off XLA's own number
    is, and what would lower it.
    """
    one = report.hbm
    if one is None and not report.warrants.of(Quantity.LIVE).is_exact:
        return (f"The peak is unknown: {'; '.join(reasons(report.warrants.of(Quantity.LIVE).gaps))}.",)
    return tuple(_sentences(report, one)) if one else ()


def _sentences(report: Report, one: SpaceReport) -> Iterator[Text]:
    space, name = one.space, one.name
    why = "; ".join(reasons(report.warrants.of(Quantity.LIVE).gaps))
    yield from needs(report, one)
    if space.live_bound is not Bound.EXACT:
        yield f"The peak of {name} is {bounded_size(space.peak_live_bytes, space.live_bound)}: {why}."
        return
    if one.peak is None:
        yield f"Nothing is ever live in {name}."
        return
    yield _at_peak(report, one)
    if report.warrants.of(Quantity.SOURCES).is_exact:
        yield from _origin(one)
    yield from _printed(report, one)
    yield from savings(report, one)


def headline(report: Report) -> str:
    """Return in one line what a program needs and the first thing to do about it, empty if neither is known."""
    one = report.hbm
    if one is None:
        return ""
    sentences = [*needs(report, one, report.module or "The program"), *islice(savings(report, one), 1)]
    return " ".join(map(plain_text, sentences))


def needs(report: Report, one: SpaceReport, program: str = "It") -> Iterator[str]:
    """Yield what a program needs of its main memory, and whether that fits the budget or the device."""
    space, name = one.space, one.name
    if not report.dump.assignment:
        return
    limit_bytes, size = report.limit_bytes, bounded_size(space.needed_bytes, space.reserved_bound)
    if limit_bytes is None:
        if space.reserved_bound is not Bound.UNKNOWN:
            yield f"{program} needs {size} of {name}."
        return
    over = over_bytes(space, limit_bytes)
    share = (
        f" ({percent(space.needed_bytes, limit_bytes)})" if space.reserved_bound is Bound.EXACT and limit_bytes else ""
    )
    words = f"{program} needs {size} of {as_given(limit_bytes)} of {name}{share}"
    where = "the device" if report.options.budget_bytes is None else "the budget"
    if over is None:
        yield f"{words}. The dump does not tell whether it fits."
    elif over:
        yield f"{words} and does not fit {where}: {human(over)} too much."
    else:
        yield f"{words} and fits {where}: {human(limit_bytes - space.needed_bytes)} stay free."


def _at_peak(report: Report, one: SpaceReport) -> Text:
    """What is live at the peak, and what takes the rest of the needed bytes there."""
    space = one.space
    if space.reserved_bound is not Bound.EXACT:
        name = capitalized(one.name)
        return (f"{name} peaks at {human(space.peak_live_bytes)}, at ", *_where(report, one), ".")
    rest = dict(not_live_parts(report.dump, report.analysis.memory, space))
    local = -rest.pop("thread-local", 0)
    left = space.needed_bytes - space.peak_live_bytes
    if human(space.needed_bytes) == human(space.peak_live_bytes):
        part = f"All but {human(left)} of it is" if left > 0 else "All of it is"
        return (f"{part} live at once, at ", *_where(report, one), ".")
    sizes = [row for row in sorted(rest.items(), key=lambda row: -row[1]) if row[1] > 0]
    parts = [f"{human(size)} of {NOT_LIVE[kind]}" for kind, size in sizes if size * _SMALLEST_PART >= left]
    mostly = "mostly " if len(parts) < len(sizes) else ""
    words = f"; the rest is {mostly}{', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]}" if parts else ""
    if local > 0:
        words += f"; {human(local)} of what is live is in registers or on stacks, which it does not need"
    return (f"At most {human(space.peak_live_bytes)} are live at once, at ", *_where(report, one), f"{words}.")


_SMALLEST_PART: Final = 20
"""Kinds with less than 1/20 of the bytes that are needed but not live are not named."""

NOT_LIVE: Final = {
    "parameter": "donated arguments that are not live then",
    "constant": "constants that are not live then",
    "temp": "gaps between temporaries",
    "output": "outputs that no argument is donated to",
    "other": "other allocations that are not live then",
}
"""The needed bytes of each kind of allocation that are not live at the peak."""


def _where(report: Report, one: SpaceReport) -> Iterator[Inline]:
    step = one.space.peak_step
    yield step_link(step, f"step {step}")
    if report.instruction_count and report.warrants.of(Quantity.SCHEDULE).is_exact:
        yield f" of {report.instruction_count}"
    instruction = report.dump.instruction_at(step) if step is not None else None
    if instruction:
        yield from (" (", Name(instruction), ")")


_MAX_ARGUMENTS: Final = 3


def _origin(one: SpaceReport) -> Iterator[Text]:
    """Where most of the peak comes from."""
    if one.lines is None or not one.lines.lines:
        return
    total = one.lines.size_bytes
    line = next((line for line in one.lines.lines if line.frame), None)
    found: list[tuple[int, tuple[Inline, ...]]] = []
    if line and line.frame:
        words = f"{percent(line.size_bytes, total)} of the peak comes from "
        found.append((line.size_bytes, (words, *source_name(line.frame))))
    arguments = one.lines.arguments
    if arguments:
        size_bytes = sum(line.size_bytes for line in arguments)
        names = joined([(Name(line.argument or "", role=Role.PATH),) for line in arguments[:_MAX_ARGUMENTS]], ", ")
        more = ", …)" if len(arguments) > _MAX_ARGUMENTS else ")"
        found.append((size_bytes, (f"{percent(size_bytes, total)} of the peak is in parameters (", *names, more)))
    for kind in one.lines.without_source[:1]:
        words = f"{percent(kind.size_bytes, total)} of the peak is in {kind_counted(kind.kind, kind.count)}"
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
        linked("XLA prints its peak", Entity(EntityKind.PRINTED_PEAK, 0)),
        " at ",
        step_link(step, f"step {step}"),
        f", where {apart(live_bytes, peak_bytes)} are live: {short} short.",
    )


def savings(report: Report, one: SpaceReport, most: int = 1) -> Iterator[Text]:
    """Yield whether the arguments alone exceed the budget, and what could go: the actions that save the most."""
    advice = report.advice
    if advice and advice.color == one.space.color:
        if advice.budget and advice.budget.do_arguments_exceed:
            yield arguments_exceed(advice.budget)
        yield from (largest_saving(report.dump, action) for action in advice.actions[:most])
