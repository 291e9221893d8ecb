"""Conversion of places, findings, hints and outlines to the types of the Language Server Protocol."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import numpy as np
from lsprotocol import types as lsp

from xla_lens.disk.package_files import explanation_path
from xla_lens.disk.sets import set_key
from xla_lens.editor.page_kinds import EXCERPT_HEAD, excerpt_at
from xla_lens.editor.structure import Symbol
from xla_lens.lsp.converter import Json, RawJson, from_json
from xla_lens.lsp.documents import OpenDocuments, uri_of
from xla_lens.lsp.pages import page_uri
from xla_lens.model.checks.problems import Finding, Related
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.text.document import Span
from xla_lens.text.edits import forward
from xla_lens.text.encoding import Encoding
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import to_position, to_positions
from xla_lens.words import contract
from xla_lens.words.messages import message
from xla_lens.words.numbers import shortened

_MANY: Final = 8
"""From so many offsets on, converting them at once is faster than one by one."""


class Converter:
    """Converts places in the files of one dump set, as they were analysed, to positions in the current texts of the
    editor, which may be ahead of the analysis.
    """

    def __init__(self, opened: OpenDocuments, encoding: Encoding, largest_bytes: int | None = None) -> None:
        # By label: constructing a `Path` takes longer than the rest of a conversion.
        self._opened = {str(path): document for path, document in opened.items()}
        self.encoding = encoding
        self._largest_bytes = largest_bytes

    def is_too_large(self, size_bytes: int) -> bool:
        """Whether the editor opens no files of a size."""
        return self._largest_bytes is not None and size_bytes > self._largest_bytes

    def is_in_pages(self, file: DumpFile) -> bool:
        """Whether the editor cannot open a file. Its places are then in pages with excerpts of it."""
        return self.is_too_large(len(file.document.data)) and file.label not in self._opened

    def uri(self, file: DumpFile) -> str:
        """Return the URI of a file: the editor's own if the file is open."""
        opened = self._opened.get(file.label)
        return opened.uri if opened else uri_of(Path(file.label))

    def position(self, file: DumpFile, offset: int) -> lsp.Position:
        """Convert the offset of a byte."""
        return lsp.Position(*self._position(file, offset))

    def _position(self, file: DumpFile, offset: int) -> tuple[int, int]:
        opened = self._opened.get(file.label)
        document = file.document
        if opened and opened.analysed is document:
            document, offset = opened.document, forward(opened.edits, offset)
        return to_position(document, offset, self.encoding)

    def range(self, place: Place) -> lsp.Range:
        """Convert a place in a file."""
        return lsp.Range(self.position(place.file, place.start), self.position(place.file, place.end))

    def positions(self, file: DumpFile, offsets: Sequence[int]) -> tuple[list[int], list[int]]:
        """Convert some offsets. Return their lines and their columns."""
        opened = self._opened.get(file.label)
        if len(offsets) < _MANY or (opened and opened.edits):
            places = [self._position(file, offset) for offset in offsets]
            return [row for row, _ in places], [column for _, column in places]
        rows, columns = to_positions(file.document, np.array(offsets, np.int64), self.encoding)
        return rows.tolist(), columns.tolist()

    def ranges(self, file: DumpFile, spans: Sequence[Span]) -> list[Json]:
        """Convert some spans, each to a `Range`."""
        rows, columns = self.positions(file, [*chain.from_iterable(spans)])
        places = [{"line": row, "character": column} for row, column in zip(rows, columns, strict=True)]
        return [{"start": start, "end": end} for start, end in zip(places[::2], places[1::2], strict=True)]

    def locations(self, places: Iterable[Place]) -> RawJson:
        """Convert some places, each to a `Location`."""
        found: list[Json] = []
        for file, group in groupby(places, lambda place: place.file):
            ranges, uri = self.ranges(file, [(place.start, place.end) for place in group]), self.uri(file)
            is_in_pages = self.is_in_pages(file)
            found += [_in_page(where, file) if is_in_pages else {"uri": uri, "range": where} for where in ranges]
        return RawJson(found)

    def location_json(self, place: Place) -> contract.Location:
        """Convert a place to JSON."""
        found: contract.Location = self.locations([place]).json[0]
        return found

    def location(self, place: Place) -> lsp.Location:
        """Convert a place."""
        return from_json(self.location_json(place), lsp.Location)

    def line_uri(self, place: Place) -> str:
        """Return the URI of the line of a place, with the fragment that editors and browsers understand."""
        location = self.location_json(place)
        return f"{location['uri']}#L{location['range']['start']['line'] + 1}"

    def diagnostic(self, finding: Finding) -> lsp.Diagnostic:
        """Convert a finding with its related places."""
        return lsp.Diagnostic(
            range=self.range(finding.place),
            message=message(finding),
            severity=lsp.DiagnosticSeverity[finding.severity.name.title()],
            code=finding.code.value,
            code_description=lsp.CodeDescription(explanation_path(finding.code).as_uri()),
            source="xla-lens",
            related_information=[
                lsp.DiagnosticRelatedInformation(self.location(related.place), _related_text(related))
                for related in finding.related
            ]
            or None,
        )

    def symbols(self, file: DumpFile, symbols: Sequence[Symbol]) -> list[Json]:
        """Convert an outline to a tree of `DocumentSymbol`s."""
        every = [*_every(symbols)]
        spans = self.ranges(file, [symbol.span for symbol in every])
        ranges = zip(spans, self.ranges(file, [symbol.name_span for symbol in every]), strict=True)

        def convert(symbol: Symbol) -> Json:
            span, name = next(ranges)
            return {
                "name": symbol.name,
                "kind": lsp.SymbolKind[symbol.kind].value,
                "range": span,
                "selectionRange": name,
                "detail": symbol.detail,
                **({"children": [*map(convert, symbol.children)]} if symbol.children else {}),
            }

        return [*map(convert, symbols)]


def _related_text(related: Related) -> str:
    """What a related place names, then how it is related: editors show only the start of it."""
    place, relation = related.place, related.relation.value
    end = min(place.end, place.start + _LONGEST_ROW)
    text = place.file.document.data[place.start : end]
    found = next((match for pattern in _NAMES if (match := pattern.search(text))), None)
    if found is None:
        return relation
    name = shortened(found[1].decode("utf-8", "replace"), _LONGEST_NAME)
    return f"{name}: {relation[0].lower()}{relation[1:]}"


_LONGEST_ROW: Final = 400
_LONGEST_NAME: Final = 40

_NAMES: Final = (
    lazy_pattern(rb"<\d+ ([^ <>]+)"),
    lazy_pattern(rb"^\s*(allocation \d+)"),
    lazy_pattern(rb"^\s*(?:\d+:|ROOT )?%?([^\s(){}=,:<]+)"),
)
"""The value of a row (``<4 fusion.1 @0>``), an allocation, and the instruction or value at its start."""


def _every(symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """The symbols of an outline, each before its children."""
    for symbol in symbols:
        yield symbol
        yield from _every(symbol.children)


def _in_page(where: Json, file: DumpFile) -> Json:
    """The location in the page with the excerpt around a range."""
    page = excerpt_at(file.kind, where["start"]["line"])
    down = EXCERPT_HEAD - page.first_row
    here = {side: {**at, "line": at["line"] + down} for side, at in where.items()}
    return {"uri": page_uri(set_key(Path(file.label), file.document), page), "range": here}
