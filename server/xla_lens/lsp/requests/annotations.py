"""What an editor adds to the text of a dump: inlay hints, code lenses, code actions and links to source files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lsprotocol import types as lsp
from msgspec.structs import asdict

from xla_lens.editor.annotations import LENS_LIMIT, Click, EditorAction, actions, hints, lenses
from xla_lens.editor.links import frame_tooltip, links
from xla_lens.editor.page_kinds import AdvicePage, AnswerPage, HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.lsp.capabilities import ACTION_KIND
from xla_lens.lsp.client import ClientCapabilities
from xla_lens.lsp.comparisons import ActiveComparison
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.converter import Json, RawJson
from xla_lens.lsp.documents import uri_of
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.lsp.state import State
from xla_lens.model.checks.codes import Code
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.places import Place, value_place
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import split_name
from xla_lens.words.markdown import escaped
from xla_lens.words.numbers import shortened

HINT_LIMIT: Final = 100_000
"""Maximum number of hints in one answer. Some editors request the hints of a whole file."""

LINK_LIMIT: Final = 1_000
"""Maximum number of links of each kind."""

_LONGEST_NAME: Final = 80
"""Maximum number of characters of a dump's name in the title of an action."""

# ---------------------------------------------------------------- hints


def inlay_hint(snapshot: Snapshot, params: lsp.InlayHintParams) -> RawJson | None:
    """The hints of a dump file, such as the live bytes of a step, or those of the instructions of an HLO module."""
    if not snapshot.settings.inlay_hints:
        return None
    found = hints(snapshot.analysis, snapshot.file, snapshot.span(params.range), HINT_LIMIT + 1)
    found = snapshot.truncate(found, HINT_LIMIT, "hints")
    rows, columns = snapshot.convert.positions(snapshot.file, [hint.offset for hint in found])
    return RawJson([*map(hint_json, rows, columns, (hint.label for hint in found))])


def hint_json(row: int, column: int, label: str) -> Json:
    """Return an `InlayHint`."""
    return {"position": {"line": row, "character": column}, "label": label, "paddingLeft": True}


# ---------------------------------------------------------------- lenses


