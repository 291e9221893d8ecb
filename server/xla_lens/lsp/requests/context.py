"""What a request about a document is answered from: a snapshot that does not change under it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp

from xla_lens.lsp.client import Client
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.session import DumpSetState
from xla_lens.lsp.settings import Settings
from xla_lens.lsp.sync import uri_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloMention, hlo_mention_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.text.edits import backward
from xla_lens.text.positions import to_offset

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Context:
    """The file as it was analysed, and how to convert what is found in it. `offset` gives the byte of it at a position
    in the text that the editor has now; `module` is None where there is none or none yet; `told_cut` is to be called
    where an answer does not have all that there is.
    """

    uri: str
    analysis: Analysis
    module: HloModule | None
    file: DumpFile
    convert: Converter
    offset: Callable[[lsp.Position], int]
    client: Client
    settings: Settings
    told_cut: Callable[[str], None]

    def mention(self, position: lsp.Position) -> Mention | None:
        """What is mentioned at a position, None if nothing is."""
        return mention_at(self.analysis.dump, self.file, self.offset(position))

    def cut(self, found: list[_T], limit: int, what: str) -> list[_T]:
        """At most `limit` of what was found, which holds one more if there is more; then the user is told."""
        if len(found) > limit:
            self.told_cut(f"more than {limit:,} {what}: the first {limit:,} are shown")
        return found[:limit]


@dataclass(frozen=True, slots=True)
class ModuleContext(Context):
    """That of requests about the HLO module of a set, which is there then."""

    module: HloModule

    def hlo_mention(self, position: lsp.Position) -> HloMention | None:
        """What is mentioned at a position of the module, None if nothing is."""
        return hlo_mention_at(self.module, self.offset(position))


def context_of(
    state: DumpSetState, path: Path, client: Client, settings: Settings, told_cut: Callable[[str], None]
) -> Context | None:
    """The context of requests about a file of a set that was analysed, None if it was not read."""
    file, opened = state.file(path), state.open.get(path)
    if state.analysis is None or file is None:
        return None

    def offset(position: lsp.Position) -> int:
        document, edits = (opened.document, opened.edits) if opened else (file.document, ())
        return backward(edits, to_offset(document, position.line, position.character, client.encoding))

    uri = opened.uri if opened else uri_of(path)
    convert, module = Converter(state.open, client), state.module
    if module and file is module.file:
        return ModuleContext(uri, state.analysis, module, file, convert, offset, client, settings, told_cut)
    return Context(uri, state.analysis, module, file, convert, offset, client, settings, told_cut)
