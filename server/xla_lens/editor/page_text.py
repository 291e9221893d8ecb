"""The content of pages about a dump set."""

from collections.abc import Iterator
from functools import cache, partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from xla_lens.blocks.blocks import Name, Outline, Text, linked, section, table
from xla_lens.blocks.entities import PRINTED_PEAK, allocation_link, live_range_text, step_link, value_link
from xla_lens.editor.answer_page import CodeOf, answer_outline
from xla_lens.editor.page_kinds import (
    AdvicePage,
    AnswerPage,
    ExcerptPage,
    HistoryPage,
    LiveSetPage,
    Page,
    ReportPage,
    SummaryPage,
)
from xla_lens.editor.pages import Link, PageText, encoded, outline_page, rendered_page
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloInstruction, hlo_mention_at, meaning_of
from xla_lens.model.memory.allocation_history import allocation_history
from xla_lens.model.places.entities import Entity, EntityKind, entity_place
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Step, Target, Value, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Quantity, Warrants
from xla_lens.report.facts import Report, report
from xla_lens.report.options import DEFAULT_TOP, Part, ReportOptions
from xla_lens.report.outline import missing_step, report_outline
from xla_lens.report.sections import live_at_step_sections
from xla_lens.syntax.columns import NONE, cells
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import MentionRole
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import exact, human
from xla_lens.words.terms import place_name
from xla_lens.words.warrants import gap_lines, suffix

PAGE_LIMIT: Final = 1000
"""Maximum number of rows in a list of a page."""


def page_text(
    analysis: Analysis,
    page: Page,
    limit: int = PAGE_LIMIT,
    *,
    has_map: bool = False,
    code_of: CodeOf = lambda _: "",
) -> PageText:
    """Return a page. Lists have at most `limit` rows; those of the summary and the report, which have many lists, have
    at most `DEFAULT_TOP`. With `has_map`, the editor shows values in a memory map. `code_of` returns the code of a line
    of the program, empty if it is unknown.
    """
    place_of, files = partial(entity_place, analysis.dump), {file.kind: file for file in analysis.dump.files}
    if analysis.module:
        files[FileKind.HLO] = analysis.module.file

    def made(options: ReportOptions) -> Report:
        return report(analysis, {kind: file.label for kind, file in files.items()}, options)

    match page:
        case AnswerPage():
            labels = {kind: file.label for kind, file in files.items()}
            return rendered_page(answer_outline(analysis, labels, code_of, has_map=has_map), place_of)
        case ReportPage():
            return rendered_page(report_outline(made(ReportOptions(top=DEFAULT_TOP, has_map=has_map))), place_of)
        case SummaryPage():
            outline = report_outline(made(ReportOptions(top=DEFAULT_TOP)))
            lists = ("lists", f"the first {DEFAULT_TOP} rows of each")
            outline = replace(outline, facts=(*outline.facts, lists))
        case AdvicePage():
            options = ReportOptions(top=DEFAULT_TOP, parts=frozenset({Part.ADVICE}), has_map=has_map)
            outline = report_outline(made(options))
            incomplete = tuple(fact for fact in outline.facts if fact[0] == "incomplete")
            return rendered_page(replace(outline, facts=incomplete, answer=outline.answer[:1]), place_of)
        case LiveSetPage(step):
            outline = _live_set(made(ReportOptions(limit, step, frozenset(), has_answer=False)), step)
        case HistoryPage(index):
            outline = _history(analysis, index, limit)
        case ExcerptPage(kind):
            file = files.get(kind)
            return _excerpt(analysis, file, page) if file else PageText("The dump has no such file.\n", ())
    return outline_page(outline, place_of)


# ---------------------------------------------------------------- a step


def _live_set(report: Report, step: int) -> Outline:
    found = [(space, space.at_step) for space in report.spaces if space.at_step is not None]
    if not found and not report.live.is_known:
        return Outline(f"The live bytes at step {step} are unknown{suffix(report.live)}")
    if not found:
        return Outline(missing_step(report, step))
    instruction = report.dump.instruction_at(step)
    runs = Name(instruction, Entity(EntityKind.STEP, step)) if instruction else "nothing; the program ends here"
    facts: list[tuple[str, Text]] = [("runs", runs)]
    if report.printed:
        where = "here" if report.printed[0] == step else f"at step {report.printed[0]}"
        facts.append(("peak", linked(f"XLA prints the peak {where}", PRINTED_PEAK)))
    facts += _incomplete(report.warrants)
    live = tuple(live_at_step_sections(report, space) for space, live in found if len(live.values))
    return Outline(("Live at ", step_link(step, f"step {step}")), tuple(facts), live)