def code_lens(snapshot: Snapshot, _params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    """The lenses of a dump file, which run commands. In a comparison, they say what values are in the other dump."""
    if snapshot.is_module or not snapshot.settings.code_lenses:
        return None
    analysis = snapshot.analysis.on_device(snapshot.settings.device_memory)
    found = [
        (lens.offset, _command(snapshot, lens.title, lens.click))
        for lens in lenses(analysis, snapshot.file, LENS_LIMIT)
    ]
    if snapshot.compared:
        found += _compared(snapshot, snapshot.compared)
    places = ((snapshot.convert.position(snapshot.file, offset), command) for offset, command in found)
    return [lsp.CodeLens(lsp.Range(place, place), command) for place, command in places]


def _compared(snapshot: Snapshot, compared: ActiveComparison) -> Iterator[tuple[int, lsp.Command]]:
    """What values are in the other dump of the active comparison. A click goes there."""
    from xla_lens.diff.values import compared_lenses, other_title

    convert = Converter(compared.other_set.open, snapshot.capabilities.encoding)
    for offset, other in compared_lenses(compared.comparison, snapshot.file, is_old=compared.is_old, limit=LENS_LIMIT):
        place = value_place(other.dump, other.value) if other.value != NONE else None
        arguments = [convert.location_json(place)] if place else None
        yield offset, lsp.Command(other_title(other), "xla-lens.goTo" if place else "", arguments=arguments)


def _command(snapshot: Snapshot, title: str, target: Click | Code | StackFrame) -> lsp.Command:
    """The command of a click or an action. An empty command makes a lens plain text."""
    argument: Json = {}
    match target:
        case Code():
            command, argument = "xla-lens.explain", {"code": target.value}
        case StackFrame():
            command, argument = "xla-lens.goTo", {"path": target.file, "line": target.line, "character": target.column}
        case Place():
            command, argument = "xla-lens.goTo", {**snapshot.convert.location_json(target)}
        case Value(row) if place := value_place(snapshot.dump, row):
            location = snapshot.convert.location_json(place)
            argument = {"uri": location["uri"], "position": location["range"]["start"]}
            command = "xla-lens.showReferences"
        case None | Value():
            return lsp.Command(title, "")
        case _:
            command, argument = _PAGE_COMMANDS[type(target)], {"uri": snapshot.uri, **asdict(target)}
    return lsp.Command(title, command, arguments=[argument])


_PAGE_COMMANDS: Final[Mapping[type[Page], str]] = {
    SummaryPage: "xla-lens.showSummary",
    ReportPage: "xla-lens.showReport",
    AnswerPage: "xla-lens.showAnswer",
    AdvicePage: "xla-lens.showAdvice",
    LiveSetPage: "xla-lens.showLiveSet",
    HistoryPage: "xla-lens.showAllocationHistory",
}


# ---------------------------------------------------------------- actions


def code_action(snapshot: Snapshot, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions for a selection: in a dump file, explain a finding, show a page, compare; in an HLO module, go to the
    source lines of an instruction.
    """
    diagnostics, only = params.context.diagnostics, params.context.only
    every = actions(snapshot.analysis, snapshot.file, snapshot.span(params.range))
    found = [_action(snapshot, action, diagnostics) for action in every]
    found += [] if snapshot.is_module else _comparing(snapshot)
    return [action for action in found if only is None or any(_is_in(action, kind) for kind in only)]


def _comparing(snapshot: Snapshot) -> Iterator[lsp.CodeAction]:
    """The actions that compare a dump with another one, which becomes the old one."""
    uri = snapshot.uri
    if uri not in snapshot.others and len(snapshot.analysis.dump.values):
        yield _comparison("Select this dump for comparison", "xla-lens.selectForCompare", {"uri": uri})
        for other, path in snapshot.others.items():
            name = shortened(f"{path.parent.name}/{split_name(path.name)[0]}", _LONGEST_NAME)
            yield _comparison(f"Compare with {name}", "xla-lens.compare", {"old": other, "new": uri})
    if snapshot.compared:
        yield _comparison("End the comparison", "xla-lens.endComparison", {})


def _comparison(title: str, command: str, argument: Mapping[str, str]) -> lsp.CodeAction:
    return lsp.CodeAction(title, ACTION_KIND, command=lsp.Command(title, command, arguments=[argument]))


def _action(snapshot: Snapshot, action: EditorAction, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
    """An action; one for a finding is attached to its diagnostic if the editor has sent that."""
    command, finding = _command(snapshot, action.title, action.target), action.finding
    if finding is None:
        return lsp.CodeAction(action.title, ACTION_KIND, command=command)
    start = snapshot.convert.position(finding.place.file, finding.place.start)
    own = [found for found in diagnostics if found.code == finding.code and found.range.start == start]
    return lsp.CodeAction(action.title, lsp.CodeActionKind.QuickFix, own or None, command=command)


def _is_in(action: lsp.CodeAction, wanted: str) -> bool:
    return not wanted or ((action.kind or "") + ".").startswith(f"{wanted}.")


# ---------------------------------------------------------------- links


def document_link(snapshot: Snapshot, _params: lsp.DocumentLinkParams) -> RawJson:
    """The links of a dump file or an HLO module to lines of the program. `documentLink/resolve` finds their targets."""
    found = links(snapshot.dump, snapshot.module, snapshot.file, LINK_LIMIT + 1)
    found = snapshot.truncate(found, LINK_LIMIT, "links")
    pairs = zip(found, snapshot.convert.ranges(snapshot.file, [(link.start, link.end) for link in found]), strict=True)
    return RawJson([{"range": where, **source_link(link.target, snapshot.capabilities)} for link, where in pairs])


def source_link(frame: StackFrame, capabilities: ClientCapabilities) -> Json:
    """Return the tooltip of a link to a source line, which VS Code renders as Markdown, and what
    `documentLink/resolve` needs to find the line.
    """
    has_tooltips = capabilities.get("text_document.document_link.tooltip_support")
    tooltip = {"tooltip": escaped(frame_tooltip(frame))} if has_tooltips else {}
    return {**tooltip, "data": {"path": frame.file, "line": frame.line}}


async def document_link_resolve(state: State, link: lsp.DocumentLink) -> lsp.DocumentLink:
    """Find the source file of a link. The target is always a `file:` URI, whatever the dump contains."""
    data = link.data if isinstance(link.data, Mapping) else {}
    path, line = data.get("path"), data.get("line")
    if link.target is None and isinstance(path, str):
        found = await state.sources.find(path)
        suffix = f"#L{line}" if type(line) is int and line > 0 else ""
        link.target = uri_of(found) + suffix if found else None
    return link
