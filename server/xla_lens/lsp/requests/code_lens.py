"""Code lenses, and what a click on one does."""

from collections.abc import Mapping
from typing import Any

from lsprotocol import types as lsp

from xla_lens.features.diff.lenses import COMPARED
from xla_lens.features.lenses import LENS_LIMIT, Click, Lens, LensKind, lens_facts, lenses
from xla_lens.lsp.converter import to_json
from xla_lens.lsp.handlers import Command
from xla_lens.lsp.requests.commands import go_to_command, page_command, references_command
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.places import Place, value_place
from xla_lens.render.diff.other import other_title
from xla_lens.render.lenses import lens_title
from xla_lens.syntax.columns import NONE


def code_lens(snapshot: Snapshot, _params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    """The lenses of a dump file. They get their text from `codeLens/resolve` when an editor is about to show them."""
    if isinstance(snapshot, HloSnapshot) or not snapshot.settings.code_lenses:
        return None
    shown = [
        (lens.offset, lens.kind.value, lens.number) for lens in lenses(snapshot.analysis, snapshot.file, LENS_LIMIT)
    ]
    if snapshot.compared:
        shown += ((offset, COMPARED, number) for offset, number in snapshot.compared.lenses(snapshot.file, LENS_LIMIT))
    found = []
    for offset, kind, number in shown:
        position = snapshot.convert.position(snapshot.file, offset)
        data = {"uri": snapshot.uri, "kind": kind, "number": number}
        found.append(lsp.CodeLens(lsp.Range(position, position), data=data))
    return found


def code_lens_resolve(snapshot: Snapshot, lens: lsp.CodeLens) -> lsp.CodeLens:
    """Add the text of a lens, and the command that a click runs."""
    data: Mapping[str, Any] = lens.data if isinstance(lens.data, Mapping) else {}
    kind, number = data.get("kind"), data.get("number")
    if kind == COMPARED and isinstance(number, int):
        lens.command = _compared_command(snapshot, number)
    elif isinstance(kind, str) and kind in set(LensKind) and isinstance(number, int):
        analysis = snapshot.analysis.on_device(snapshot.settings.device_memory)
        facts = lens_facts(analysis, Lens(0, LensKind(kind), number))
        lens.command = _command(snapshot, lens_title(facts, snapshot.analysis.warrants), facts.click) if facts else None
    # Editors request a lens without a command again and again.
    lens.command = lens.command or lsp.Command("", "")
    return lens


def _compared_command(snapshot: Snapshot, number: int) -> lsp.Command | None:
    """What a value is in the other dump of the active comparison. A click goes there."""
    compared, value = snapshot.compared, snapshot.analysis.dump.value_of_id(number)
    other = compared.other(value) if compared and value != NONE else None
    if compared is None or other is None:
        return None
    place = compared.other_place(other)
    if place is None:
        return lsp.Command(other_title(other), "")
    location = compared.converter(snapshot.capabilities.encoding).location(place)
    return lsp.Command(other_title(other), Command.GO_TO, arguments=[to_json(location)])


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
