"""What an editor offers beside the text: code lenses and code actions. Both run commands."""

from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp

from xla_lens.features.actions import Action, Explain, GoToPeak, GoToRelated, GoToSource, ShowPage, actions
from xla_lens.features.lenses import LENS_LIMIT, Click, Lens, LensKind, lens_facts, lenses
from xla_lens.lsp.methods import ACTION_KIND, Command
from xla_lens.lsp.requests.context import Context
from xla_lens.model.checks.findings import Finding
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.model.places.places import Place, value_place
from xla_lens.render.actions import action_title
from xla_lens.render.lenses import lens_title

# ---------------------------------------------------------------- lenses


def list_lenses(context: Context, _params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    """The lenses. What they tell is found when an editor is about to show them."""
    if not context.settings.code_lenses:
        return None
    found = []
    for lens in lenses(context.analysis, context.file, LENS_LIMIT):
        position = context.convert.position(context.file, lens.offset)
        data = {"uri": context.uri, "kind": lens.kind.value, "number": lens.number}
        found.append(lsp.CodeLens(lsp.Range(position, position), data=data))
    return found


def resolve_lens(context: Context, lens: lsp.CodeLens) -> lsp.CodeLens:
    """What a lens tells, and what a click on it does."""
    data: Mapping[str, Any] = lens.data if isinstance(lens.data, Mapping) else {}
    kind, number = data.get("kind"), data.get("number")
    if isinstance(kind, str) and kind in set(LensKind) and isinstance(number, int):
        facts = lens_facts(context.analysis, Lens(0, LensKind(kind), number))
        lens.command = _command(context, lens_title(facts), facts.click) if facts else None
    # A lens without a command would be asked for again.
    lens.command = lens.command or lsp.Command("", "")
    return lens


def _command(context: Context, title: str, click: Click) -> lsp.Command:
    match click:
        case Value(row):
            place = value_place(context.analysis.dump, row)
            command = _to(context, title, Command.SHOW_REFERENCES, place) if place else None
        case Place():
            command = _to(context, title, Command.GO_TO, click)
        case None:
            command = None
        case _:
            command = _show(context, title, click)
    return command or lsp.Command(title, "")


def _to(context: Context, title: str, command: Command, place: Place) -> lsp.Command:
    location = context.convert.location(place)
    start = {"line": location.range.start.line, "character": location.range.start.character}
    end = {"line": location.range.end.line, "character": location.range.end.character}
    where = {"position": start} if command is Command.SHOW_REFERENCES else {"range": {"start": start, "end": end}}
    return lsp.Command(title, command, arguments=[{"uri": location.uri, **where}])


def _show(context: Context, title: str, page: Page) -> lsp.Command:
    match page:
        case SummaryPage():
            return lsp.Command(title, Command.SHOW_SUMMARY, arguments=[{"uri": context.uri}])
        case ReportPage():
            return lsp.Command(title, Command.SHOW_REPORT, arguments=[{"uri": context.uri}])
        case LiveSetPage(step):
            return lsp.Command(title, Command.SHOW_LIVE_SET, arguments=[{"uri": context.uri, "step": step}])
        case HistoryPage(allocation):
            arguments = [{"uri": context.uri, "allocation": allocation}]
            return lsp.Command(title, Command.SHOW_ALLOCATION_HISTORY, arguments=arguments)


# ---------------------------------------------------------------- actions


def list_actions(context: Context, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
    """What can be done with what is selected: to explain it, to go where it leads, to show more of it."""
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    return offer(context, params, actions(context.analysis, context.module, context.file, start, end))


def offer(
    context: Context, params: lsp.CodeActionParams, actions: Sequence[Action]
) -> list[lsp.CodeAction | lsp.Command]:
    """Actions as the editor wants them."""
    found = [_action(context, action, params.context.diagnostics) for action in actions]
    only = params.context.only
    wanted = [action for action in found if only is None or any(_is_in(action.kind or "", kind) for kind in only)]
    if context.client.has_code_action_literals:
        return list(wanted)
    return [action.command for action in wanted if action.command]


def _action(context: Context, action: Action, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
    title = action_title(action)
    match action:
        case Explain(finding):
            command = lsp.Command(title, Command.EXPLAIN, arguments=[{"code": finding.code.value}])
            return _fix(context, command, finding, diagnostics)
        case GoToRelated(finding, related):
            return _fix(context, _to(context, title, Command.GO_TO, related.place), finding, diagnostics)
        case GoToPeak():
            command = _to(context, title, Command.GO_TO, action.place)
        case GoToSource(frame):
            argument = {"path": frame.file, "line": frame.line, "character": frame.column}
            command = lsp.Command(title, Command.GO_TO, arguments=[argument])
        case ShowPage(page):
            command = _show(context, title, page)
    return lsp.CodeAction(title, ACTION_KIND, command=command)


def _fix(
    context: Context, command: lsp.Command, finding: Finding, diagnostics: Sequence[lsp.Diagnostic]
) -> lsp.CodeAction:
    """An action on the diagnostic of a finding, as far as the editor has told it."""
    start = context.convert.position(finding.place.file, finding.place.start)
    own = [found for found in diagnostics if found.code == finding.code and found.range.start == start]
    return lsp.CodeAction(command.title, lsp.CodeActionKind.QuickFix, own or None, command=command)


def _is_in(kind: str, wanted: str) -> bool:
    return not wanted or kind == wanted or kind.startswith(f"{wanted}.")
