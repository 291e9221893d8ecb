"""Commands: what the command line can tell, and what lenses and actions lead to.

Each takes one object. What is to be shown is shown by the editor, if it can, and is the result in any case, so that
an editor may do more with it.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from xla_lens.features.references import references
from xla_lens.features.report import Part, parts_of, report, report_options
from xla_lens.files import explanation_path, page_sources
from xla_lens.lsp.loading import set_files
from xla_lens.lsp.methods import Command
from xla_lens.lsp.requests import views
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.requests.content import page_uri, shown_page
from xla_lens.lsp.session import DumpSetState
from xla_lens.lsp.threads import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.render.memory_map.page import memory_map_page
from xla_lens.render.messages.data import finding_data
from xla_lens.render.numbers import parse_size, shortened
from xla_lens.render.report import FORMATS, report_markdown, report_text
from xla_lens.render.report.data import report_data
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.positions import decode

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

_WIDTH: Final = 200
_WIDEST: Final = 200


async def run_command(server: "XlaLensServer", params: lsp.ExecuteCommandParams) -> Any:
    """Runs a command and gives its result."""
    if params.command not in _COMMANDS:
        raise JsonRpcInvalidParams(message=f"no such command: {params.command}")
    given = params.arguments or [{}]
    if len(given) != 1 or not isinstance(given[0], Mapping):
        raise JsonRpcInvalidParams(message=f"{params.command} takes one object")
    return await _COMMANDS[params.command](Arguments(server, given[0]))


# ---------------------------------------------------------------- what the command line can tell


async def _report(arguments: Arguments) -> Any:
    state, analysis = await arguments.analysed()
    kind = arguments.get("format", str, "markdown")
    if kind not in FORMATS:
        raise JsonRpcInvalidParams(message=f"format: {kind!r} is none of {', '.join(FORMATS)}")
    if kind == "html":
        module = await state.module_for(state.path)
        return await in_thread(lambda: "\n".join(memory_map_page(analysis, module, *page_sources())) + "\n")
    budget = parse_size(arguments.get("budget", str, ""))
    if budget is None and arguments.given.get("budget") is not None:
        raise JsonRpcInvalidParams(message='budget: expected a size such as "16GiB"')
    names = arguments.get("parts", list, [])
    try:
        parts = parts_of(map(str, names)) if names else frozenset[Part]()
    except ValueError as error:
        raise JsonRpcInvalidParams(message=f"parts: {error}") from error
    top, at_step = arguments.number("top"), arguments.number("atStep")
    options = report_options(parts, top=top, at_step=at_step, budget_bytes=budget, is_json=kind == "json")
    module = await state.module_for(state.path) if Part.LINE in options.parts else None
    made = await in_thread(lambda: report(analysis, _files(state, analysis), options, module))
    if kind == "json":
        return report_data(made)
    lines = report_text(made, _WIDTH) if kind == "text" else report_markdown(made)
    return "\n".join(lines) + "\n"


def _files(state: DumpSetState, analysis: Analysis) -> dict[FileKind, str]:
    """The files of a set; the HLO module, which is not loaded, is looked for on disk. Runs in a worker thread."""
    files = {file.kind: Path(file.label).as_posix() for file in analysis.dump.files}
    found = set_files(state.path, {path: opened.document for path, opened in state.open.items()})
    return files | {kind: path.as_posix() for kind, path in found.paths.items() if kind is FileKind.HLO}


async def _check(arguments: Arguments) -> Any:
    _, analysis = await arguments.analysed()
    settings = arguments.server.settings
    limits = over_limits(analysis.dump, analysis.memory, settings.max_peak, settings.max_reserved)
    findings = (*analysis.findings, *limits)
    return [finding_data(finding) for finding in findings if finding.code not in settings.ignored_codes]


async def _explain(arguments: Arguments) -> Any:
    code = arguments.need("code", str)
    if code not in set(Code):
        raise JsonRpcInvalidParams(message=f"no such code: {code}")
    page = explanation_path(Code(code))
    await arguments.server.show(page.as_uri())
    return page.read_text(encoding="utf-8")


# ---------------------------------------------------------------- what is shown


async def _show_summary(arguments: Arguments) -> Any:
    return await _show(arguments, SummaryPage())


async def _show_report(arguments: Arguments) -> Any:
    return await _show(arguments, ReportPage())


async def _show_live_set(arguments: Arguments) -> Any:
    if "position" not in arguments.given:
        return await _show(arguments, LiveSetPage(arguments.need_number("step")))
    dump, target, step = await views.target_at(arguments)
    if step is None and isinstance(target, Value) and dump.values.live_range[target.row] != NONE:
        step = int(dump.values.start_step[target.row])
    if step is None:
        raise JsonRpcInvalidParams(message="nothing there has a step")
    return await _show(arguments, LiveSetPage(step))


async def _show_allocation_history(arguments: Arguments) -> Any:
    return await _show(arguments, HistoryPage(arguments.need_number("allocation")))


async def _show(arguments: Arguments, page: Page) -> Any:
    state, _ = await arguments.analysed()
    uri = page_uri(state.key, page)
    shown = await shown_page(arguments.server, uri)
    await arguments.server.show(uri)
    return {"uri": uri, "text": decode(shown.document.data) if shown else ""}


async def _go_to(arguments: Arguments) -> Any:
    if "path" in arguments.given:
        return await _go_to_source(arguments)
    try:
        target = arguments.server.protocol.typed(dict(arguments.given), lsp.Location)
    except (ValueError, TypeError, ExceptionGroup) as error:
        raise JsonRpcInvalidParams(message="a location wanted: uri and range") from error
    await arguments.server.show(target.uri, target.range)
    return arguments.server.protocol.plain(target)


async def _go_to_source(arguments: Arguments) -> Any:
    """Goes to a line of a program, counted from 1, by the path that a dump tells."""
    path = arguments.need("path", str)
    place = lsp.Position(max((arguments.number("line") or 1) - 1, 0), max(arguments.number("character") or 0, 0))
    uri = await arguments.server.index.sources.address(path, None)
    if uri is None:
        raise JsonRpcInvalidParams(message=f"{shortened(path, _WIDEST)} is not in the workspace")
    target = lsp.Location(uri, lsp.Range(place, place))
    await arguments.server.show(target.uri, target.range)
    return arguments.server.protocol.plain(target)


async def _show_references(arguments: Arguments) -> Any:
    """Goes to the first, since no request can fill an editor's list of references; the result has all."""
    context = await arguments.context()
    mention = context.mention(arguments.position())
    limit = context.settings.place_limit
    places = references(context.analysis.dump, mention.target, limit) if mention else []
    locations = [context.convert.location(place) for place in places]
    if locations:
        await arguments.server.show(locations[0].uri, locations[0].range)
    return arguments.server.protocol.plain(locations)


_COMMANDS: Final[Mapping[str, Callable[[Arguments], Awaitable[Any]]]] = {
    Command.REPORT: _report,
    Command.CHECK: _check,
    Command.EXPLAIN: _explain,
    Command.SHOW_SUMMARY: _show_summary,
    Command.SHOW_REPORT: _show_report,
    Command.SHOW_LIVE_SET: _show_live_set,
    Command.SHOW_ALLOCATION_HISTORY: _show_allocation_history,
    Command.GO_TO: _go_to,
    Command.SHOW_REFERENCES: _show_references,
    Command.MEMORY_MAP: views.read_memory_map,
    Command.OVERVIEW: views.read_overview,
    Command.MODULES: views.list_modules,
    Command.WHAT_IS_AT: views.read_what_is_at,
    Command.DESCRIBE: views.describe,
}
