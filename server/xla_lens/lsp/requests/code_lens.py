"""Code lenses, and what a click on one does."""

from collections.abc import Mapping
from typing import Any

from lsprotocol import types as lsp

from xla_lens.features.lenses import LENS_LIMIT, Click, Lens, LensKind, lens_facts, lenses
from xla_lens.lsp.requests.commands import go_to_command, page_command, references_command
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.places import Place, value_place
from xla_lens.render.lenses import lens_title


def code_lens(snapshot: Snapshot, _params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    """The lenses of a dump file. They get their text from `codeLens/resolve` when an editor is about to show them."""
    if not snapshot.settings.code_lenses:
        return None
    found = []
    for lens in lenses(snapshot.analysis, snapshot.file, LENS_LIMIT):
        position = snapshot.convert.position(snapshot.file, lens.offset)
        data = {"uri": snapshot.uri, "kind": lens.kind.value, "number": lens.number}
        found.append(lsp.CodeLens(lsp.Range(position, position), data=data))
    return found


def code_lens_resolve(snapshot: Snapshot, lens: lsp.CodeLens) -> lsp.CodeLens:
    """Add the text of a lens, and the command that a click runs."""
    data: Mapping[str, Any] = lens.data if isinstance(lens.data, Mapping) else {}
    kind, number = data.get("kind"), data.get("number")
    if isinstance(kind, str) and kind in set(LensKind) and isinstance(number, int):
        facts = lens_facts(snapshot.analysis, Lens(0, LensKind(kind), number))
        lens.command = _command(snapshot, lens_title(facts, snapshot.analysis.warrants), facts.click) if facts else None
    # Editors request a lens without a command again and again.
    lens.command = lens.command or lsp.Command("", "")
    return lens


def _command(snapshot: Snapshot, title: str, click: Click) -> lsp.Command:
    """The command of a click, which `commands.py` runs. An empty command makes the lens plain text."""
    match click:
        case Value(row):
            place = value_place(snapshot.analysis.dump, row)
            return references_command(snapshot, title, place) if place else lsp.Command(title, "")
        case Place():
            return go_to_command(snapshot, title, click)
        case None:
            return lsp.Command(title, "")
    return page_command(snapshot, title, click)
