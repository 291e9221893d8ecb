"""The ranking of the modules of a folder as blocks."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from xla_lens.blocks.blocks import Cells, Inlines, Name, Outline, Role, Sections, Text, section, table
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.ranking import CompiledAgain, RankedModule, Ranking, compiled_again
from xla_lens.words.command_links import map_link
from xla_lens.words.messages import worded
from xla_lens.words.numbers import apart, as_given, counted, enumerated, human
from xla_lens.words.warrants import UNKNOWN, bounded, bounded_size, share, short_reason


def ranking_outline(ranking: Ranking, folder: str, budget_bytes: int | None, show_all: str = "--all") -> Outline:
    """Return the ranking of the modules at some paths as blocks. With a budget, each peak has its share of it.
    `show_all` shows the modules that are folded.
    """
    return Outline(
        (f"{counted(len(ranking.modules), 'module')} in ", Name(folder)),
        (),
        (_table(ranking, budget_bytes, show_all),),
        tuple(_answer(ranking, budget_bytes)),
    )


def _answer(ranking: Ranking, budget_bytes: int | None) -> Iterator[Text]:
    readable = [module for module in ranking.modules if not module.unreadable]
    facts = {
        "over": sum(bool(module.over_bytes) for module in ranking.modules),
        "unreadable": sum(len(module.unreadable) for module in ranking.modules),
        "incomplete": sum(not module.warrant.is_exact for module in readable),
        "wrong": sum(bool(module.error_count) for module in readable),
        "size": "" if budget_bytes is None else as_given(budget_bytes),
    }
    over = _OVER_DEVICE if budget_bytes is None else _OVER_BUDGET
    if words := ", ".join(filter(None, (worded(words, facts) for words in (over, *_WRONG)))):
        yield f"{words}."


_OVER_BUDGET: Final = "{over:# does|# do} not fit into {size}"
_OVER_DEVICE: Final = "{over:|# does not fit its device|# do not fit their device}"
_WRONG: Final = (
    "{unreadable:|# file cannot be read|# files cannot be read}",
    "{incomplete:|# is incomplete|# are incomplete}",
    "{wrong:|# has errors|# have errors}",
)


def _table(ranking: Ranking, budget_bytes: int | None, show_all: str) -> Sections:
    spaces = {module.space.id.name for module in ranking.shown}
    titles = (
        "needs",
        "of device" if budget_bytes is None else "of budget",
        # A folder may have dumps of several backends.
        f"{spaces.pop()} peak" if len(spaces) == 1 else "peak",
        *("no.", "<module", "temp", "values", "XLA prints", "<findings", "<file"),
    )
    rows = (_row(ranking, module, budget_bytes, rank) for rank, module in enumerate(ranking.shown))
    rest = (_folded(ranking, show_all),) if ranking.folded else ()
    unreadable = [
        (Name(re.split(r"[/\\]", file)[-1], role=Role.PATH), f" {reason}.")
        for module in ranking.modules
        for file, reason in module.unreadable
    ]
    # Most operations outside of `jax.jit` are modules of the same few names, for results of other shapes.
    most = max((module.peak_bytes or 0 for module in ranking.shown), default=0)
    known = (
        each
        for each in compiled_again(ranking.shown)
        if ranking.shown[0] in each.modules
        or (each.shapes and max(module.peak_bytes or 0 for module in each.modules) * _SMALLEST_PART >= most)
    )
    again = map(compiled_again_text, islice(known, _MOST_AGAIN))
    return section("Modules, worst first", table(" | ".join(titles), rows), *rest, *again, *unreadable)


_MOST_AGAIN: Final = 3

_SMALLEST_PART: Final = 4
"""Modules with less than 1/4 of the worst peak are not worth a sentence."""


def compiled_again_text(again: CompiledAgain) -> Text:
    """Return why XLA compiled a function more than once, as far as the dumps tell."""
    modules, numbers = again.modules, [f"{module.number:04}" for module in again.modules if module.number is not None]
    which = f" ({enumerated(numbers)})" if len(numbers) == len(modules) <= _MOST_NUMBERS else ""
    times = "twice" if len(modules) == 2 else f"{len(modules):,} times"
    counts = [len(module.arguments) for module in modules[:2] if module.arguments is not None]
    if again.argument and again.shapes:
        one, other = (Name(shape, role=Role.SHAPE) for shape in again.shapes)
        why: Inlines = ("for other shapes: ", Name(again.argument), " is ", one, ", then ", other)
    elif len(set(counts)) == 2:
        why = (f"with {counts[0]:,} arguments, then with {counts[1]:,}",)
    elif len(counts) == 2:
        why = ("for arguments of the same shapes: something else differs, such as a static argument or a sharding",)
    else:
        return (Name(modules[0].name), f" was compiled {times}{which}.")
    return (Name(modules[0].name), f" was compiled {times}{which}, ", *why, ".")


_MOST_NUMBERS: Final = 4


def _row(ranking: Ranking, module: RankedModule, budget_bytes: int | None, rank: int) -> Cells:
    bound = {quantity: module.warrants.of(quantity).bound for quantity in Quantity}
    reserved, printed = bound[Quantity.RESERVED], bound[Quantity.PRINTED_PEAK]
    limit = module.capacity.size_bytes if module.capacity and budget_bytes is None else budget_bytes
    peak = module.peak_bytes
    is_printed = module.printed_bytes is not None and peak is not None and printed is not Bound.UNKNOWN
    return (
        bounded_size(module.space.needed_bytes, reserved),
        share(module.space.needed_bytes, limit, reserved) if limit else "",
        bounded_size(peak, bound[Quantity.LIVE]) if peak is not None else UNKNOWN,
        f"{module.number:04}" if module.number is not None else "",
        Name(module.name, map_link(rank)),
        bounded_size(module.temp_bytes, reserved) if module.temp_bytes is not None else UNKNOWN,
        bounded(f"{module.value_count:,}", bound[Quantity.VALUES]),
        bounded(apart(module.printed_bytes or 0, peak or 0), printed) if is_printed else "",
        _findings(module),
        Name("/".join(place), role=Role.PATH) if (place := module.folder[ranking.common_depth :]) else "",
    )


def _findings(module: RankedModule) -> str:
    if module.unreadable:
        return f"{counted(len(module.unreadable), 'file')} cannot be read"
    counts = ((module.error_count, "error"), (module.warning_count, "warning"))
    words = (short_reason(module.warrant), *(counted(number, noun) for number, noun in counts if number))
    return ", ".join(filter(None, words))


def _folded(ranking: Ranking, show_all: str) -> str:
    peaks = [module.peak_bytes for module in ranking.folded]
    count = counted(len(peaks), "small program" if ranking.are_folded_small else "more module")
    unknown = f", {peaks.count(None):,} of unknown peak" if None in peaks else ""
    most, them = human(max(peak or 0 for peak in peaks)), "it" if len(peaks) == 1 else "them"
    return f"... and {count}, {most} at most{unknown} ({show_all} shows {them})"
