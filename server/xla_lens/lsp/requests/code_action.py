"""`textDocument/codeAction`. All actions run commands."""

from collections.abc import Iterator, Mapping, Sequence

from lsprotocol import types as lsp

from xla_lens.features.actions import (
    Action,
    Explain,
    GoToPeak,
    GoToRelated,
    GoToSource,
    ShowPage,
    actions,
    source_actions,
)
from xla_lens.lsp.handlers import ACTION_KIND, Command
from xla_lens.lsp.requests.commands import go_to_command, page_command
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.checks.findings import Finding
from xla_lens.model.hlo.mentions import HloInstruction
from xla_lens.render.actions import END_COMPARISON, SELECT_FOR_COMPARE, action_title, compare_title


def code_action(snapshot: Snapshot, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command] | None:
    """The actions for a selection: in a dump file, explain a finding, go to a related place, show a page, or compare;
    for an instruction of an HLO module, go to the source lines that it comes from. Converted
    to commands if the editor supports nothing else.
    """
    diagnostics, only = params.context.diagnostics, params.context.only
    if isinstance(snapshot, HloSnapshot):
        module, mention = snapshot.module, snapshot.hlo_mention(params.range.start)
        if mention is None or not isinstance(mention.target, HloInstruction):
            return None
        frames = module.frames(module.metadata(mention.target.row))
        found = [_action(snapshot, action, diagnostics) for action in source_actions(frames)]
    else:
        start, end = snapshot.offset(params.range.start), snapshot.offset(params.range.end)
        every = actions(snapshot.analysis, snapshot.module, snapshot.file, start, end)
        found = [*(_action(snapshot, action, diagnostics) for action in every), *_comparing(snapshot)]
    wanted = [action for action in found if only is None or any(_is_in(action.kind or "", kind) for kind in only)]
    if snapshot.capabilities.has_code_action_literals:
        return list(wanted)
    return [action.command for action in wanted if action.command]


def _comparing(snapshot: Snapshot) -> Iterator[lsp.CodeAction]:
    """The actions that compare a dump with another one, which becomes the old one."""
    uri = snapshot.uri
    if uri not in snapshot.others and len(snapshot.analysis.dump.values):
        yield _command(SELECT_FOR_COMPARE, Command.SELECT_FOR_COMPARE, {"uri": uri})
        for other, path in snapshot.others.items():
            yield _command(compare_title(path.parent.name, path.name), Command.COMPARE, {"old": other, "new": uri})
    if snapshot.compared:
        yield _command(END_COMPARISON, Command.END_COMPARISON, {})


def _command(title: str, command: Command, argument: Mapping[str, str]) -> lsp.CodeAction:
    return lsp.CodeAction(title, ACTION_KIND, command=lsp.Command(title, command, arguments=[argument]))


def _action(snapshot: Snapshot, action: Action, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
    title = action_title(action)
    match action:
        case Explain(finding):
            command = lsp.Command(title, Command.EXPLAIN, arguments=[{"code": finding.code.value}])
            return _quick_fix(snapshot, command, finding, diagnostics)
        case GoToRelated(finding, related):
            return _quick_fix(snapshot, go_to_command(snapshot, title, related.place), finding, diagnostics)
        case GoToPeak():
            command = go_to_command(snapshot, title, action.place)
        case GoToSource(frame):
            argument = {"path": frame.file, "line": frame.line, "character": frame.column}
            command = lsp.Command(title, Command.GO_TO, arguments=[argument])
        case ShowPage(page):
            command = page_command(snapshot, title, page)
    return lsp.CodeAction(title, ACTION_KIND, command=command)


def _quick_fix(
    snapshot: Snapshot, command: lsp.Command, finding: Finding, diagnostics: Sequence[lsp.Diagnostic]
) -> lsp.CodeAction:
    """An action for a finding, attached to its diagnostic if the editor has sent that."""
    start = snapshot.convert.position(finding.place.file, finding.place.start)
    own = [found for found in diagnostics if found.code == finding.code and found.range.start == start]
    return lsp.CodeAction(command.title, lsp.CodeActionKind.QuickFix, own or None, command=command)


def _is_in(kind: str, wanted: str) -> bool:
    return not wanted or kind == wanted or kind.startswith(f"{wanted}.")
