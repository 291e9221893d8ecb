"""The first lines of a report: the answer in a few sentences."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from xla_lens.advice.sections import arguments_exceed, largest_saving
from xla_lens.blocks.blocks import Inline, Inlines, Name, Role, Text, joined, linked, plain_text
from xla_lens.blocks.entities import PRINTED_PEAK, kind_counted, running, source_name, step_link
from xla_lens.model.capacity import over_bytes
from xla_lens.model.memory.unseen import much_unseen
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.facts import Report, SpaceReport
from xla_lens.report.notes import padding_note, unseen_note
from xla_lens.words.numbers import apart, as_given, capitalized, enumerated, human, is_visible, percent, shortened
from xla_lens.words.warrants import bounded_size, peak_size, reasons


def answer(report: Report, *, is_brief: bool = False) -> tuple[Text, ...]:
    """Return the answer: what the program needs, the peak, where most of it comes from, what would lower it, and how
    far off XLA's own number is. If it `is_brief`, tables below it say all of that but the first two.
    """
    if report.hbm:
        return tuple(_sentences(report, report.hbm, is_brief=is_brief))
    return () if report.live.is_exact else (f"The peak is unknown: {reasons(report.live.gaps)}.",)


def _sentences(report: Report, space_report: SpaceReport, *, is_brief: bool) -> Iterator[Text]:
    space = space_report.space
    yield from needs(report, space_report)
    if space.live_bound is not Bound.EXACT:
        yield from unseen_note(report.unseen, space)
        yield f"The peak of {space_report.name} is {peak_size(space)}: {reasons(report.live.gaps)}."
        return
    if space_report.peak is None:
        yield f"Nothing is ever live in {space_report.name}."
        return
    yield _at_peak(report, space_report)
    yield from unseen_note(report.unseen, space)
    yield from padding_note(report.origins, space, space_report.padding)
    if is_brief:
        return
    if report.warrants.of(Quantity.SOURCES).is_exact:
        yield from _origin(space_report)
    yield from savings(report, space_report)
    yield from printed_short(report, space_report)


def headline(report: Report) -> str:
    """Return in one line what a program needs and the first thing to do about it, empty if neither is known."""
    space_report = report.hbm
    if space_report is None:
        return ""
    sentences = [
        *needs(report, space_report, shortened(report.module or "The program", MOST_OF_A_NAME)),
        *unseen_note(report.unseen, space_report.space),
        *padding_note(report.origins, space_report.space, space_report.padding),
        *islice(savings(report, space_report), 1),
    ]
    return " ".join(map(plain_text, sentences))


MOST_OF_A_NAME: Final = 48
"""The longest name of a module in a line. Those of TensorFlow have a hundred letters and more."""


def needs(report: Report, space_report: SpaceReport, program: str = "It") -> Iterator[str]:
    """Yield what a program needs of its main memory, and whether that fits the budget or the device."""
    space, limit_bytes, bound = space_report.space, report.limit_bytes, space_report.space.reserved_bound
    words = f"{program} needs {bounded_size(space.needed_bytes, bound)} of "
    if bound is Bound.UNKNOWN:
        if limit_bytes is not None:
            why = reasons(report.warrants.of(Quantity.RESERVED).gaps)
            yield f"{program} needs an unknown part of {as_given(limit_bytes)} of {space_report.name}: {why}."
        return
    # A later sentence names what else the program takes.
    name = f"{space_report.name} in the dump" if much_unseen(report.unseen, space.needed_bytes) else space_report.name
    if limit_bytes is None:
        yield f"{words}{name}."
        return
    is_part = bound is Bound.EXACT and is_visible(space.needed_bytes, limit_bytes)
    part = f" ({percent(space.needed_bytes, limit_bytes)})" if is_part else ""
    words += f"{as_given(limit_bytes)} of {name}{part}"
    capacity = report.capacity.size_bytes if report.capacity else None
    where = "the device" if report.options.budget_bytes in (None, capacity) else "the budget"
    over = over_bytes(space, limit_bytes)
    if over is None:
        yield f"{words}. The dump does not tell whether it fits."
    elif over:
        yield f"{words} and does not fit {where}: {human(over)} too much."
    else:
        least = "at least " if bound is Bound.AT_MOST else ""
        yield f"{words} and fits {where}: {least}{human(limit_bytes - space.needed_bytes)} stay free."


def _at_peak(report: Report, space_report: SpaceReport) -> Text:
    """What is live at the peak, and what takes the rest of the needed bytes there."""
    space, where = space_report.space, tuple(_where(report, space_report))
    peak = human(space.peak_live_bytes)
    if space.reserved_bound is not Bound.EXACT:
        return (f"{capitalized(space_report.name)} peaks at {peak}, at ", *where, ".")
    left = space.needed_bytes - space.peak_live_bytes
    if human(space.needed_bytes) == peak or (left > 0 and not is_visible(left, space.needed_bytes)):
        part = f"All but {human(left)} of it is" if left > 0 else "All of it is"
        return (f"{part} live at once, at ", *where, ".")
    rest = dict(space_report.not_live or {})
    local = -rest.pop("thread-local", 0)
    sizes = sorted(((size, kind) for kind, size in rest.items() if size > 0), key=lambda row: -row[0])
    parts = [f"{human(size)} of {NOT_LIVE[kind]}" for size, kind in sizes if size * _SMALLEST_PART >= left]
    mostly = "mostly " if len(parts) < len(sizes) else ""
    words = f"; the rest is {mostly}{enumerated(parts)}" if parts else ""
    if local > 0:
        words += f"; {human(local)} of what is live is in registers or on stacks, which it does not need"
    return (f"At most {peak} are live at once, at ", *where, f"{words}.")


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


def _where(report: Report, space_report: SpaceReport) -> Iterator[Inline]:
    yield step_link(space_report.peak_step, f"step {space_report.peak_step}")
    if report.instruction_count and report.warrants.of(Quantity.SCHEDULE).is_exact:
        yield f" of {report.instruction_count}"
    yield from running(report.dump, space_report.peak_step)


_MAX_ARGUMENTS: Final = 3


def _origin(space_report: SpaceReport) -> Iterator[Text]:
    """Where most of the peak comes from."""
    lines = space_report.lines
    if lines is None or not lines.lines:
        return
    found: list[tuple[int, Inlines]] = []
    if line := next((line for line in lines.lines if line.frame), None):
        found.append((line.size_bytes, ("comes from ", *source_name(line.frame)) if line.frame else ()))
    elif lines.layers and (layer := lines.layers[0]).name:
        found.append((layer.size_bytes, ("is of layer ", Name(layer.name, role=Role.PATH))))
    elif lines.op_name and lines.op_name.name:
        found.append((lines.op_name.size_bytes, ("comes from op_name ", Name(lines.op_name.name, role=Role.PATH))))
    if lines.arguments:
        names = joined([Name(line.argument or "", role=Role.PATH) for line in lines.arguments[:_MAX_ARGUMENTS]], ", ")
        more = ", …)" if len(lines.arguments) > _MAX_ARGUMENTS else ")"
        found.append((sum(line.size_bytes for line in lines.arguments), ("is in parameters (", *names, more)))
    # A layer says more about temporaries than that.
    kinds = [kind for kind in lines.without_source[:1] if not (found and lines.layers and kind.kind == "temp")]
    found += [(kind.size_bytes, (f"is in {kind_counted(kind.kind, kind.count)}",)) for kind in kinds]
    found.sort(key=lambda part: -part[0])
    # The second part matters if it is of the size of the first.
    big = (
        (f"{percent(size_bytes, lines.size_bytes)} of the peak ", *words)
        for size_bytes, words in found
        if 4 * size_bytes >= found[0][0]
    )
    yield (*joined(big, ", "), ".")


def printed_short(report: Report, space_report: SpaceReport) -> Iterator[Text]:
    """Yield how far off the step is that XLA prints, unless that is next to nothing."""
    live_bytes, peak_bytes = space_report.live_at_printed_peak, space_report.space.peak_live_bytes
    if report.printed and live_bytes is not None and is_visible(peak_bytes - live_bytes, peak_bytes):
        step = step_link(report.printed[0], f"step {report.printed[0]}")
        short = f"{apart(live_bytes, peak_bytes)} are live: {percent(peak_bytes - live_bytes, peak_bytes)} short."
        yield linked("XLA prints its peak", PRINTED_PEAK), " at ", step, f", where {short}"


def savings(report: Report, space_report: SpaceReport, most: int = 1) -> Iterator[Text]:
    """Yield whether the arguments alone exceed the budget, and what could go: the actions that save the most."""
    advice = report.advice
    if advice and advice.color == space_report.space.color:
        if advice.budget and advice.budget.do_arguments_exceed:
            yield arguments_exceed(advice.budget)
        # A compiler may have measured that an action saves nothing.
        saving = [action for action in advice.actions if action.saved_needed_bytes > 0]
        yield from map(largest_saving, saving[:most])
