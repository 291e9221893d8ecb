"""Pages: reports as text that an editor shows beside the dump, with links back into it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from xla_lens.features.report.pages import (
    BiographyFacts,
    LiveSetFacts,
    PageFacts,
    ReportFacts,
    SpaceAtStep,
    SummaryFacts,
    UnknownAllocation,
)
from xla_lens.model.places.places import Place
from xla_lens.model.places.subjects import Subject, SubjectKind
from xla_lens.render.hover import kind_text
from xla_lens.render.numbers import exact, human, percent, space_name
from xla_lens.render.report import report_markdown, report_outline
from xla_lens.render.report.blocks import Linked, Name, Outline, Part, Section, Table, Words
from xla_lens.render.report.parts import biography_section, live_set_part
from xla_lens.render.report.plain import Room, plain_lines
from xla_lens.render.report.words import allocation_link, step_link

_ROOM: Final = Room(width=320, stretch=3)
"""An editor scrolls to the side."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """Bytes `start` to `end` of a page, as UTF-8, speak of a subject, of which the dump tells at a place."""

    start: int
    end: int
    subject: Subject
    target: Place


@dataclass(frozen=True, slots=True)
class PageText:
    """A page: plain text, and links into the dump in the order of the text."""

    text: str
    links: tuple[PageLink, ...]


def page_text(facts: PageFacts, place_of: Callable[[Subject], Place | None]) -> PageText:
    """A page; `place_of` knows where the dump tells of a subject, see `model.subjects.subject_place`."""
    if isinstance(facts, ReportFacts):
        return PageText("\n".join(report_markdown(facts.report)) + "\n", ())
    place_of = cache(place_of)
    data = bytearray()
    links: list[PageLink] = []
    for line in plain_lines(_outline(facts), _ROOM):
        for start, end, subject in line.spans:
            target = place_of(subject)
            if target:
                before = len(data) + len(_encoded(line.text[:start]))
                links.append(PageLink(before, before + len(_encoded(line.text[start:end])), subject, target))
        data += _encoded(line.text) + b"\n"
    return PageText(data.decode(), tuple(links))


def _encoded(text: str) -> bytes:
    # The path of a file may hold what is no Unicode.
    return text.encode("utf-8", "replace")


def _outline(facts: SummaryFacts | LiveSetFacts | BiographyFacts | UnknownAllocation) -> Outline:
    match facts:
        case SummaryFacts(report, limit):
            outline = report_outline(report)
            return replace(outline, facts=(*outline.facts, ("lists", f"the first {limit:,} rows of each")))
        case LiveSetFacts():
            return _live_set(facts)
        case BiographyFacts():
            return _biography(facts)
        case UnknownAllocation(allocation):
            return Outline(f"There is no allocation {allocation}.", (), ())


# ---------------------------------------------------------------- a step


def _live_set(facts: LiveSetFacts) -> Outline:
    if not facts.spaces:
        end = "nothing is known of steps" if facts.last_step is None else f"the steps are 0 to {facts.last_step}"
        return Outline(f"There is no step {facts.step}: {end}.", (), ())
    title = ("Live at ", step_link(facts.step, f"step {facts.step}"))
    live = tuple(
        live_set_part(space.live, f"Live in {space_name(space.color)}") for space in facts.spaces if space.live.count
    )
    return Outline(title, tuple(_step(facts)), (_sums(facts), *live))


def _module(module: str | None) -> Iterator[tuple[str, Words]]:
    if module is not None:
        yield "module", Name(module, widest=None)


def _step(facts: LiveSetFacts) -> Iterator[tuple[str, Words]]:
    yield from _module(facts.module)
    if facts.instruction:
        yield "runs", Name(facts.instruction, Subject(SubjectKind.STEP, facts.step))
    else:
        yield "runs", "nothing: it is the end of the program"
    if facts.printed_peak_step is not None:
        where = "here" if facts.printed_peak_step == facts.step else f"at step {facts.printed_peak_step}"
        yield "peak", Linked(f"XLA prints the peak {where}", Subject(SubjectKind.PRINTED_PEAK, 0))


def _sums(facts: LiveSetFacts) -> Part:
    header = ("", "live", "of the peak", "values", "true peak", "at step", "reserved")
    rows = tuple(map(_sum, facts.spaces))
    return (Section("Memory space", (Table(header, rows, left=(0,)),)),)


def _sum(space: SpaceAtStep) -> tuple[Words, ...]:
    return (
        f"{space.color} {space_name(space.color)}",
        human(space.live.live_bytes),
        percent(space.live.live_bytes, space.peak_bytes),
        f"{space.live.count:,}",
        human(space.peak_bytes),
        step_link(space.peak_step),
        human(space.reserved_bytes),
    )


# ---------------------------------------------------------------- an allocation


def _biography(facts: BiographyFacts) -> Outline:
    title = ("Biography of ", allocation_link(facts.allocation))
    slots = replace(biography_section(facts.allocation, facts.slots), level=0)
    return Outline(title, tuple(_allocation(facts)), ((slots,),))


def _allocation(facts: BiographyFacts) -> Iterator[tuple[str, Words]]:
    yield from _module(facts.module)
    kind = kind_text(facts.kind)
    if kind:
        yield "kind", kind
    yield "size", f"{exact(facts.size_bytes)} in memory space {facts.color} ({space_name(facts.color)})"
    if facts.peak_step is not None:
        share = percent(facts.peak_bytes, facts.size_bytes)
        most = f"at most {human(facts.peak_bytes)} at once ({share}), first at "
        yield "live", (most, step_link(facts.peak_step, f"step {facts.peak_step}"))
    if facts.idle_bytes is not None:
        yield "idle", f"{human(facts.idle_bytes)} are never used at the same time as the rest"
    yield "unused", f"{human(facts.never_used_bytes)} belong to no value"
    cut = f"the {len(facts.slots):,} biggest of " if len(facts.slots) < facts.count else ""
    yield "values", f"{cut}{facts.count:,}, by offset and then by time"