def _incomplete(warrants: Warrants) -> Iterator[tuple[str, str]]:
    return (("incomplete", line) for line in gap_lines(warrants.of(Quantity.LIVE, Quantity.RESERVED).gaps))


# ---------------------------------------------------------------- an excerpt


def _excerpt(analysis: Analysis, file: DumpFile, page: ExcerptPage) -> PageText:
    """Lines of a file as they are, with links from what they mention to the other places of it."""
    dump, document, last = analysis.dump, file.document, min(page.end_row, file.document.line_count)
    name = file.label.rpartition("/")[2]
    head = encoded(f"Lines {page.first_row + 1:,}–{last:,} of {name}, which is too large for the editor\n\n")
    if page.first_row >= last:
        return PageText(head.decode(), ())
    start, end = document.line_span(page.first_row)[0], document.line_span(last - 1)[1]
    shift, found, place_of = len(head) - start, list[Link](), cache(partial(entity_place, dump))
    for word in _WORD.finditer(document.data, start, end):
        if found and word.start() + shift < found[-1].end:
            continue
        mention = _mention(analysis, file, word.start())
        entity = _entity(dump, mention.target) if mention and start <= mention.start <= mention.end <= end else None
        if mention and entity and (place := place_of(entity)):
            found.append(Link(mention.start + shift, mention.end + shift, entity, place))
    return PageText((head + document.data[start:end]).decode("utf-8", "replace") + "\n", tuple(found))


_WORD: Final = lazy_pattern(rb"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def _mention(analysis: Analysis, file: DumpFile, offset: int) -> Mention | None:
    """What a file mentions at an offset, in the terms of the dump."""
    module = analysis.module_in(file)
    if module is None:
        return mention_at(analysis.dump, file, offset)
    named = hlo_mention_at(module, offset)
    if named is None or not isinstance(named.target, HloInstruction):
        return None
    meaning = meaning_of(analysis.dump, module.name(named.target.row), named.target.index)
    return Mention(meaning, MentionRole.USED_VALUE, named.start, named.end) if meaning else None


def _entity(dump: DumpSet, target: Target) -> Entity | None:
    match target:
        case Value(row):
            return Entity(EntityKind.VALUE, dump.values.id.item(row))
        case Allocation(row):
            return Entity(EntityKind.ALLOCATION, dump.allocations.index.item(row))
        case Step(step):
            return Entity(EntityKind.STEP, step)
        case Instruction(name) if (row := dump.schedule_row_of_name.item(name)) != NONE:
            return Entity(EntityKind.STEP, dump.schedule.step.item(row))
    return None


# ---------------------------------------------------------------- an allocation


def _history(analysis: Analysis, index: int, limit: int) -> Outline:
    """Which values occupy which bytes of an allocation over time."""
    dump, row = analysis.dump, analysis.dump.allocation_row(index)
    if row == NONE:
        return Outline(f"The dump has no allocation {index}.")
    history = allocation_history(dump, analysis.memory, row)
    biggest = np.sort(np.argsort(history.offset - history.end_offset, kind="stable")[:limit])
    rows = (
        (
            f"{offset:,}",
            f"{end:,}",
            human(end - offset),
            live_range_text(dump, value) if dump.values.start_step[value] != NONE else "",
            value_link(dump, value),
        )
        for value, offset, end in cells(history.value[biggest], history.offset[biggest], history.end_offset[biggest])
    )
    shown = table("start offset | end offset | size | <live | <value", rows)
    size = f"{exact(history.size_bytes)} in {place_name(dump.space_id(dump.allocations.color.item(row)))}"
    count = f"{len(history.value):,}"
    if len(biggest) < len(history.value):
        count = f"the {len(biggest):,} biggest of {count}"
    facts = (("size", size), *_incomplete(analysis.warrants), ("values", count))
    parts = (section("Values by offset, then by time", shown),)
    return Outline(("History of ", allocation_link(index)), facts, parts)
