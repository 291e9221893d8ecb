"""Commands: those of the command line, and those behind lenses and actions. Others, for views that editors draw, are in
`views`, `workspace` and `source_memory`.

Each command takes one object. A command that shows something makes the editor show it if it can, and also returns it.
"""

import asyncio
import re
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.advice.codes import Rule
from xla_lens.disk.package_files import explanation_path, page_sources
from xla_lens.disk.sets import set_files
from xla_lens.editor.page_kinds import AdvicePage, AnswerPage, HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.editor.references import references
from xla_lens.lsp.converter import from_json, to_json
from xla_lens.lsp.documents import texts_of, uri_of
from xla_lens.lsp.errors import InvalidParams, SourceNotFound
from xla_lens.lsp.pages import comparison_uri, page_uri
from xla_lens.lsp.publisher import findings_of
from xla_lens.lsp.requests.arguments import GREATEST_POSITION, Arguments
from xla_lens.lsp.requests.views import target_at
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.checks.codes import Code
from xla_lens.model.places.mentions import Value
from xla_lens.report.options import FORMATS, report_options
from xla_lens.syntax.columns import NONE
from xla_lens.text.positions import decode
from xla_lens.words.json_types import as_dictionary
from xla_lens.words.names import unknown_name
from xla_lens.words.numbers import shortened

_WIDTH: Final = 200
"""Columns of a report as text."""

_LONGEST_PATH: Final = 200
"""Characters of a path in an error message."""


# ---------------------------------------------------------------- comparisons


async def compare(arguments: Arguments) -> Any:
    """Compare two dumps and show the page. `old` is the selected dump unless it is given."""
    state = arguments.state
    given = {"old": state.comparisons.selected, **{name: uri for name, uri in arguments.given.items() if uri}}
    if given["old"] is None:
        raise InvalidParams("old is missing, and no dump is selected for comparison")
    arguments = Arguments(state, given)
    (old, _), (new, _) = await asyncio.gather(arguments.analysed("old"), arguments.analysed("new"))
    if old is new:
        raise InvalidParams("both are files of the same dump: choose two dumps to compare")
    if not await state.comparisons.start(old, new):
        raise InvalidParams(f"{given['old']} and {given['new']} cannot be compared: one of them cannot be read")
    answer = await _show_page(state, comparison_uri(old.key, new.key))
    state.client.refresh(lsp.TEXT_DOCUMENT_CODE_LENS)
    return answer


async def select_for_compare(arguments: Arguments) -> Any:
    """Select the dump that the next comparison is with."""
    dump_set, _ = await arguments.analysed()
    arguments.state.comparisons.selected = arguments.uri
    return {"uri": arguments.uri, "name": dump_set.key.name}


async def end_comparison(arguments: Arguments) -> Any:
    """End the active comparison: lenses and hovers no longer mention it. Returns whether there was one."""
    was_active = arguments.state.comparisons.active is not None
    arguments.state.comparisons.end()
    arguments.state.client.refresh(lsp.TEXT_DOCUMENT_CODE_LENS)
    return was_active


# ---------------------------------------------------------------- reports and explanations


async def report(arguments: Arguments) -> Any:
    """Return a report in a format of `xla-lens report`."""
    kind = arguments.get("format", str, "markdown")
    if kind not in FORMATS:
        raise InvalidParams(f"format: {kind!r} is none of {', '.join(FORMATS)}")
    dump_set, analysis = await arguments.loaded()
    if kind == "html":
        from xla_lens.memory_map.page import memory_map_page

        return await in_thread(lambda: "\n".join(memory_map_page(analysis, *page_sources())) + "\n")
    # Reports take 100 ms to import, and the types of JSON 70 ms, for which the first answers would wait.
    from xla_lens.report.facts import report as report_of
    from xla_lens.report.outline import report_markdown, report_text

    options = report_options((), is_json=kind == "json")
    texts = texts_of(dump_set.open)
    made = await in_thread(lambda: report_of(analysis, set_files(dump_set.path, texts).labels, options))
    if kind == "json":
        from xla_lens.report.data import report_data

        return as_dictionary(report_data(made))
    lines = report_text(made, _WIDTH) if kind == "text" else report_markdown(made)
    return "\n".join(lines) + "\n"


