"""The memory of a file of the program: for editors that draw it by themselves, and as hints and hovers for others."""

from lsprotocol import types as lsp

from xla_lens.editor.source_memory import LineMemory, is_shown, line_hover, line_label, source_memory_data
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.converter import Json, RawJson
from xla_lens.lsp.documents import document_on_disk, path_of, row_of, uri_in
from xla_lens.lsp.requests.annotations import hint_json
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.requests.hover import command_links, content
from xla_lens.lsp.snapshot import SourceSnapshot
from xla_lens.lsp.sources import memory_of
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.places.places import value_place
from xla_lens.text.positions import decode, to_position
from xla_lens.words import contract


async def source_memory(arguments: Arguments) -> RawJson | None:
    """Return the memory of a file of the program, None if no dump set names it."""
    state, path = arguments.state, path_of(arguments.uri)
    preferred = None
    if arguments.given.get("dump"):
        preferred, _ = await arguments.analysed("dump")
    is_search = arguments.given.get("search") is True
    naming = await state.sources.naming(path, preferred, is_search=is_search)
    if not naming:
        return None
    first, *others = naming
    opened = state.source_documents.get(arguments.uri)
    document = opened if opened else await in_thread(document_on_disk, path)
    rows, newer_than, compiled = document.at(first.dump_time)
    memory = await memory_of(first, path, decode(compiled.data) if compiled else None)
    convert = Converter(first.dump_set.open, state.client.capabilities.encoding)
    uri = uri_in(first.dump_set.path, first.dump_set.open)
    links = command_links(uri, state.client.capabilities)

    def link_to(text: str, value: int) -> str:
        place = value_place(memory.peak.dump, value)
        return links.location(text, convert.location_json(place)) if place else text

    def made() -> contract.SourceMemory:
        return source_memory_data(
            memory,
            uri,
            [other.peak.module for other in others],
            newer_than=newer_than,
            row_of=lambda line: row_of(rows, line),
            links=links,
            link_to=link_to,
        )

    return RawJson(await in_thread(made))


# ---------------------------------------------------------------- hints and hovers


def source_hints(snapshot: SourceSnapshot, params: lsp.InlayHintParams) -> RawJson:
    """The bytes at the peak at the ends of lines."""
    memory, document, found = snapshot.memory, snapshot.document, list[Json]()
    for line in memory.lines:
        row = _row(snapshot, line)
        if is_shown(memory, line) and params.range.start.line <= row <= params.range.end.line:
            _, end = document.line_span(row)
            place = to_position(document, end, snapshot.capabilities.encoding)
            found.append(hint_json(*place, line_label(memory, line, snapshot.newer_than)))
    return RawJson(found)


def source_hover(snapshot: SourceSnapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """The buffers of a line at the peak."""
    line = next((line for line in snapshot.memory.lines if _row(snapshot, line) == params.position.line), None)
    if line is None:
        return None
    markdown = line_hover(snapshot.memory, line, snapshot.newer_than)
    return lsp.Hover(content(markdown, snapshot.capabilities))


def _row(snapshot: SourceSnapshot, line: LineMemory) -> int:
    """Where a line is now. One that the file did not have is at its end."""
    return min(row_of(snapshot.rows, line.line), snapshot.document.line_count - 1)
