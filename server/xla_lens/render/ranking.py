"""The ranking of the modules of a folder as blocks and as JSON."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import count
from typing import Any

from xla_lens.features.report.ranking import RankedModule, Ranking
from xla_lens.model.capacity import over_bytes
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.memory_map.page import map_link
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, as_given, counted, human, percent
from xla_lens.render.report.blocks import WIDEST_NAME, Inline, Name, Outline, Role, Section, Text, plain_text, table
from xla_lens.render.report.html import inline_html, section_html
from xla_lens.render.warrants import bounded, bounded_size, short_reason


def ranking_outline(one: Ranking, folder: str, budget_bytes: int | None, show_all: str = "--all") -> Outline:
    """Return the ranking of the modules at some paths as blocks. With a budget, each peak has its share of it.
    `show_all` shows the modules that are folded.
    """
    return Outline(
        (f"{counted(len(one.modules), 'module')} in ", Name(folder, widest=None)),
        (),
        (_table(one, budget_bytes, show_all),),
        tuple(_answer(one, budget_bytes)),
    )


def ranking_html(one: Ranking, folder: str, budget_bytes: int | None) -> Iterator[str]:
    """Yield the ranking as lines of HTML with a link to the map of each module that it shows."""
    outline, numbers = ranking_outline(one, folder, budget_bytes), count()

    def words(inline: Inline) -> str:
        if isinstance(inline, Name) and inline.role is Role.NAME:
            return f'<a href="{map_link(next(numbers))}">{escape(inline.text) or "module"}</a>'
        return inline_html(inline)

    yield '<details class="index" open>'
    yield f"<summary>{escape(plain_text(outline.title))}</summary>"
    yield from (f"<p>{escape(plain_text(sentence))}</p>" for sentence in outline.answer)
    yield from (line for part in outline.parts for section in part for line in section_html(section, words))
    yield "</details>"


def _answer(one: Ranking, budget_bytes: int | None) -> Iterator[Text]:
    modules = one.modules
    words: list[str] = []
    if budget_bytes is not None:
        over = sum(bool(over_bytes(module.space, budget_bytes)) for module in modules)
        words.append(f"{over:,} {'does' if over == 1 else 'do'} not fit into {as_given(budget_bytes)}")
    elif over := sum(bool(module.over_bytes) for module in modules):
        words.append(f"{over:,} {'does not fit its' if over == 1 else 'do not fit their'} device")
    if unreadable := sum(len(module.unreadable) for module in modules):
        words.append(f"{counted(unreadable, 'file')} cannot be read")
    incomplete = sum(
        not (module.unreadable or module.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact) for module in modules
    )
    if incomplete:
        words.append(f"{incomplete:,} {'is' if incomplete == 1 else 'are'} incomplete")
    errors = sum(bool(module.error_count) and not module.unreadable for module in modules)
    if errors:
        words.append(f"{errors:,} {'has' if errors == 1 else 'have'} errors")
    if words:
        yield f"{', '.join(words)}."


def _table(one: Ranking, budget_bytes: int | None, show_all: str) -> tuple[Section, ...]:
    shown = [(one.modules[number], one.places[number]) for number in one.shown]
    spaces = {space_name(module.space.id) for module, _ in shown}
    # A folder may have dumps of several backends.
    title = f"{spaces.pop()} peak" if len(spaces) == 1 else "peak"
    columns: list[tuple[str, bool, list[Text]]] = [
        ("needs", False, [_reserved(module, module.space.needed_bytes) for module, _ in shown]),
        (
            "of device" if budget_bytes is None else "of budget",
            False,
            [_share(module, _limit(module) if budget_bytes is None else budget_bytes) for module, _ in shown],
        ),
        (title, False, [_peak(module) for module, _ in shown]),
        ("no.", False, [f"{module.number:04}" if module.number is not None else "" for module, _ in shown]),
        ("module", True, [Name(module.name, widest=WIDEST_NAME) for module, _ in shown]),
        ("temp", False, [_reserved(module, module.temp_bytes) for module, _ in shown]),
        (
            "values",
            False,
            [bounded(f"{module.value_count:,}", module.warrants.of(Quantity.VALUES).bound) for module, _ in shown],
        ),
        ("XLA prints", False, [_printed(module) for module, _ in shown]),
        ("findings", True, [_findings(module) for module, _ in shown]),
        ("file", True, [Name(place, widest=None, role=Role.PATH) if place else "" for _, place in shown]),
    ]
    kept = [column for column in columns if any(cell != "" for cell in column[2])]
    titles = " | ".join("<" * is_text + name for name, is_text, _ in kept)
    rows = zip(*(cells for _, _, cells in kept), strict=True)
    rest = (_folded(one, show_all),) if one.folded else ()
    unreadable = [
        (Name(re.split(r"[/\\]", file)[-1], widest=None, role=Role.PATH), f" {reason}.")
        for module in one.modules
        for file, reason in module.unreadable
    ]
    return (Section("Modules, worst first", (table(titles, rows), *rest, *unreadable)),)


def _peak(module: RankedModule) -> str:
    if module.peak_bytes is None:
        return "unknown"
    return bounded_size(module.peak_bytes, module.warrants.of(Quantity.LIVE).bound)


def _limit(module: RankedModule) -> int | None:
    return module.capacity.size_bytes if module.capacity else None


def _share(module: RankedModule, budget_bytes: int | None) -> str:
    is_exact = module.warrants.of(Quantity.RESERVED).is_exact
    return percent(module.space.needed_bytes, budget_bytes) if budget_bytes and is_exact else ""


def _reserved(module: RankedModule, size_bytes: int) -> str:
    return bounded_size(size_bytes, module.warrants.of(Quantity.RESERVED).bound)


def _printed(module: RankedModule) -> str:
    if (
        module.printed_bytes is None
        or module.peak_bytes is None
        or not module.warrants.of(Quantity.PRINTED_PEAK).is_known
    ):
        return ""
    return bounded(apart(module.printed_bytes, module.peak_bytes), module.warrants.of(Quantity.PRINTED_PEAK).bound)


def _findings(module: RankedModule) -> str:
    counts = ((module.error_count, "error"), (module.warning_count, "warning"))
    words = [counted(count, noun) for count, noun in counts if count]
    if module.unreadable:
        return f"{counted(len(module.unreadable), 'file')} cannot be read"
    reason = short_reason(module.warrants.of(Quantity.LIVE, Quantity.RESERVED))
    return ", ".join([*([reason] if reason else []), *words])


def _folded(one: Ranking, show_all: str) -> str:
    folded = one.folded
    noun = "small program" if one.are_folded_small else "more module"
    most = max((module.peak_bytes or 0 for module in folded), default=0)
    unknown = sum(module.peak_bytes is None for module in folded)
    more = f", {unknown:,} of unknown peak" if unknown else ""
    return f"... and {counted(len(folded), noun)}, {human(most)} at most{more} ({show_all} shows {_them(folded)})"


def _them(folded: Sequence[RankedModule]) -> str:
    return "it" if len(folded) == 1 else "them"


def ranked_data(one: RankedModule, rank: int) -> dict[str, Any]:
    """Return what JSON adds to the report of each of several modules."""
    return {
        "rank": rank,
        "number": one.number,
        "temp_bytes": None if one.warrants.of(Quantity.RESERVED).bound is Bound.UNKNOWN else one.temp_bytes,
    }