async def check(arguments: Arguments) -> Any:
    """Return the findings."""
    from xla_lens.words.finding_json import finding_data

    _, analysis = await arguments.analysed()
    return [as_dictionary(finding_data(finding)) for finding in findings_of(analysis, arguments.state.settings)]


async def explain(arguments: Arguments) -> Any:
    """Show and return the explanation of a code or a rule."""
    code = arguments.need("code", str)
    codes: dict[str, Code | Rule] = {code: code for code in (*Code, *Rule)}
    if code not in codes:
        raise InvalidParams(unknown_name("code", code, tuple(codes)))
    page = explanation_path(codes[code])
    await arguments.state.client.show_document(page.as_uri())
    return page.read_text(encoding="utf-8")


# ---------------------------------------------------------------- pages and places


async def show_live_set(arguments: Arguments) -> Any:
    """Show what is live at a step, or at that of a position."""
    if "position" not in arguments.given:
        return await _show(arguments, LiveSetPage(arguments.need_number("step")))
    dump, target, step = await target_at(arguments)
    if step is None and isinstance(target, Value) and dump.values.live_range[target.row] != NONE:
        step = int(dump.values.start_step[target.row])
    if step is None:
        raise InvalidParams("nothing there has a step")
    return await _show(arguments, LiveSetPage(step))


async def _show(arguments: Arguments, page: Page) -> Any:
    dump_set, _ = await arguments.analysed()
    return await _show_page(arguments.state, page_uri(dump_set.key, page))


async def _show_page(state: State, uri: str) -> Any:
    shown = await state.page(uri)
    await state.client.show_document(uri)
    return {"uri": uri, "text": decode(shown.document.data) if shown else ""}


async def show_report(arguments: Arguments) -> Any:
    """Show the report."""
    return await _show(arguments, ReportPage())


async def show_answer(arguments: Arguments) -> Any:
    """Show the answer: whether the program fits, what takes the memory, and what to do first."""
    return await _show(arguments, AnswerPage())


async def show_advice(arguments: Arguments) -> Any:
    """Show the advice."""
    return await _show(arguments, AdvicePage())


async def show_allocation_history(arguments: Arguments) -> Any:
    """Show the values of an allocation over time."""
    return await _show(arguments, HistoryPage(arguments.need_number("allocation")))


async def show_summary(arguments: Arguments) -> Any:
    """Show the report as text, or the answer if the editor renders pages."""
    is_rendered = arguments.state.client.capabilities.has_command_uris
    return await _show(arguments, AnswerPage() if is_rendered else SummaryPage())


async def go_to(arguments: Arguments) -> Any:
    """Go to a location, or to a line of the program."""
    if "path" in arguments.given:
        target = await _source_location(arguments)
    else:
        try:
            target = from_json(dict(arguments.given), lsp.Location)
        except (ValueError, TypeError, ExceptionGroup) as error:
            raise InvalidParams("expected a location: uri and range") from error
    await arguments.state.client.show_document(target.uri, target.range)
    return to_json(target)


async def _source_location(arguments: Arguments) -> lsp.Location:
    """Return a line of a source file by its path in the dump. Lines count from 1, columns from 0."""
    path = arguments.need("path", str)
    line, column = (arguments.number(name, GREATEST_POSITION) or 0 for name in ("line", "character"))
    found = await arguments.state.sources.find(path)
    if found is None:
        name = shortened(re.split(r"[/\\]", path)[-1], _LONGEST_PATH)
        advice = "map its folder with the setting xla-lens.sources.pathMapping"
        raise SourceNotFound(path, f"{name} is not in this workspace: {advice}")
    place = lsp.Position(max(line - 1, 0), column)
    return lsp.Location(uri_of(found), lsp.Range(place, place))


async def show_references(arguments: Arguments) -> Any:
    """Go to the first reference and return all of them, because LSP has no request that fills the editor's list."""
    snapshot = await arguments.snapshot()
    mention = snapshot.mention(arguments.position())
    limit = snapshot.settings.place_limit
    places = references(snapshot.dump, snapshot.module, mention.target, limit) if mention else []
    if places:
        first = snapshot.convert.location(places[0])
        await arguments.state.client.show_document(first.uri, first.range)
    return snapshot.convert.locations(places)
